-- A table of items for others, in a file of its own.

-- name: make_table
CREATE TABLE IF NOT EXISTS item (
    spider TEXT NOT NULL,
    type TEXT NOT NULL,
    key TEXT NOT NULL,
    url TEXT NOT NULL,
    first_seen REAL NOT NULL,            -- seconds since the epoch
    last_seen REAL NOT NULL,
    changed_at REAL NOT NULL,
    data TEXT NOT NULL,                  -- JSON
    PRIMARY KEY (spider, type, key)
);

-- name: upsert
INSERT INTO item (spider, type, key, url, first_seen, last_seen, changed_at, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (spider, type, key) DO UPDATE SET
    url = excluded.url, first_seen = excluded.first_seen, last_seen = excluded.last_seen,
    changed_at = excluded.changed_at, data = excluded.data;
