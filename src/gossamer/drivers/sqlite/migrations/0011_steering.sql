-- Schema 11: what a person changed of a job while it ran, and the command by which a crawl of this machine goes on.

CREATE TABLE job_setting (
    job TEXT NOT NULL,                   -- Job.id
    key TEXT NOT NULL,                   -- the setting's full name
    record TEXT NOT NULL,                -- JSON of SettingChange
    PRIMARY KEY (job, key)
) WITHOUT ROWID;

CREATE TABLE launch (
    job TEXT PRIMARY KEY,                -- Job.id
    record BLOB NOT NULL                 -- gossamer.targets.launch.LaunchPlan
) WITHOUT ROWID;
