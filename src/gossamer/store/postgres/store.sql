-- The store's statements in PostgreSQL. Tables and their reasons: migrations/0001_start.sql.
-- Rows come as one array per column (unnest), so that a statement is the same for any number of them.

-- ------------------------------------------------------------------ writing

-- name: write
-- A batch, as one statement: one round trip, one transaction. Nothing of it is done when its receipt is there
-- already. Batches that meet lock rows in one order (receipt, items by key, pages by fingerprint, totals, hours,
-- series), and the rows that all of them share come last. `mark_stale` keeps to that order, too.
WITH receipt_ AS (
    INSERT INTO receipt AS r (writer, batch) VALUES ($1, $2)
    ON CONFLICT (writer) DO UPDATE SET batch = excluded.batch, at = now() WHERE r.batch < excluded.batch
    RETURNING 1
),
found AS (  -- numbered in the order in which they were found
    SELECT nextval('item_id_seq') AS id, i.*
    FROM receipt_, unnest(
        $9::text[], $10::text[], $11::bigint[], $12::float8[], $13::float8[], $14::text[], $15::text[],
        $16::bytea[], $17::boolean[]
    ) AS i (type, key, hash, first_at, at, url, data, layout, is_altered)
),
upserted AS (
    INSERT INTO item AS old (
        id, spider, type, key, hash, first_seen, last_seen, changed_at, keeps_history, is_altered, url, data,
        layout, job, is_followed
    )
    SELECT id, $5, type, key, hash, first_at, at, at, $7, is_altered, url, data::jsonb, layout, $3, $62
    FROM found ORDER BY type, key
    ON CONFLICT (spider, type, key) DO UPDATE SET
        last_seen = greatest(old.last_seen, excluded.last_seen),
        keeps_history = excluded.keeps_history,
        is_followed = excluded.is_followed,
        (hash, changed_at, is_altered, url, data, layout, job) = (
            -- Only what is newer and differs, and only when the last change is long enough ago.
            SELECT
                CASE WHEN news THEN excluded.hash ELSE old.hash END,
                CASE WHEN news THEN excluded.changed_at ELSE old.changed_at END,
                CASE WHEN news THEN excluded.is_altered ELSE old.is_altered END,
                CASE WHEN news THEN excluded.url ELSE old.url END,
                CASE WHEN news THEN excluded.data ELSE old.data END,
                CASE WHEN news THEN excluded.layout ELSE old.layout END,
                CASE WHEN news OR old.job = excluded.job THEN excluded.job ELSE 0 END
            FROM (
                SELECT excluded.hash <> old.hash AND excluded.last_seen >= old.last_seen
                    AND excluded.last_seen >= old.changed_at + $6
            ) AS n (news)
        )
    -- What is as it was costs no row, but for a time that is due, and for one that this statement does not see yet:
    -- it could not be looked up below.
    WHERE old.hash <> excluded.hash OR old.job NOT IN (0, excluded.job)
        OR excluded.last_seen > old.last_seen + $61::float8
        OR NOT EXISTS (SELECT 1 FROM item seen WHERE seen.id = old.id)
    RETURNING id, hash, type, key
),
met AS (
    SELECT id, hash FROM upserted
    UNION ALL
    SELECT i.id, f.hash FROM found f JOIN item i ON i.spider = $5 AND i.type = f.type AND i.key = f.key
    WHERE NOT EXISTS (SELECT 1 FROM upserted u WHERE u.type = f.type AND u.key = f.key)
),
sighted AS (  -- a row that was inserted and not updated has no xmax
    INSERT INTO sighting AS s (job, item, hash) SELECT $3, id, hash FROM met
    ON CONFLICT (job, item) DO UPDATE SET hash = excluded.hash WHERE s.hash <> excluded.hash
    RETURNING s.xmax = 0 AS is_new
),
paged AS (
    INSERT INTO page AS old (
        job, fingerprint, visit, at, status, depth, size_bytes, content_type, title, url, items
    )
    SELECT $3, p.fingerprint,
        -- What was asked for on purpose and is done again after its worker was lost is the visit before.
        CASE WHEN p.is_again THEN coalesce(
            (SELECT max(q.visit) FROM page q WHERE q.job = $3 AND q.fingerprint = p.fingerprint AND q.visit > 0),
            p.visit
        ) ELSE p.visit END,
        p.at, p.status, p.depth, p.size_bytes, p.content_type, p.title, p.url, p.items
    FROM receipt_, unnest(
        $18::bigint[], $19::bigint[], $20::boolean[], $21::float8[], $22::int[], $23::int[], $24::bigint[],
        $25::text[], $26::text[], $27::text[], $60::int[]
    ) AS p (fingerprint, visit, is_again, at, status, depth, size_bytes, content_type, title, url, items)
    ORDER BY p.fingerprint, p.visit
    ON CONFLICT (job, fingerprint, visit) DO UPDATE SET
        times = old.times + 1, at = excluded.at, status = excluded.status, depth = excluded.depth,
        size_bytes = excluded.size_bytes, content_type = excluded.content_type, title = excluded.title,
        url = excluded.url, items = excluded.items
    WHERE excluded.at >= old.at
    RETURNING times
),
tried AS (
    INSERT INTO attempt (
        job, fingerprint, at, attempt, status, depth, size_bytes, elapsed_ms, wire_bytes, cost, verdict, reason,
        rung, worker, url, via, detail, method, proxy, session, address, flags, request
    )
    SELECT $3, a.*
    FROM receipt_, unnest(
        $28::bigint[], $29::float8[], $30::int[], $31::int[], $32::int[], $33::bigint[], $34::float8[],
        $35::bigint[], $36::float8[], $37::text[], $38::text[], $39::text[], $40::text[], $41::text[],
        $42::text[], $43::text[], $44::text[], $45::text[], $46::text[], $47::text[], $48::text[], $49::text[]
    ) AS a
),
:sampled
counted AS (
    SELECT c.name, c.value
    FROM receipt_, unnest($50::text[], $51::bigint[]) AS c (name, value)
    UNION ALL SELECT 'items', (SELECT count(*) FROM sighted WHERE is_new)
    UNION ALL SELECT 'duplicates', $8::bigint - (SELECT count(*) FROM sighted WHERE is_new) FROM receipt_
    UNION ALL SELECT 'pages', (SELECT count(*) FROM paged WHERE times = 1)
),
timed AS (
    -- `:cells` are the counters of bucket i; pages and items, of which only now is known what is new, stand where
    -- the latest attempt is.
    INSERT INTO series (job, step, at, slot, :columns)
    SELECT $3, 20, ($53::bigint[])[i], $4::smallint % 4, :cells
    FROM receipt_, generate_subscripts($53::bigint[], 1) AS i ORDER BY i
    ON CONFLICT (job, step, at, slot) DO UPDATE SET :added
),
hours AS (
    INSERT INTO hourly AS h (job, kind, hour, who, label, slot, value)
    SELECT $3, c.kind, c.hour, c.who, c.label, $4::smallint % 4, c.value
    FROM receipt_, unnest($55::text[], $56::bigint[], $57::text[], $58::text[], $59::bigint[])
        AS c (kind, hour, who, label, value)
    ORDER BY c.kind, c.hour, c.who, c.label
    ON CONFLICT (job, kind, hour, who, label, slot) DO UPDATE SET value = h.value + excluded.value
)
-- Of a value that is the latest one, all writers have one row.
INSERT INTO tally AS t (job, slot, name, value)
SELECT $3, CASE WHEN starts_with(name, 'stat:set:') THEN 0 ELSE $4 END, name, value
FROM counted WHERE value <> 0 OR starts_with(name, 'stat:') ORDER BY name
ON CONFLICT (job, slot, name) DO UPDATE SET value = CASE
    WHEN starts_with(t.name, 'expected:') OR starts_with(t.name, 'stat:max:') THEN greatest(t.value, excluded.value)
    WHEN starts_with(t.name, 'stat:min:') THEN least(t.value, excluded.value)
    WHEN starts_with(t.name, 'stat:set:') THEN excluded.value
    ELSE t.value + excluded.value END;

-- name: take_receipt
-- Whoever gets no row has this batch already, or knows it when another try of it is over.
INSERT INTO receipt AS r (writer, batch) VALUES ($1, $2)
ON CONFLICT (writer) DO UPDATE SET batch = excluded.batch, at = now() WHERE r.batch < excluded.batch
RETURNING 1;

-- name: sampled
-- The part of `write` for batches that have examples of what was dropped: the earliest stays in slot 0, the latest
-- in each of the others.
sampled AS (
    INSERT INTO drop_sample AS old (job, reason, slot, stage, type, url, at, data)
    SELECT $3, d.*
    FROM receipt_, unnest(
        $63::text[], $64::smallint[], $65::text[], $66::text[], $67::text[], $68::float8[], $69::bytea[]
    ) AS d (reason, slot, stage, type, url, at, data)
    ORDER BY d.reason, d.slot
    ON CONFLICT (job, reason, slot) DO UPDATE SET
        stage = excluded.stage, type = excluded.type, url = excluded.url, at = excluded.at, data = excluded.data
    WHERE CASE WHEN old.slot = 0 THEN excluded.at < old.at ELSE excluded.at >= old.at END
),

-- name: mark_stale
-- Rows of lost leases, among the latest: they were written a moment ago. The totals follow in the same statement,
-- for those that were not marked already.
WITH marked AS (
    UPDATE attempt AS a SET reason = $3
    FROM unnest($5::bigint[], $6::float8[], $7::text[]) AS s (fingerprint, at, worker)
    WHERE a.job = $1 AND a.id > (SELECT last_value FROM attempt_id) - $4::bigint
        AND a.fingerprint = s.fingerprint AND a.at = s.at AND a.worker = s.worker AND a.reason <> $3
    RETURNING a.fingerprint, a.at, a.worker
),
counted AS (
    SELECT c.name, sum(c.value) AS value
    FROM marked m JOIN unnest($8::bigint[], $9::float8[], $10::text[], $11::text[], $12::bigint[])
        AS c (fingerprint, at, worker, name, value)
        ON (m.fingerprint, m.at, m.worker) = (c.fingerprint, c.at, c.worker)
    GROUP BY c.name
),
timed AS (
    INSERT INTO series AS s (job, step, at, slot, failed, dead)
    SELECT $1, 20, c.bucket, 0, sum(c.failed), sum(c.dead)
    FROM marked m JOIN unnest($13::bigint[], $14::float8[], $15::text[], $16::bigint[], $17::bigint[], $18::bigint[])
        AS c (fingerprint, at, worker, bucket, failed, dead)
        ON (m.fingerprint, m.at, m.worker) = (c.fingerprint, c.at, c.worker)
    GROUP BY c.bucket ORDER BY c.bucket
    ON CONFLICT (job, step, at, slot) DO UPDATE SET
        failed = s.failed + excluded.failed, dead = s.dead + excluded.dead
),
hours AS (
    INSERT INTO hourly AS h (job, kind, hour, who, label, slot, value)
    SELECT $1, c.kind, c.hour, c.who, c.label, 0, sum(c.value)
    FROM marked m JOIN unnest(
        $19::bigint[], $20::float8[], $21::text[], $22::text[], $23::bigint[], $24::text[], $25::text[], $26::bigint[]
    ) AS c (fingerprint, at, worker, kind, hour, who, label, value)
        ON (m.fingerprint, m.at, m.worker) = (c.fingerprint, c.at, c.worker)
    GROUP BY c.kind, c.hour, c.who, c.label ORDER BY c.kind, c.hour, c.who, c.label
    ON CONFLICT (job, kind, hour, who, label, slot) DO UPDATE SET value = h.value + excluded.value
)
INSERT INTO tally AS t (job, slot, name, value)
SELECT $1, $2, name, value FROM counted WHERE value <> 0 ORDER BY name
ON CONFLICT (job, slot, name) DO UPDATE SET value = t.value + excluded.value;

-- name: add_day
-- A partition, in two steps, because a table that is made as a partition locks all readers and writers out.
CREATE TABLE IF NOT EXISTS :name (LIKE attempt INCLUDING ALL);
ALTER TABLE attempt ATTACH PARTITION :name FOR VALUES FROM (:start) TO (:end);

-- name: days
SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'attempt'::regclass ORDER BY c.relname;

-- name: lock_days
SELECT pg_advisory_xact_lock($1);

-- name: do_not_queue
-- Whoever waits to drop a table makes everybody wait behind him: rather give way, and try again.
SET LOCAL lock_timeout = '2s';

-- name: forget_receipts
DELETE FROM receipt WHERE at < now() - interval '1 day';

-- ------------------------------------------------------------------ reading

-- name: items
SELECT id, type, key, data, layout, url, first_seen, last_seen, changed_at
FROM item
WHERE id > $1 AND ($3::text IS NULL OR type = $3) AND ($4::float8 IS NULL OR changed_at >= $4) ORDER BY id LIMIT $2;

-- name: items_of_job
-- With the values that the job saw.
SELECT i.id, i.type, i.key, coalesce(f.data, i.data), CASE WHEN f.item IS NULL THEN i.layout ELSE f.layout END,
    coalesce(f.url, i.url), i.first_seen, coalesce(f.last_seen, i.last_seen), coalesce(f.changed_at, i.changed_at)
FROM sighting s JOIN item i ON i.id = s.item
LEFT JOIN LATERAL (
    SELECT * FROM item_history h WHERE h.item = i.id AND h.hash = s.hash AND s.hash <> i.hash
    ORDER BY h.changed_at DESC LIMIT 1
) f ON true
WHERE s.job = (SELECT id FROM job WHERE name = $5) AND s.item > $1
    AND ($3::text IS NULL OR i.type = $3) AND ($4::float8 IS NULL OR coalesce(f.changed_at, i.changed_at) >= $4)
ORDER BY s.item LIMIT $2;

-- name: attempts
-- The latest of a job, at one of these URLs; NULL is any.
SELECT id, at, url, fingerprint, verdict, reason, detail, attempt, status, size_bytes, elapsed_ms, worker, rung,
    depth, via, method, flags, request, proxy, session, cost, wire_bytes, address
FROM attempt
WHERE job = (SELECT id FROM job WHERE name = $1) AND ($3::text[] IS NULL OR url = ANY ($3))
ORDER BY id DESC LIMIT $2;

-- name: slice
-- Of the newest rows of a job below an id those that fit. What has an index is filled in, and where they are taken from.
SELECT id, at, url, fingerprint, verdict, reason, detail, attempt, status, size_bytes, elapsed_ms, worker, rung,
    depth, via, method, flags, request, proxy, session, cost, wire_bytes, address
FROM (
    SELECT * FROM :source AS attempt WHERE job = (SELECT id FROM job WHERE name = $1) AND :base AND id < $2
    ORDER BY id DESC LIMIT $4
) newest
WHERE ($6::text[] IS NULL OR url = ANY ($6)) AND ($7::int IS NULL OR status = $7)
    AND ($8::bigint IS NULL OR fingerprint = $8) AND ($9::text IS NULL OR verdict = $9)
    AND ($10::text IS NULL OR method = $10)
    AND ($11::text IS NULL OR $11 = ANY (string_to_array(flags, ' ')))
    AND ($12::text IS NULL OR starts_with(rung || '+', $12 || '+'))
    AND ($13::text IS NULL OR proxy = $13)
    AND ($14::float8 IS NULL OR at >= $14) AND ($15::float8 IS NULL OR at < $15)
    AND ($16::int IS NULL OR status >= $16) AND ($17::int IS NULL OR status < $17)
    AND ($18::text IS NULL OR worker = $18) AND ($19::text IS NULL OR strpos(url, '//' || $19) > 0)
ORDER BY id DESC LIMIT $5;

-- name: row_below
-- The newest row of a job below an id, or so many behind it.
SELECT id, at FROM attempt
WHERE job = (SELECT id FROM job WHERE name = $1) AND :base AND id < $2 ORDER BY id DESC LIMIT 1 OFFSET $4;

-- name: tally
SELECT name, (CASE
    WHEN starts_with(name, 'expected:') OR starts_with(name, 'stat:max:') THEN max(value)
    WHEN starts_with(name, 'stat:min:') THEN min(value) ELSE sum(value) END)::bigint FROM tally
WHERE job = (SELECT id FROM job WHERE name = $1) GROUP BY name;

-- name: pages
SELECT visit, url, fingerprint, status, content_type, title, depth, size_bytes, at, items
FROM page WHERE job = (SELECT id FROM job WHERE name = $1) AND (fingerprint, visit) > ($2, $3)
ORDER BY fingerprint, visit LIMIT $4;

-- name: page
SELECT url, fingerprint, status, content_type, title, depth, size_bytes, at, items
FROM page WHERE job = (SELECT id FROM job WHERE name = $1) AND fingerprint = $2
ORDER BY at DESC LIMIT 1;

-- name: samples
SELECT reason, stage, type, url, at, data FROM drop_sample
WHERE job = (SELECT id FROM job WHERE name = $1) AND ($2 = '' OR reason = $2) ORDER BY reason, slot LIMIT $3;

-- ------------------------------------------------------------------ the book of jobs

-- name: lock_slug
SELECT pg_advisory_xact_lock($1, hashtext($2));

-- name: next_number
SELECT coalesce(max(number), 0) + 1 FROM job WHERE slug = $1;

-- name: job_number
SELECT id FROM job WHERE name = $1;

-- name: add_job
INSERT INTO job (
    name, slug, number, spider, target, created_at, state, finished_at, finish_reason, end_error, key, plan
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (name) DO NOTHING;

-- name: update_job
UPDATE job SET state = $2, finished_at = $3, finish_reason = $4, end_error = $5 WHERE name = $1 RETURNING id;

-- name: update_job_if
UPDATE job SET state = $2, finished_at = $3, finish_reason = $4, end_error = $5
WHERE name = $1 AND state = $6 AND finished_at IS NOT DISTINCT FROM $7 RETURNING id;

-- name: update_plan
UPDATE job SET plan = $2 WHERE name = $1;

-- name: job_by_key
SELECT name, spider, target, created_at, state, finished_at, finish_reason, end_error, key, plan
FROM job WHERE key = $1;

-- name: job_by_name
SELECT name, spider, target, created_at, state, finished_at, finish_reason, end_error, key, plan
FROM job WHERE name = $1;

-- name: latest_job
SELECT name, spider, target, created_at, state, finished_at, finish_reason, end_error, key, plan
FROM job WHERE spider = $1 ORDER BY id DESC LIMIT 1;

-- name: jobs
SELECT name, spider, target, created_at, state, finished_at, finish_reason, end_error, key, plan
FROM job ORDER BY id DESC;

-- name: unfinished_jobs
SELECT name, spider, target, created_at, state, finished_at, finish_reason, end_error, key, plan
FROM job WHERE state IN ('running', 'paused') AND finished_at IS NULL ORDER BY id DESC;

-- name: make_identity
INSERT INTO identity (one, id) VALUES (1, $1) ON CONFLICT (one) DO NOTHING;

-- name: identity
SELECT id FROM identity;

-- name: fleet_job_under_way
SELECT name, spider, target, created_at, state, finished_at, finish_reason, end_error, key, plan
FROM job WHERE spider = $1 AND state IN ('running', 'paused') AND finished_at IS NULL AND length(plan) > 0
ORDER BY id DESC LIMIT 1;

-- ------------------------------------------------------------------ what a person changed of a job

-- name: changes
SELECT record FROM job_setting WHERE job = $1 ORDER BY key COLLATE "C";

-- name: save_change
INSERT INTO job_setting (job, key, record) VALUES ($1, $2, $3)
ON CONFLICT (job, key) DO UPDATE SET record = excluded.record;

-- name: put_back
DELETE FROM job_setting WHERE job = $1 AND key = ANY ($2::text[]);

-- name: launch
SELECT record FROM launch WHERE job = $1;

-- name: save_launch
INSERT INTO launch (job, record) VALUES ($1, $2) ON CONFLICT (job) DO UPDATE SET record = excluded.record;
