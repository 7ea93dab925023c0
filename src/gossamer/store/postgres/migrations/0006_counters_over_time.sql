-- Schema 6: the counters of a job over time, kept in the statement that stores what they count.
--
-- Names: gossamer.store.counters. Jobs from before this schema have totals and no past. Four rows of each, of
-- which a writer uses one, so that writers seldom wait for one another; whoever reads adds them up.

-- Counters in buckets of `step` seconds, by when the bucket begins (seconds since the epoch): 20, and 3600 for what
-- is older than a day. `now:` begins the names of gauges, which are set and not added up.
CREATE TABLE series (
    job integer NOT NULL,
    step integer NOT NULL,
    at bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    slot smallint NOT NULL,
    value bigint NOT NULL,
    PRIMARY KEY (job, step, at, name, slot)
) WITH (fillfactor = 70);

-- Attempts and failures by the hour. `kind` host, proxy: `who` did or met it ('': all together), `label` is '' for
-- attempts and else the reason of failures. `kind` reason: `who` is the reason, `label` the verdict.
CREATE TABLE hourly (
    job integer NOT NULL,
    kind text COLLATE "C" NOT NULL,
    hour bigint NOT NULL,                        -- when it begins
    who text COLLATE "C" NOT NULL,
    label text COLLATE "C" NOT NULL,
    slot smallint NOT NULL,
    value bigint NOT NULL,
    PRIMARY KEY (job, kind, hour, who, label, slot)
) WITH (fillfactor = 70);
-- Who failed most, and how many failed for a reason. Only failures pay for it.
CREATE INDEX hourly_failure ON hourly (job, kind, label, hour, value)
    WHERE label <> '' AND who <> '' AND kind <> 'reason';

-- The latest attempts with a reason, however many others there are.
CREATE INDEX attempt_reason ON attempt (job, reason, id) WHERE reason <> '';
