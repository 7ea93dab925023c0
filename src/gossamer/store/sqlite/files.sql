-- Files that jobs have saved. Table: gossamer/drivers/sqlite/migrations/0015_files.sql.

-- name: save_file
INSERT INTO file (job, place, url, sha256, blob, size_bytes, type, thumbnails, etag, modified, stored_at, last_seen)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (job, place) DO UPDATE SET
    url = excluded.url, blob = excluded.blob, size_bytes = excluded.size_bytes, type = excluded.type,
    thumbnails = excluded.thumbnails, etag = excluded.etag, modified = excluded.modified,
    stored_at = iif(sha256 = excluded.sha256, stored_at, excluded.stored_at),
    last_seen = iif(sha256 = excluded.sha256, max(last_seen, excluded.last_seen), excluded.last_seen),
    sha256 = excluded.sha256;

-- name: see_body
-- One row of those with these bytes: there may be many.
UPDATE file SET last_seen = max(last_seen, ?)
WHERE (job, place) = (SELECT job, place FROM file WHERE sha256 = ? LIMIT 1)
RETURNING job, place, url, sha256, blob, size_bytes, type, thumbnails, etag, modified, stored_at, last_seen;

-- name: file
SELECT job, place, url, sha256, blob, size_bytes, type, thumbnails, etag, modified, stored_at, last_seen
FROM file WHERE place = ? ORDER BY last_seen DESC, job DESC LIMIT 1;

-- name: files
SELECT job, place, url, sha256, blob, size_bytes, type, thumbnails, etag, modified, stored_at, last_seen
FROM file WHERE (job, place) > (?, ?) ORDER BY job, place LIMIT ?;

-- name: files_of_job
SELECT job, place, url, sha256, blob, size_bytes, type, thumbnails, etag, modified, stored_at, last_seen
FROM file WHERE job = ? AND place > ? ORDER BY place LIMIT ?;

-- name: named
SELECT DISTINCT sha256 FROM file WHERE sha256 IN (SELECT value FROM json_each(?));

-- name: forget_files
-- A part of them.
DELETE FROM file WHERE (job, place) IN (SELECT job, place FROM file WHERE last_seen < ? LIMIT ?);
