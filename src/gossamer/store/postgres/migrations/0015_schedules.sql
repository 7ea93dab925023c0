-- Schema 15: crawls that begin by themselves at set times.

CREATE TABLE schedule (
    name text COLLATE "C" PRIMARY KEY,
    created_at double precision NOT NULL,
    is_on boolean NOT NULL,
    since double precision NOT NULL,     -- due times up to this one are settled
    record text NOT NULL                 -- JSON of core.schedules.Schedule; the columns here count
);

-- Their latest runs. A due time is there once.
CREATE TABLE schedule_run (
    schedule text COLLATE "C" NOT NULL,  -- its name
    due_at double precision NOT NULL,
    key text COLLATE "C" NOT NULL,       -- of its job
    is_open boolean NOT NULL,
    record text NOT NULL,                -- JSON of core.schedules.ScheduledRun
    PRIMARY KEY (schedule, due_at)
);
CREATE INDEX schedule_run_open ON schedule_run (due_at) WHERE is_open;

-- The job that was made with a key.
CREATE INDEX job_key ON job (key);
