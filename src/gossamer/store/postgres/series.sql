-- Counters over time in PostgreSQL. Tables: migrations/0006_counters_over_time.sql. What a batch adds is added by
-- the statement `write` of store.sql.

-- name: set_series
INSERT INTO series AS s (job, step, at, name, slot, value)
SELECT $1, 20, $2, g.name, 0, g.value FROM unnest($3::text[], $4::bigint[]) AS g (name, value) ORDER BY g.name
ON CONFLICT (job, step, at, name, slot) DO UPDATE SET value = excluded.value;

-- name: steps
SELECT at / $4::bigint * $4::bigint, name, sum(value)::bigint, count(*) FROM series
WHERE job = (SELECT id FROM job WHERE name = $1) AND step IN (20, 3600) AND at >= $2 AND at < $3
GROUP BY 1, 2;

-- name: covered
SELECT step, 20 * count(*) FROM (
    SELECT DISTINCT at, at / $4::bigint * $4::bigint AS step FROM series
    WHERE job = (SELECT id FROM job WHERE name = $1) AND step = 20 AND at >= $2 AND at < $3
) AS buckets GROUP BY step;

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

-- name: fold
-- Of gauges an hour keeps the mean; what comes later, of a lease that was lost, is added.
WITH fine AS (
    DELETE FROM series WHERE job IN (SELECT id FROM job) AND step = 20 AND at < $1 RETURNING job, at, name, value
),
folded AS (
    SELECT job, at / 3600 * 3600 AS hour, name,
        CASE WHEN starts_with(name, 'now:') THEN round(avg(value)) ELSE sum(value) END AS value
    FROM fine GROUP BY 1, 2, 3
    UNION ALL SELECT job, at / 3600 * 3600, 'covered', 20 * count(DISTINCT at) FROM fine GROUP BY 1, 2
)
INSERT INTO series AS s (job, step, at, name, slot, value)
SELECT job, 3600, hour, name, 0, value FROM folded ORDER BY job, hour, name
ON CONFLICT (job, step, at, name, slot) DO UPDATE SET value = CASE
    WHEN starts_with(s.name, 'now:') THEN s.value
    WHEN s.name = 'covered' THEN least(3600, s.value + excluded.value)
    ELSE s.value + excluded.value
END;

-- name: drop_hourly
DELETE FROM hourly WHERE job IN (SELECT id FROM job) AND kind IN ('host', 'proxy') AND hour < $1 AND who <> '';
