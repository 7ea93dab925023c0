-- Schema 9: the counters of a job over time, kept in the transaction of what they count.
--
-- Names: gossamer.store.counters. Jobs from before this schema have totals and no past.

-- Counters in buckets of `step` seconds, by when the bucket begins (seconds since the epoch): 20, and 3600 for what
-- is older than a day. `now:` begins the names of gauges, which are set and not added up.
CREATE TABLE series (
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
