-- Schedules and their runs. Tables: gossamer/drivers/sqlite/migrations/0017_schedules.sql.

-- name: add_schedule
INSERT INTO schedule (name, created_at, is_on, since, record) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: schedules
SELECT is_on, since, record FROM schedule ORDER BY name;

-- name: switch
UPDATE schedule SET since = iif(?2 AND NOT is_on, max(since, ?3), since), is_on = ?2 WHERE name = ?1;

-- name: remove
DELETE FROM schedule WHERE name = ?;

-- name: remove_runs
DELETE FROM schedule_run WHERE schedule = ?;

-- name: settle
-- Due times up to this one, if they are not.
UPDATE schedule SET since = ?3 WHERE name = ?1 AND created_at = ?2 AND is_on AND since < ?3;

-- name: is_there
SELECT 1 FROM schedule WHERE name = ? AND created_at = ?;

-- name: add_run
INSERT INTO schedule_run (schedule, due_at, key, is_open, record) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: prune_runs
DELETE FROM schedule_run WHERE schedule = ?1 AND NOT is_open AND due_at <= (
    SELECT due_at FROM schedule_run WHERE schedule = ?1 AND NOT is_open ORDER BY due_at DESC LIMIT 1 OFFSET ?2
);

-- name: save_run
UPDATE schedule_run SET is_open = ?4, record = ?5 WHERE schedule = ?1 AND due_at = ?2 AND key = ?3 AND is_open;

-- name: open_runs
SELECT record FROM schedule_run WHERE is_open ORDER BY due_at;

-- name: runs
SELECT record FROM schedule_run WHERE schedule = ? ORDER BY due_at DESC LIMIT ?;
