-- What a person asks of the items of one job. The order is that of the index item_recent.

-- name: slice
-- Of the newest items of a spider before a place those that the job saw and that fit, as it saw them.
SELECT newest.id, item.type, item.key, coalesce(former.url, item.url), item.first_seen,
    coalesce(former.last_seen, item.last_seen), coalesce(former.changed_at, item.changed_at),
    coalesce(former.data, item.data), newest.changed_at
FROM (
    SELECT id, changed_at FROM item INDEXED BY item_recent
    WHERE spider = ?1 AND changed_at <= ?2 AND (changed_at < ?2 OR id < ?3) AND changed_at >= ?4
    ORDER BY changed_at DESC, id DESC LIMIT ?5
) AS newest
    CROSS JOIN sighting ON sighting.job = (SELECT id FROM job WHERE name = ?6) AND sighting.item = newest.id
    CROSS JOIN item ON item.id = newest.id
    LEFT JOIN item_history AS former ON former.rowid = (
        SELECT rowid FROM item_history AS h
        WHERE h.item = item.id AND h.hash = sighting.hash AND sighting.hash <> item.hash
        ORDER BY h.changed_at DESC LIMIT 1
    )
WHERE true :which
ORDER BY newest.changed_at DESC, newest.id DESC LIMIT ?;

-- name: edge
-- The last of so many items of a spider before a place.
SELECT changed_at, id FROM item INDEXED BY item_recent
WHERE spider = ?1 AND changed_at <= ?2 AND (changed_at < ?2 OR id < ?3) AND changed_at >= ?4
ORDER BY changed_at DESC, id DESC LIMIT 1 OFFSET ?5;

-- name: on_page
-- An item has the time of the visit that changed it: the URL's attempts, of whatever job, say when that may be.
-- What another job has changed since is found by its former value's own URL. All are counted by what the indexes
-- and short columns say; the values are read of those that are given back.
WITH RECURSIVE part (number) AS (
    SELECT max(id) / 256 FROM attempt
    UNION ALL
    SELECT number - 1 FROM part WHERE number > (SELECT min(id) / 256 FROM attempt)
),
visit (at) AS (
    SELECT DISTINCT attempt.at
    FROM part CROSS JOIN attempt INDEXED BY attempt_place ON attempt.id / 256 = part.number AND attempt.url = ?2
),
candidate (item) AS (
    SELECT item.id
    FROM visit CROSS JOIN item INDEXED BY item_recent ON item.spider = ?3 AND item.changed_at = visit.at
    WHERE item.url = ?2
    UNION
    SELECT item FROM item_history INDEXED BY item_former WHERE url = ?2
),
found (item, former, total) AS (
    SELECT item.id, former.rowid, count(*) OVER ()
    FROM candidate
        CROSS JOIN sighting ON sighting.job = (SELECT id FROM job WHERE name = ?1) AND sighting.item = candidate.item
        CROSS JOIN item ON item.id = candidate.item
        LEFT JOIN item_history AS former ON former.rowid = (
            SELECT rowid FROM item_history AS h
            WHERE h.item = item.id AND h.hash = sighting.hash AND sighting.hash <> item.hash
            ORDER BY h.changed_at DESC LIMIT 1
        )
    WHERE coalesce(former.url, item.url) = ?2
    ORDER BY item.id LIMIT ?4
)
SELECT item.id, item.type, item.key, coalesce(former.url, item.url), item.first_seen,
    coalesce(former.last_seen, item.last_seen), coalesce(former.changed_at, item.changed_at),
    coalesce(former.data, item.data), found.total
FROM found
    CROSS JOIN item ON item.id = found.item
    LEFT JOIN item_history AS former ON former.rowid = found.former
ORDER BY item.id;

-- name: sample
-- Ids of items that a job saw, mixed (Knuth's multiplicative hash), so that the first of them are as good as any.
SELECT item FROM sighting WHERE job = (SELECT id FROM job WHERE name = ?)
ORDER BY item % 1048573 * 2654435761 % 4294967296 LIMIT ?;

-- name: of_ids
SELECT item.id, item.type, item.key, coalesce(former.url, item.url), item.first_seen,
    coalesce(former.last_seen, item.last_seen), coalesce(former.changed_at, item.changed_at),
    coalesce(former.data, item.data)
FROM json_each(?2) AS asked
    CROSS JOIN sighting ON sighting.job = (SELECT id FROM job WHERE name = ?1) AND sighting.item = asked.value
    CROSS JOIN item ON item.id = sighting.item
    LEFT JOIN item_history AS former ON former.rowid = (
        SELECT rowid FROM item_history AS h
        WHERE h.item = item.id AND h.hash = sighting.hash AND sighting.hash <> item.hash
        ORDER BY h.changed_at DESC LIMIT 1
    );

-- name: types
-- One look into the index for each.
WITH RECURSIVE found(type) AS (
    SELECT min(type) FROM item WHERE spider = ?1
    UNION ALL
    SELECT (SELECT min(type) FROM item WHERE spider = ?1 AND type > found.type) FROM found
    WHERE found.type IS NOT NULL
)
SELECT type FROM found WHERE type IS NOT NULL LIMIT ?2;

-- What stands for `:which` above, joined.

-- name: of_type
AND item.type = ?;

-- name: without_field
AND NOT EXISTS (
    SELECT 1 FROM json_each(coalesce(former.data, item.data)) WHERE key = ? AND coalesce(value, '') <> ''
);

-- name: with_text
AND instr(lower(coalesce(former.data, item.data) || ' ' || item.key || ' ' || item.url), lower(?)) > 0;

-- name: versions
-- The value that an item has, and those that it had.
SELECT id, type, key, url, first_seen, last_seen, changed_at, data FROM item WHERE (spider, type, key) = (?1, ?2, ?3)
UNION ALL
SELECT item.id, item.type, item.key, former.url, item.first_seen, former.last_seen, former.changed_at, former.data
FROM item JOIN item_history AS former ON former.item = item.id
WHERE (item.spider, item.type, item.key) = (?1, ?2, ?3)
ORDER BY changed_at DESC LIMIT ?4;
