-- Schema 8: what a person changed of a job while it ran, and the command by which a crawl of one machine goes on.

CREATE TABLE job_setting (
    job text NOT NULL,                   -- Job.id
    key text NOT NULL,                   -- the setting's full name
    record text NOT NULL,                -- JSON of SettingChange
    PRIMARY KEY (job, key)
);

CREATE TABLE launch (
    job text PRIMARY KEY,                -- Job.id
    record bytea NOT NULL                -- gossamer.targets.launch.LaunchPlan
);
