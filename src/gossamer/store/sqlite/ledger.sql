-- What a person asks of the ledger, the pages and the items of one job.

-- name: attempts
SELECT id, at, url, fingerprint, verdict, reason, detail, attempt, status, size_bytes, elapsed_ms, worker, rung,
    depth, via, method, flags, request, proxy, session, cost, wire_bytes, address
FROM attempt
WHERE job = (SELECT id FROM job WHERE name = ?) AND id < ? :which
ORDER BY id DESC LIMIT ?;

-- name: attempts_at
-- The same where URLs are asked for, by the index attempt_place: one look for each part of the job's rows.
WITH RECURSIVE part (number) AS (
    SELECT max(id) / 256 FROM attempt WHERE job = (SELECT id FROM job WHERE name = ?1) AND id < ?2
    UNION ALL
    SELECT number - 1 FROM part
    WHERE number > (SELECT min(id) / 256 FROM attempt WHERE job = (SELECT id FROM job WHERE name = ?1))
)
SELECT id, at, url, fingerprint, verdict, reason, detail, attempt, status, size_bytes, elapsed_ms, worker, rung,
    depth, via, method, flags, request, proxy, session, cost, wire_bytes, address
FROM part CROSS JOIN attempt INDEXED BY attempt_place ON attempt.id / 256 = part.number
WHERE job = (SELECT id FROM job WHERE name = ?1) AND id < ?2 :which
ORDER BY id DESC LIMIT ?;

-- name: slice
-- Of the newest rows below an id those that fit; `:base` is what has an index.
SELECT id, at, url, fingerprint, verdict, reason, detail, attempt, status, size_bytes, elapsed_ms, worker, rung,
    depth, via, method, flags, request, proxy, session, cost, wire_bytes, address
FROM (
    SELECT * FROM attempt WHERE job = (SELECT id FROM job WHERE name = ?) :base AND id < ? ORDER BY id DESC LIMIT ?
) WHERE true :which
ORDER BY id DESC LIMIT ?;

-- name: row_below
-- The newest row below an id, or so many behind it.
SELECT id, at FROM attempt
WHERE job = (SELECT id FROM job WHERE name = ?) :base AND id < ? ORDER BY id DESC LIMIT 1 OFFSET ?;

-- name: page
-- By the index page_place: one look for each part of the table.
WITH RECURSIVE part (number) AS (
    SELECT max(id) / 512 FROM page
    UNION ALL
    SELECT number - 1 FROM part WHERE number > (SELECT min(id) / 512 FROM page)
)
SELECT url, fingerprint, status, content_type, title, depth, size_bytes, at
FROM part CROSS JOIN page INDEXED BY page_place ON page.id / 512 = part.number AND fingerprint = ?2
WHERE job = (SELECT id FROM job WHERE name = ?1)
ORDER BY id DESC LIMIT 1;

-- name: items_on
-- An item has the time of the visit that changed it: the URL's attempts, of whatever job, say when that may be.
-- What another job has changed since is found by its former value's own URL.
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
SELECT count(*) FROM candidate
    CROSS JOIN sighting ON sighting.job = (SELECT id FROM job WHERE name = ?1) AND sighting.item = candidate.item
    CROSS JOIN item ON item.id = candidate.item
    LEFT JOIN item_history AS former
        ON former.item = item.id AND former.hash = sighting.hash AND sighting.hash <> item.hash
WHERE coalesce(former.url, item.url) = ?2;
