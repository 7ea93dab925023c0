-- Schema 17: crawls that begin by themselves at set times.

CREATE TABLE schedule (
    name TEXT PRIMARY KEY,
    created_at REAL NOT NULL,
    is_on INTEGER NOT NULL,
    since REAL NOT NULL,                 -- due times up to this one are settled
    record TEXT NOT NULL                 -- JSON of core.schedules.Schedule; the columns here count
) WITHOUT ROWID;

-- Their latest runs. A due time is there once.
CREATE TABLE schedule_run (
    schedule TEXT NOT NULL,              -- its name
    due_at REAL NOT NULL,
    key TEXT NOT NULL,                   -- of its job
    is_open INTEGER NOT NULL,
    record TEXT NOT NULL,                -- JSON of core.schedules.ScheduledRun
    PRIMARY KEY (schedule, due_at)
) WITHOUT ROWID;
CREATE INDEX schedule_run_open ON schedule_run (due_at) WHERE is_open;

-- The job that was made with a key.
CREATE INDEX job_key ON job (key);
