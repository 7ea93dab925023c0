-- Counters over time. Tables: gossamer/drivers/sqlite/migrations/0009_counters_over_time.sql.
-- Rows at `:rows` (gossamer.drivers.sql.write_rows); `:columns`, `:sums`, `:added` are the counters
-- (gossamer.store.series.fill_columns).

-- ------------------------------------------------------------------ writing

-- name: add_series
INSERT INTO series (job, step, at, covered, :columns) VALUES :rows
ON CONFLICT (job, step, at) DO UPDATE SET :added;

-- name: cover_bucket
INSERT INTO series (job, step, at, covered) VALUES (?, 20, ?, 20) ON CONFLICT DO NOTHING;

-- name: set_gauges
INSERT INTO gauge (job, step, at, name, value) VALUES :rows
ON CONFLICT (job, step, at, name) DO UPDATE SET value = excluded.value;

-- name: add_hourly
INSERT INTO hourly (job, kind, hour, who, label, value) VALUES :rows
ON CONFLICT (job, kind, hour, who, label) DO UPDATE SET value = value + excluded.value;

-- ------------------------------------------------------------------ reading

-- name: steps
SELECT at / ?4 * ?4, sum(covered), :sums FROM series
WHERE job = (SELECT id FROM job WHERE name = ?1) AND step IN (20, 3600) AND at >= ?2 AND at < ?3
GROUP BY 1;

-- name: gauges
SELECT at / ?4 * ?4, name, avg(value) FROM gauge
WHERE job = (SELECT id FROM job WHERE name = ?1) AND step IN (20, 3600) AND at >= ?2 AND at < ?3
GROUP BY 1, 2;

-- name: hours
SELECT hour, who, label, value FROM hourly
WHERE job = (SELECT id FROM job WHERE name = ?1) AND kind = ?2
    AND hour IN (SELECT value FROM json_each(?3)) AND who IN (SELECT value FROM json_each(?4));

-- name: reasons
SELECT hour, who, label, value FROM hourly
WHERE job = (SELECT id FROM job WHERE name = ?1) AND kind = 'reason' AND hour >= ?2;

-- name: failures
-- Those that failed most for one reason in one hour.
SELECT who, value FROM hourly
WHERE job = (SELECT id FROM job WHERE name = ?1) AND kind = ?2 AND label = ?3 AND hour = ?4
    AND label <> '' AND who <> '' AND kind <> 'reason'
ORDER BY value DESC LIMIT ?5;

-- name: hosts
SELECT count(DISTINCT who) FROM (
    SELECT who FROM hourly
    WHERE job = (SELECT id FROM job WHERE name = ?1) AND kind = 'host' AND label = ?2 AND hour >= ?3
        AND label <> '' AND who <> '' AND kind <> 'reason'
    LIMIT ?4
);

-- ------------------------------------------------------------------ folding

-- name: fold_series
-- What comes later, of a lease that was lost, is added.
INSERT INTO series (job, step, at, covered, :columns)
SELECT job.id, 3600, at / 3600 * 3600, sum(covered), :sums
FROM job CROSS JOIN series ON series.job = job.id AND step = 20 AND at < ?1
WHERE true
GROUP BY 1, 3
ON CONFLICT (job, step, at) DO UPDATE SET covered = min(3600, covered + excluded.covered), :added;

-- name: fold_gauges
INSERT INTO gauge (job, step, at, name, value)
SELECT job.id, 3600, at / 3600 * 3600, gauge.name, CAST(round(avg(value)) AS INTEGER)
FROM job CROSS JOIN gauge ON gauge.job = job.id AND step = 20 AND at < ?1
WHERE true
GROUP BY 1, 3, 4
ON CONFLICT DO NOTHING;

-- name: drop_series
DELETE FROM series WHERE job IN (SELECT id FROM job) AND step = 20 AND at < ?1;

-- name: drop_gauges
DELETE FROM gauge WHERE job IN (SELECT id FROM job) AND step = 20 AND at < ?1;

-- name: drop_hourly
DELETE FROM hourly WHERE job IN (SELECT id FROM job) AND kind IN ('host', 'proxy') AND hour < ?1 AND who <> '';
