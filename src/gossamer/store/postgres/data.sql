-- Profiles of items and results that were made again. Tables: migrations/0010_data.sql.

-- name: save_profile
INSERT INTO profile (job, at, record) VALUES ($1, $2, $3)
ON CONFLICT (job) DO UPDATE SET at = excluded.at, record = excluded.record;

-- name: profiles
SELECT job, record FROM profile WHERE job = ANY ($1::text[]);

-- name: save_version
INSERT INTO result_version (job, base, state, created_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (job) DO UPDATE SET base = excluded.base, state = excluded.state, created_at = excluded.created_at;

-- name: versions
SELECT job, base, state, created_at FROM result_version WHERE base = $1 ORDER BY created_at DESC, job DESC;

-- name: change_state
UPDATE result_version SET state = $1 WHERE job = $2 RETURNING job;
