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
-- By their present value's URL, or that of a former one.
SELECT i.id, i.type, i.key, coalesce(f.url, i.url), i.first_seen, coalesce(f.last_seen, i.last_seen),
    coalesce(f.changed_at, i.changed_at), coalesce(f.data, i.data),
    CASE WHEN f.item IS NULL THEN i.layout ELSE f.layout END
FROM (
    SELECT id FROM item WHERE hashtext(url) = hashtext($2) AND url = $2
    UNION SELECT item FROM item_history WHERE hashtext(url) = hashtext($2) AND url = $2
) found
JOIN sighting s ON s.job = (SELECT id FROM job WHERE name = $1) AND s.item = found.id
JOIN item i ON i.id = found.id
LEFT JOIN LATERAL (
    SELECT * FROM item_history h WHERE h.item = i.id AND h.hash = s.hash AND s.hash <> i.hash
    ORDER BY h.changed_at DESC LIMIT 1
) f ON true
WHERE coalesce(f.url, i.url) = $2
ORDER BY i.id LIMIT $3;

-- name: types
-- One look into the index for each.
WITH RECURSIVE found(type) AS (
    SELECT min(type) FROM item WHERE spider = $1
    UNION ALL
    SELECT (SELECT min(type) FROM item WHERE spider = $1 AND type > found.type) FROM found
    WHERE found.type IS NOT NULL
)
SELECT type FROM found WHERE type IS NOT NULL LIMIT 100;
