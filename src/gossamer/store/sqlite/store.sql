-- The store's statements. Tables and indexes: gossamer/drivers/sqlite/migrations/0001_start.sql.
-- Lists come as one JSON array, rows at `:rows` (gossamer.drivers.sql.write_rows).

-- ------------------------------------------------------------------ writing

-- name: upsert_items
-- Data, its hash and its page only when the content differs, is newer, and the last change is long enough ago;
-- `last_seen` always; `first_seen` never. `job` is 0 once a second job sees the same value. Triggers keep the former
-- value, if other jobs saw it or all are kept, and note the change, if there are outputs.
INSERT INTO item (spider, type, key, hash, first_seen, last_seen, changed_at, url, data, job:followed) VALUES :rows
ON CONFLICT (spider, type, key) DO UPDATE SET
    keeps_history = :keeps_history, is_followed = :is_followed,
    job = iif(job = excluded.job OR :is_news, excluded.job, 0),
    last_seen = max(last_seen, excluded.last_seen),
    changed_at = iif(:is_news, excluded.changed_at, changed_at),
    url = iif(:is_news, excluded.url, url),
    data = iif(:is_news, excluded.data, data),
    hash = iif(:is_news, excluded.hash, hash)
RETURNING id, hash;

-- name: is_news
hash <> excluded.hash AND excluded.last_seen >= last_seen AND excluded.last_seen >= changed_at + :min_interval;

-- name: hashes
SELECT id, hash FROM item WHERE id IN (SELECT value FROM json_each(?));

-- name: sight
INSERT INTO sighting (job, item, hash) VALUES :rows ON CONFLICT DO NOTHING;

-- name: sight_again
-- Of those that were there: which value it is now.
INSERT INTO sighting (job, item, hash) VALUES :rows
ON CONFLICT (job, item) DO UPDATE SET hash = excluded.hash WHERE hash <> excluded.hash;

-- name: add_pages
-- Of leases that are settled in the same transaction.
INSERT INTO page (job, fingerprint, at, status, depth, size_bytes, items, content_type, title, url)
VALUES :rows;

-- name: upsert_pages
-- Of leases that are settled later, and somewhere else. `times` is 1 for one that is new.
INSERT INTO page (job, fingerprint, at, status, depth, size_bytes, items, content_type, title, url, visit) VALUES :rows
ON CONFLICT (job, fingerprint, visit) WHERE visit IS NOT NULL DO UPDATE SET
    times = times + 1, at = excluded.at, status = excluded.status, depth = excluded.depth,
    size_bytes = excluded.size_bytes, items = excluded.items, content_type = excluded.content_type,
    title = excluded.title, url = excluded.url
WHERE excluded.at >= at
RETURNING times;

-- name: latest_visit
SELECT max(visit) FROM page WHERE job = ? AND fingerprint = ? AND visit > 0;

-- name: add_attempts
INSERT INTO attempt (
    job, fingerprint, at, attempt, status, depth, size_bytes, elapsed_ms, verdict, reason, rung, worker,
    url, via, detail, method, proxy, session, address, flags, request, cost, wire_bytes
) VALUES :rows;

-- name: keep_samples
-- The earliest stays in slot 0, the latest in each of the others.
INSERT INTO drop_sample (job, reason, slot, stage, type, url, at, data) VALUES :rows
ON CONFLICT (job, reason, slot) DO UPDATE SET
    stage = excluded.stage, type = excluded.type, url = excluded.url, at = excluded.at, data = excluded.data
WHERE iif(slot = 0, excluded.at < at, excluded.at >= at);

-- name: mark_stale
-- Among the latest rows: it was written a moment ago.
UPDATE attempt SET reason = ?5
WHERE job = ?1 AND id > (SELECT max(id) FROM attempt) - ?6
    AND fingerprint = ?2 AND at = ?3 AND worker = ?4 AND reason <> ?5;

-- name: prune_part
-- Where a part of the rows ends, how many those are, and how many of them are neither old nor of the future.
SELECT max(id), count(*), total(at BETWEEN ?3 AND ?4)
FROM (SELECT id, at FROM attempt WHERE id > ?1 ORDER BY id LIMIT ?2);

-- name: prune
DELETE FROM attempt WHERE id > ? AND id <= ? AND at < ?;

-- name: count
INSERT INTO tally (job, name, value) VALUES :rows
ON CONFLICT (job, name) DO UPDATE SET value = CASE
    WHEN name GLOB 'expected:*' OR name GLOB 'stat:max:*' THEN max(value, excluded.value)
    WHEN name GLOB 'stat:min:*' THEN min(value, excluded.value)
    WHEN name GLOB 'stat:set:*' THEN excluded.value
    ELSE value + excluded.value END;

-- ------------------------------------------------------------------ reading

-- name: items
SELECT id, type, key, data, url, first_seen, last_seen, changed_at
FROM item WHERE id > ?1 AND (?3 IS NULL OR type = ?3) AND (?4 IS NULL OR changed_at >= ?4) ORDER BY id LIMIT ?2;

-- name: items_of_job
-- With the values that the job saw.
SELECT item.id, type, item.key, coalesce(former.data, item.data), coalesce(former.url, item.url), first_seen,
    coalesce(former.last_seen, item.last_seen), coalesce(former.changed_at, item.changed_at)
FROM sighting JOIN item ON item.id = sighting.item
LEFT JOIN item_history AS former ON former.rowid = (
    SELECT rowid FROM item_history AS h
    WHERE h.item = item.id AND h.hash = sighting.hash AND sighting.hash <> item.hash
    ORDER BY h.changed_at DESC LIMIT 1
)
WHERE sighting.job = (SELECT id FROM job WHERE name = ?5) AND sighting.item > ?1
    AND (?3 IS NULL OR type = ?3) AND (?4 IS NULL OR coalesce(former.changed_at, item.changed_at) >= ?4)
ORDER BY sighting.item LIMIT ?2;

-- name: attempts
SELECT at, url, fingerprint, verdict, reason, detail, attempt, status, size_bytes, elapsed_ms, worker, rung,
    depth, via, method, flags, request, proxy, session, cost, wire_bytes, address
FROM attempt
WHERE job = (SELECT id FROM job WHERE name = ?1) AND (?2 IS NULL OR url = ?2)
ORDER BY id DESC LIMIT ?3;

-- name: tally
SELECT tally.name, tally.value FROM tally JOIN job ON job.id = tally.job WHERE job.name = ?;

-- ------------------------------------------------------------------ the job book

-- name: job_number
SELECT id FROM job WHERE name = ?;

-- name: next_number
SELECT coalesce(max(number), 0) + 1 FROM job WHERE slug = ?;

-- name: add_job
INSERT INTO job (
    name, slug, number, spider, target, created_at, state, finished_at, finish_reason, end_error, key, plan
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: job_by_key
SELECT name, spider, target, created_at, state, finished_at, finish_reason, end_error, key, plan
FROM job WHERE key = ?;

-- name: update_job
UPDATE job SET state = ?, finished_at = ?, finish_reason = ?, end_error = ? WHERE name = ?;

-- name: update_job_if
UPDATE job SET state = ?, finished_at = ?, finish_reason = ?, end_error = ?
WHERE name = ? AND state = ? AND finished_at IS ?;

-- name: update_plan
UPDATE job SET plan = ? WHERE name = ?;

-- name: job_by_name
SELECT name, spider, target, created_at, state, finished_at, finish_reason, end_error, key, plan
FROM job WHERE name = ?;

-- name: latest_job
SELECT name, spider, target, created_at, state, finished_at, finish_reason, end_error, key, plan
FROM job WHERE spider = ? ORDER BY id DESC LIMIT 1;

-- name: jobs
SELECT name, spider, target, created_at, state, finished_at, finish_reason, end_error, key, plan
FROM job ORDER BY id DESC;

-- name: unfinished_jobs
SELECT name, spider, target, created_at, state, finished_at, finish_reason, end_error, key, plan
FROM job WHERE state IN ('running', 'paused') AND finished_at IS NULL ORDER BY id DESC;

-- name: make_identity
INSERT INTO identity (one, id) VALUES (1, ?) ON CONFLICT (one) DO NOTHING;

-- name: identity
SELECT id FROM identity;

-- name: fleet_job_under_way
SELECT name, spider, target, created_at, state, finished_at, finish_reason, end_error, key, plan
FROM job WHERE spider = ? AND state IN ('running', 'paused') AND finished_at IS NULL AND length(plan) > 0
ORDER BY id DESC LIMIT 1;

-- ------------------------------------------------------------------ what a person changed of a job

-- name: changes
SELECT record FROM job_setting WHERE job = ? ORDER BY key;

-- name: save_change
REPLACE INTO job_setting (job, key, record) VALUES (?, ?, ?);

-- name: put_back
DELETE FROM job_setting WHERE job = ? AND key = ?;

-- name: launch
SELECT record FROM launch WHERE job = ?;

-- name: save_launch
REPLACE INTO launch (job, record) VALUES (?, ?);
