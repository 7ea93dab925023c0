-- What a person asks of the items of one job. The order is that of the index item_recent.

-- name: slice
-- Of the newest items of a spider before a place those that the job saw and that fit, as it saw them.
SELECT i.id, i.type, i.key, coalesce(f.url, i.url), i.first_seen, coalesce(f.last_seen, i.last_seen),
    coalesce(f.changed_at, i.changed_at), coalesce(f.data, i.data),
    CASE WHEN f.item IS NULL THEN i.layout ELSE f.layout END, newest.changed_at
FROM (
    SELECT id, changed_at FROM item
    WHERE spider = $1 AND (changed_at, id) < ($2::float8, $3::bigint) AND changed_at >= $4::float8
    ORDER BY changed_at DESC, id DESC LIMIT $5
) newest
    JOIN LATERAL (
        SELECT hash FROM sighting
        WHERE job = (SELECT id FROM job WHERE name = $6) AND item = newest.id OFFSET 0
    ) s ON true
    JOIN item i ON i.id = newest.id
    LEFT JOIN LATERAL (
        SELECT * FROM item_history h WHERE h.item = i.id AND h.hash = s.hash AND s.hash <> i.hash
        ORDER BY h.changed_at DESC LIMIT 1
    ) f ON true
WHERE ($8::text IS NULL OR i.type = $8)
    AND ($9::text IS NULL OR coalesce(coalesce(f.data, i.data) ->> $9, '') = '')
    AND ($10::text IS NULL
        OR strpos(lower(concat_ws(' ', coalesce(f.data, i.data)::text, i.key, i.url)), lower($10)) > 0)
ORDER BY newest.changed_at DESC, newest.id DESC LIMIT $7;

-- name: edge
-- The last of so many items of a spider before a place.
SELECT changed_at, id FROM item
WHERE spider = $1 AND (changed_at, id) < ($2::float8, $3::bigint) AND changed_at >= $4::float8
ORDER BY changed_at DESC, id DESC LIMIT 1 OFFSET $5;

-- name: on_page
-- By their present value's URL, or that of a former one. All are counted; the values are read of those that are
-- given back.
SELECT i.id, i.type, i.key, coalesce(f.url, i.url), i.first_seen, coalesce(f.last_seen, i.last_seen),
    coalesce(f.changed_at, i.changed_at), coalesce(f.data, i.data),
    CASE WHEN f.item IS NULL THEN i.layout ELSE f.layout END, found.total
FROM (
    SELECT i.id, f.changed_at AS former, s.hash, count(*) OVER () AS total
    FROM (
        SELECT id FROM item WHERE hashtext(url) = hashtext($2) AND url = $2
        UNION SELECT item FROM item_history WHERE hashtext(url) = hashtext($2) AND url = $2
    ) candidate
        JOIN sighting s ON s.job = (SELECT id FROM job WHERE name = $1) AND s.item = candidate.id
        JOIN item i ON i.id = candidate.id
        LEFT JOIN LATERAL (
            SELECT h.url, h.changed_at FROM item_history h
            WHERE h.item = i.id AND h.hash = s.hash AND s.hash <> i.hash ORDER BY h.changed_at DESC LIMIT 1
        ) f ON true
    WHERE coalesce(f.url, i.url) = $2
    ORDER BY i.id LIMIT $3
) found
    JOIN item i ON i.id = found.id
    LEFT JOIN LATERAL (
        SELECT * FROM item_history h
        WHERE h.item = i.id AND h.hash = found.hash AND h.changed_at = found.former LIMIT 1
    ) f ON true
ORDER BY i.id;

-- name: sample
-- Ids of items that a job saw, mixed (Knuth's multiplicative hash), so that the first of them are as good as any.
SELECT item FROM sighting WHERE job = (SELECT id FROM job WHERE name = $1)
ORDER BY item % 1048573 * 2654435761 % 4294967296 LIMIT $2;

-- name: of_ids
SELECT i.id, i.type, i.key, coalesce(f.url, i.url), i.first_seen, coalesce(f.last_seen, i.last_seen),
    coalesce(f.changed_at, i.changed_at), coalesce(f.data, i.data),
    CASE WHEN f.item IS NULL THEN i.layout ELSE f.layout END
FROM sighting s
    JOIN item i ON i.id = s.item
    LEFT JOIN LATERAL (
        SELECT * FROM item_history h WHERE h.item = i.id AND h.hash = s.hash AND s.hash <> i.hash
        ORDER BY h.changed_at DESC LIMIT 1
    ) f ON true
WHERE s.job = (SELECT id FROM job WHERE name = $1) AND s.item = ANY ($2::bigint[]);

-- name: types
-- One look into the index for each.
WITH RECURSIVE found(type) AS (
    SELECT min(type) FROM item WHERE spider = $1
    UNION ALL
    SELECT (SELECT min(type) FROM item WHERE spider = $1 AND type > found.type) FROM found
    WHERE found.type IS NOT NULL
)
SELECT type FROM found WHERE type IS NOT NULL LIMIT $2;

-- name: versions
-- The value that an item has, and those that it had.
SELECT id, type, key, url, first_seen, last_seen, changed_at, data, layout
FROM item WHERE (spider, type, key) = ($1, $2, $3)
UNION ALL
SELECT i.id, i.type, i.key, f.url, i.first_seen, f.last_seen, f.changed_at, f.data, f.layout
FROM item i JOIN item_history f ON f.item = i.id WHERE (i.spider, i.type, i.key) = ($1, $2, $3)
ORDER BY changed_at DESC LIMIT $4;
