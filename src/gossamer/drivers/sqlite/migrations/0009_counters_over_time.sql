-- Schema 9: the counters of a job over time, kept in the transaction of what they count.
--
-- Jobs from before this schema have totals and no past.

-- Counters (gossamer.core.series) in buckets of `step` seconds, by when the bucket begins (seconds since the epoch): 20,
-- and 3600 for what is older than a day. One row a bucket, since each batch of results adds to nearly all of them.
CREATE TABLE series (
    job INTEGER NOT NULL,
    step INTEGER NOT NULL,
    at INTEGER NOT NULL,
    covered INTEGER NOT NULL,            -- seconds of it in which somebody was at work
    pages INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    items INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    retries INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    class_0 INTEGER NOT NULL DEFAULT 0,
    class_1 INTEGER NOT NULL DEFAULT 0,
    class_2 INTEGER NOT NULL DEFAULT 0,
    class_3 INTEGER NOT NULL DEFAULT 0,
    class_4 INTEGER NOT NULL DEFAULT 0,
    class_5 INTEGER NOT NULL DEFAULT 0,
    lat_sum INTEGER NOT NULL DEFAULT 0,
    lat_10 INTEGER NOT NULL DEFAULT 0,
    lat_25 INTEGER NOT NULL DEFAULT 0,
    lat_50 INTEGER NOT NULL DEFAULT 0,
    lat_100 INTEGER NOT NULL DEFAULT 0,
    lat_250 INTEGER NOT NULL DEFAULT 0,
    lat_500 INTEGER NOT NULL DEFAULT 0,
    lat_1000 INTEGER NOT NULL DEFAULT 0,
    lat_2500 INTEGER NOT NULL DEFAULT 0,
    lat_5000 INTEGER NOT NULL DEFAULT 0,
    lat_10000 INTEGER NOT NULL DEFAULT 0,
    lat_30000 INTEGER NOT NULL DEFAULT 0,
    lat_60000 INTEGER NOT NULL DEFAULT 0,
    lat_inf INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job, step, at)
) WITHOUT ROWID;

-- What is measured now and then, and not added up: how many requests wait. The same buckets.
CREATE TABLE gauge (
    job INTEGER NOT NULL,
    step INTEGER NOT NULL,
    at INTEGER NOT NULL,
    name TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (job, step, at, name)
) WITHOUT ROWID;

-- Attempts and failures by the hour. `kind` host, proxy: `who` did or met it ('': all together), `label` is '' for
-- attempts and else the reason of failures. `kind` reason: `who` is the reason, `label` the verdict.
CREATE TABLE hourly (
    job INTEGER NOT NULL,
    kind TEXT NOT NULL,
    hour INTEGER NOT NULL,               -- when it begins
    who TEXT NOT NULL,
    label TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (job, kind, hour, who, label)
) WITHOUT ROWID;
-- Who failed most, and how many failed for a reason. Only failures pay for it.
CREATE INDEX hourly_failure ON hourly (job, kind, label, hour, value)
    WHERE label <> '' AND who <> '' AND kind <> 'reason';

-- The latest attempts with a reason, however many others there are.
CREATE INDEX attempt_reason ON attempt (job, reason) WHERE reason <> '';
