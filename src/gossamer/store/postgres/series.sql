-- Counters over time in PostgreSQL. Tables: migrations/0006_counters_over_time.sql. What a batch adds is added by
-- the statement `write` of store.sql. `:columns`, `:sums` and `:added` are the counters
-- (gossamer.store.series.fill_columns).

-- name: cover_bucket
INSERT INTO series (job, step, at, slot) VALUES ($1, 20, $2, 0) ON CONFLICT DO NOTHING;

-- name: set_gauges
INSERT INTO gauge (job, step, at, name, value)
SELECT $1, 20, $2, g.name, g.value FROM unnest($3::text[], $4::bigint[]) AS g (name, value) ORDER BY g.name
ON CONFLICT (job, step, at, name) DO UPDATE SET value = excluded.value;

-- name: steps
SELECT at / $4::bigint * $4::bigint, 20 * count(DISTINCT at) FILTER (WHERE step = 20) + sum(covered), :sums FROM series
WHERE job = (SELECT id FROM job WHERE name = $1) AND step IN (20, 3600) AND at >= $2 AND at < $3
GROUP BY 1;

-- name: gauges
SELECT at / $4::bigint * $4::bigint, name, avg(value) FROM gauge
WHERE job = (SELECT id FROM job WHERE name = $1) AND step IN (20, 3600) AND at >= $2 AND at < $3
GROUP BY 1, 2;

-- name: hours
SELECT hour, who, label, sum(value)::bigint FROM hourly
WHERE job = (SELECT id FROM job WHERE name = $1) AND kind = $2 AND hour = ANY ($3::bigint[]) AND who = ANY ($4::text[])
GROUP BY hour, who, label;

-- name: reasons
SELECT hour, who, label, sum(value)::bigint FROM hourly
WHERE job = (SELECT id FROM job WHERE name = $1) AND kind = 'reason' AND hour >= $2
GROUP BY hour, who, label;

-- name: failures
-- Those that failed most, of each reason and hour.
WITH this AS (SELECT id FROM job WHERE name = $1),
failed AS (
    SELECT DISTINCT hour, label FROM hourly
    WHERE job = (SELECT id FROM this) AND kind = $2 AND hour = ANY ($3::bigint[]) AND who = '' AND label <> ''
)
SELECT worst.who, worst.value FROM failed CROSS JOIN LATERAL (
    SELECT h.who, h.value FROM hourly AS h
    WHERE h.job = (SELECT id FROM this) AND h.kind = $2 AND h.label = failed.label AND h.hour = failed.hour
        AND h.label <> '' AND h.who <> '' AND h.kind <> 'reason'
    ORDER BY h.value DESC LIMIT $4
) AS worst;

-- name: hosts
SELECT count(DISTINCT who) FROM (
    SELECT who FROM hourly
    WHERE job = (SELECT id FROM job WHERE name = $1) AND kind = 'host' AND label = $2 AND hour >= $3
        AND label <> '' AND who <> '' AND kind <> 'reason'
    LIMIT $4
) AS found;

-- name: fold_series
-- What comes later, of a lease that was lost, is added.
WITH fine AS (
    DELETE FROM series WHERE job IN (SELECT id FROM job) AND step = 20 AND at < $1 RETURNING *
)
INSERT INTO series (job, step, at, slot, covered, :columns)
SELECT job, 3600, at / 3600 * 3600 AS hour, 0, 20 * count(DISTINCT at), :sums
FROM fine GROUP BY job, hour ORDER BY job, hour
ON CONFLICT (job, step, at, slot) DO UPDATE SET covered = least(3600, series.covered + excluded.covered), :added;

-- name: fold_gauges
WITH fine AS (
    DELETE FROM gauge WHERE job IN (SELECT id FROM job) AND step = 20 AND at < $1 RETURNING *
)
INSERT INTO gauge (job, step, at, name, value)
SELECT job, 3600, at / 3600 * 3600 AS hour, name, round(avg(value))
FROM fine GROUP BY job, hour, name ORDER BY job, hour, name
ON CONFLICT DO NOTHING;

-- name: drop_hourly
DELETE FROM hourly WHERE job IN (SELECT id FROM job) AND kind IN ('host', 'proxy') AND hour < $1 AND who <> '';
