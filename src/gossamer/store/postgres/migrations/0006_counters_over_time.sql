-- Schema 6: the counters of a job over time, kept in the statement that stores what they count.
--
-- Jobs from before this schema have totals and no past. Four rows of each, of which a writer uses one, so that
-- writers seldom wait for one another; whoever reads adds them up.

-- Counters (gossamer.core.series) in buckets of `step` seconds, by when the bucket begins (seconds since the epoch): 20,
-- and 3600 for what is older than a day. One row a bucket, since each batch of results adds to nearly all of them.
CREATE TABLE series (
    job integer NOT NULL,
    step integer NOT NULL,
    at bigint NOT NULL,
    slot smallint NOT NULL,
    covered integer NOT NULL DEFAULT 0,          -- of an hour: seconds of it in which somebody was at work
    pages bigint NOT NULL DEFAULT 0,
    attempts bigint NOT NULL DEFAULT 0,
    items bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    retries bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    dead bigint NOT NULL DEFAULT 0,
    class_0 bigint NOT NULL DEFAULT 0,
    class_1 bigint NOT NULL DEFAULT 0,
    class_2 bigint NOT NULL DEFAULT 0,
    class_3 bigint NOT NULL DEFAULT 0,
    class_4 bigint NOT NULL DEFAULT 0,
    class_5 bigint NOT NULL DEFAULT 0,
    lat_sum bigint NOT NULL DEFAULT 0,
    lat_10 bigint NOT NULL DEFAULT 0,
    lat_25 bigint NOT NULL DEFAULT 0,
    lat_50 bigint NOT NULL DEFAULT 0,
    lat_100 bigint NOT NULL DEFAULT 0,
    lat_250 bigint NOT NULL DEFAULT 0,
    lat_500 bigint NOT NULL DEFAULT 0,
    lat_1000 bigint NOT NULL DEFAULT 0,
    lat_2500 bigint NOT NULL DEFAULT 0,
    lat_5000 bigint NOT NULL DEFAULT 0,
    lat_10000 bigint NOT NULL DEFAULT 0,
    lat_30000 bigint NOT NULL DEFAULT 0,
    lat_60000 bigint NOT NULL DEFAULT 0,
    lat_inf bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (job, step, at, slot)
) WITH (fillfactor = 50);

-- What is measured now and then, and not added up: how many requests wait. The same buckets.
CREATE TABLE gauge (
    job integer NOT NULL,
    step integer NOT NULL,
    at bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    value bigint NOT NULL,
    PRIMARY KEY (job, step, at, name)
);

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
