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
    LEFT JOIN item_history AS former
        ON former.item = item.id AND former.hash = sighting.hash AND sighting.hash <> item.hash
WHERE true :which
ORDER BY newest.changed_at DESC, newest.id DESC LIMIT ?;

-- name: edge
-- The last of so many items of a spider before a place.
SELECT changed_at, id FROM item INDEXED BY item_recent
WHERE spider = ?1 AND changed_at <= ?2 AND (changed_at < ?2 OR id < ?3) AND changed_at >= ?4
ORDER BY changed_at DESC, id DESC LIMIT 1 OFFSET ?5;

-- name: types
-- One look into the index for each.
WITH RECURSIVE found(type) AS (
    SELECT min(type) FROM item WHERE spider = ?1
    UNION ALL
    SELECT (SELECT min(type) FROM item WHERE spider = ?1 AND type > found.type) FROM found
    WHERE found.type IS NOT NULL
)
SELECT type FROM found WHERE type IS NOT NULL LIMIT 100;

-- What stands for `:which` above, joined.

-- name: of_type
AND item.type = ?;

-- name: without_field
AND NOT EXISTS (
    SELECT 1 FROM json_each(coalesce(former.data, item.data)) WHERE key = ? AND coalesce(value, '') <> ''
);

-- name: with_text
AND instr(lower(coalesce(former.data, item.data) || ' ' || item.key || ' ' || item.url), lower(?)) > 0;
