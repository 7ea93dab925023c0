-- What a person asks of the ledger and the pages of one job.

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

-- name: pages
SELECT id, url, fingerprint, status, content_type, title, depth, size_bytes, at, items
FROM page WHERE job = (SELECT id FROM job WHERE name = ?) AND id > ? ORDER BY id LIMIT ?;

-- name: page
-- By the index page_place: one look for each part of the table.
WITH RECURSIVE part (number) AS (
    SELECT max(id) / 512 FROM page
    UNION ALL
    SELECT number - 1 FROM part WHERE number > (SELECT min(id) / 512 FROM page)
)
SELECT url, fingerprint, status, content_type, title, depth, size_bytes, at, items
FROM part CROSS JOIN page INDEXED BY page_place ON page.id / 512 = part.number AND fingerprint = ?2
WHERE job = (SELECT id FROM job WHERE name = ?1)
ORDER BY id DESC LIMIT 1;

-- name: samples
SELECT reason, stage, type, url, at, data FROM drop_sample
WHERE job = (SELECT id FROM job WHERE name = ?1) AND (?2 = '' OR reason = ?2) ORDER BY reason, slot LIMIT ?3;
