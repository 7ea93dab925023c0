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

-- name: on_page
-- Those that ledger.sql's `items_on` counts, found as it finds them.
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
)
SELECT item.id, item.type, item.key, coalesce(former.url, item.url), item.first_seen,
    coalesce(former.last_seen, item.last_seen), coalesce(former.changed_at, item.changed_at),
    coalesce(former.data, item.data)
FROM candidate
    CROSS JOIN sighting ON sighting.job = (SELECT id FROM job WHERE name = ?1) AND sighting.item = candidate.item
    CROSS JOIN item ON item.id = candidate.item
    LEFT JOIN item_history AS former
        ON former.item = item.id AND former.hash = sighting.hash AND sighting.hash <> item.hash
WHERE coalesce(former.url, item.url) = ?2
ORDER BY item.id LIMIT ?4;

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
