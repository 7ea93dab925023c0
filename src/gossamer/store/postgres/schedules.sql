-- Schedules and their runs. Tables: migrations/0015_schedules.sql.

-- name: add_schedule
-- One that is there already as it is was added by an earlier try, whose answer was lost.
INSERT INTO schedule AS old (name, created_at, is_on, since, record) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (name) DO UPDATE SET name = old.name WHERE old.created_at = $2 AND old.record = $5
RETURNING 1;

-- name: schedules
SELECT is_on, since, record FROM schedule ORDER BY name;

-- name: switch
UPDATE schedule SET since = CASE WHEN $2 AND NOT is_on THEN greatest(since, $3) ELSE since END, is_on = $2
WHERE name = $1 RETURNING 1;

-- name: remove
DELETE FROM schedule WHERE name = $1 RETURNING 1;

-- name: remove_runs
DELETE FROM schedule_run WHERE schedule = $1;

-- name: settle
-- Due times up to this one, if they are not.
UPDATE schedule SET since = $3 WHERE name = $1 AND created_at = $2 AND is_on AND since < $3 RETURNING 1;

-- name: is_there
SELECT 1 FROM schedule WHERE name = $1 AND created_at = $2 FOR SHARE;

-- name: add_run
INSERT INTO schedule_run (schedule, due_at, key, is_open, record) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING RETURNING 1;

-- name: prune_runs
DELETE FROM schedule_run WHERE schedule = $1 AND NOT is_open AND due_at <= (
    SELECT due_at FROM schedule_run WHERE schedule = $1 AND NOT is_open ORDER BY due_at DESC LIMIT 1 OFFSET $2
);

-- name: save_run
UPDATE schedule_run SET is_open = $4, record = $5
WHERE schedule = $1 AND due_at = $2 AND key = $3 AND (is_open OR record = $5) RETURNING 1;

-- name: open_runs
SELECT record FROM schedule_run WHERE is_open ORDER BY due_at;

-- name: runs
SELECT record FROM schedule_run WHERE schedule = $1 ORDER BY due_at DESC LIMIT $2;

-- name: runs_of_all
SELECT r.record FROM schedule s CROSS JOIN LATERAL (
    SELECT due_at, record FROM schedule_run WHERE schedule = s.name ORDER BY due_at DESC LIMIT $1
) r ORDER BY s.name, r.due_at DESC;
