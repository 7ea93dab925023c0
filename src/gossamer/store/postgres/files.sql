-- Files that jobs have saved. Table: migrations/0012_files.sql.

-- name: save_file
INSERT INTO file AS kept (job, place, url, sha256, blob, size_bytes, type, thumbnails, etag, modified, stored_at, last_seen)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (job, place) DO UPDATE SET
    url = excluded.url, blob = excluded.blob, size_bytes = excluded.size_bytes, type = excluded.type,
    thumbnails = excluded.thumbnails, etag = excluded.etag, modified = excluded.modified,
    stored_at = CASE WHEN kept.sha256 = excluded.sha256 THEN kept.stored_at ELSE excluded.stored_at END,
    last_seen = CASE WHEN kept.sha256 = excluded.sha256 THEN greatest(kept.last_seen, excluded.last_seen)
                ELSE excluded.last_seen END,
    sha256 = excluded.sha256;

-- name: see_body
-- One row of those with these bytes: there may be many.
UPDATE file SET last_seen = greatest(last_seen, $1)
WHERE (job, place) = (SELECT job, place FROM file WHERE sha256 = $2 LIMIT 1) AND sha256 = $2
RETURNING job, place, url, sha256, blob, size_bytes, type, thumbnails, etag, modified, stored_at, last_seen;

-- name: file
SELECT job, place, url, sha256, blob, size_bytes, type, thumbnails, etag, modified, stored_at, last_seen
FROM file WHERE place = $1 ORDER BY last_seen DESC, job DESC LIMIT 1;

-- name: files
SELECT job, place, url, sha256, blob, size_bytes, type, thumbnails, etag, modified, stored_at, last_seen
FROM file WHERE (job, place) > ($1, $2) ORDER BY job, place LIMIT $3;

-- name: files_of_job
SELECT job, place, url, sha256, blob, size_bytes, type, thumbnails, etag, modified, stored_at, last_seen
FROM file WHERE job = $1 AND place > $2 ORDER BY place LIMIT $3;

-- name: named
SELECT DISTINCT sha256 FROM file WHERE sha256 = ANY ($1::text[]);

-- name: forget_files
-- A part of them.
WITH gone AS (
    DELETE FROM file WHERE (job, place) IN (SELECT job, place FROM file WHERE last_seen < $1 LIMIT $2) RETURNING 1
)
SELECT count(*) FROM gone;
