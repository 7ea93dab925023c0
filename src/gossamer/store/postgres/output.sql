-- A table of items for others, in a schema of its own.

-- name: make_table
CREATE TABLE item (
    spider text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    url text NOT NULL,
    first_seen double precision NOT NULL,        -- seconds since the epoch
    last_seen double precision NOT NULL,
    changed_at double precision NOT NULL,
    data jsonb NOT NULL,
    PRIMARY KEY (spider, type, key)
);

-- name: upsert
INSERT INTO item (spider, type, key, url, first_seen, last_seen, changed_at, data)
SELECT c.spider, c.type, c.key, c.url, c.first_seen, c.last_seen, c.changed_at, c.data::jsonb
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::float8[], $6::float8[], $7::float8[], $8::text[])
    AS c (spider, type, key, url, first_seen, last_seen, changed_at, data)
ORDER BY c.spider, c.type, c.key
ON CONFLICT (spider, type, key) DO UPDATE SET
    url = excluded.url, first_seen = excluded.first_seen, last_seen = excluded.last_seen,
    changed_at = excluded.changed_at, data = excluded.data;
