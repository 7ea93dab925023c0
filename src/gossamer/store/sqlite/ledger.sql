-- What a person asks of the ledger, the pages and the items of one job.

-- name: attempts
SELECT id, at, url, fingerprint, verdict, reason, detail, attempt, status, size_bytes, elapsed_ms, worker, rung,
    depth, via, method, flags, request, proxy, session, cost, wire_bytes, address
FROM attempt
WHERE job = (SELECT id FROM job WHERE name = ?) AND id < ? :which
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
SELECT url, fingerprint, status, content_type, title, depth, size_bytes, at
FROM page
WHERE job = (SELECT id FROM job WHERE name = ?) AND fingerprint = ?
ORDER BY id DESC LIMIT 1;

-- name: items_on
SELECT count(*) FROM sighting JOIN item ON item.id = sighting.item
LEFT JOIN item_history AS former
    ON former.item = item.id AND former.hash = sighting.hash AND sighting.hash <> item.hash
WHERE sighting.job = (SELECT id FROM job WHERE name = ?) AND coalesce(former.url, item.url) = ?;
