-- Profiles of items and results that were made again. Tables: gossamer/drivers/sqlite/migrations/0013_data.sql.

-- name: save_profile
REPLACE INTO profile (job, at, record) VALUES (?, ?, ?);

-- name: profiles
SELECT job, record FROM profile WHERE job IN (SELECT value FROM json_each(?));

-- name: save_version
REPLACE INTO result_version (job, base, state, created_at) VALUES (?, ?, ?, ?);

-- name: versions
SELECT job, base, state, created_at FROM result_version WHERE base = ? ORDER BY created_at DESC, job DESC;

-- name: change_state
UPDATE result_version SET state = ? WHERE job = ?;
