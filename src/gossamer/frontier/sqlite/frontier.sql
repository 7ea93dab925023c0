-- The frontier's statements. Tables, states and indexes: gossamer/drivers/sqlite/migrations/0001_start.sql.
-- Lists come as one JSON array, rows at `:rows` (gossamer.drivers.sql.write_rows). What is read for every lease
-- is handed over as one text of lines and tabs (gossamer.frontier.sqlite.session.of_lines).

-- name: open
INSERT INTO frontier (job, state, rules) VALUES (?, ?, ?) ON CONFLICT (job) DO NOTHING;

-- name: frontier
SELECT id, state, rules, next_token, pending, delayed, leased, done, dead, pages, duplicates, too_deep, hosts
FROM frontier WHERE job = ?;

-- name: others
-- Frontiers of other jobs that are worked on, or may be at any time.
SELECT id FROM frontier WHERE state IN ('running', 'paused') AND id <> ?;

-- name: save_frontier
UPDATE frontier SET
    state = ?, rules = ?, next_token = ?, pending = ?, delayed = ?, leased = ?, done = ?, dead = ?,
    pages = ?, duplicates = ?, too_deep = ?, hosts = ?
WHERE id = ?;

-- ------------------------------------------------------------------ adding

-- name: known
SELECT fingerprint FROM seen WHERE frontier = ? AND fingerprint IN (SELECT value FROM json_each(?));

-- name: take_ids
UPDATE next_request SET id = id + ? RETURNING id;

-- name: see
INSERT INTO seen (frontier, fingerprint, request) VALUES :rows
ON CONFLICT (frontier, fingerprint) DO UPDATE SET request = excluded.request;

-- name: admit
INSERT INTO entry (id, host, lane, rank, fingerprint, record) VALUES :rows;

-- name: enqueue
INSERT INTO queue (host, lane, rank, request) VALUES :rows;

-- name: delay
INSERT INTO delayed (frontier, lane, due_at, request, host, rank) VALUES :rows;

-- name: due
INSERT INTO trial (request, due_at) VALUES :rows;

-- ------------------------------------------------------------------ leasing

-- name: ready
-- The hosts that may start now: best band first, in a band who may start first. The order is that of the
-- loops, which CROSS JOIN keeps; asked for, it would have all that are ready sorted each time.
SELECT group_concat(host, char(10)) FROM (
    SELECT turn.host AS host
    FROM json_each('[0,1,2,3,4,5,6,7,8]') AS bands CROSS JOIN turn
    WHERE turn.frontier = ? AND turn.lane = ? AND turn.band = bands.value AND turn.next_at <= ?
    LIMIT ?
);

-- name: heads
-- The first requests of each of some hosts.
SELECT group_concat(format(
    '%d	%d	%d	%d	%d	%s', entry.host, entry.rank, entry.id, entry.fingerprint,
    EXISTS (SELECT 1 FROM trial WHERE request = entry.id), entry.record
), char(10))
FROM json_each(?1) AS wanted CROSS JOIN entry ON entry.id IN (
    SELECT request FROM queue WHERE host = wanted.value AND lane = ?2 ORDER BY rank, request LIMIT ?3
);

-- name: next_heads
SELECT group_concat(format(
    '%d	%d	%d	%d	%d	%s', entry.host, entry.rank, entry.id, entry.fingerprint,
    EXISTS (SELECT 1 FROM trial WHERE request = entry.id), entry.record
), char(10))
FROM entry WHERE id IN (
    SELECT request FROM queue WHERE host = ? AND lane = ? AND (rank, request) > (?, ?)
    ORDER BY rank, request LIMIT ?
);

-- name: trials
SELECT request, due_at, attempts, failures, throttled, expiries FROM trial
WHERE request IN (SELECT value FROM json_each(?));

-- name: grant
-- A trigger takes them from the queue.
INSERT INTO lease (
    frontier, token, request, host, lane, rank, fingerprint, granted_at, start_by, deadline,
    attempts, failures, throttled, expiries, owner
) VALUES :rows;

-- name: next_times
-- The first deadline; in a lane the first time that a delayed request is due, and the first turn.
SELECT
    (SELECT min(deadline) FROM lease WHERE frontier = ?1),
    (SELECT min(due_at) FROM delayed WHERE frontier = ?1 AND lane = ?2),
    (
        SELECT min((SELECT min(next_at) FROM turn WHERE frontier = ?1 AND lane = ?2 AND band = bands.value))
        FROM json_each('[0,1,2,3,4,5,6,7,8]') AS bands
    );

-- name: overdue
-- Of one owner, or (NULL) of all.
SELECT lease.request, lease.host, lease.lane, lease.rank, token, lease.fingerprint, granted_at, start_by,
    deadline, lease.attempts, lease.failures, lease.throttled, lease.expiries, coalesce(trial.due_at, 0.0),
    entry.record
FROM lease JOIN entry ON entry.id = lease.request LEFT JOIN trial ON trial.request = lease.request
WHERE lease.frontier = ?1 AND deadline <= ?2 AND (?4 IS NULL OR owner = ?4)
ORDER BY deadline, token LIMIT ?3;

-- name: expire
DELETE FROM lease WHERE frontier = ? AND token IN (SELECT value FROM json_each(?));

-- name: come_due
SELECT request, host, rank, due_at FROM delayed WHERE frontier = ? AND lane = ? AND due_at <= ?
ORDER BY due_at, request LIMIT ?;

-- name: undelay
DELETE FROM delayed
WHERE frontier = ? AND lane = ? AND due_at <= ? AND request IN (SELECT value FROM json_each(?));

-- name: lanes
-- The lanes in which something waits.
WITH RECURSIVE
    ready (lane) AS (
        SELECT (SELECT min(lane) FROM turn WHERE frontier = ?1)
        UNION ALL
        SELECT (SELECT min(turn.lane) FROM turn WHERE frontier = ?1 AND turn.lane > ready.lane)
        FROM ready WHERE lane IS NOT NULL
    ),
    later (lane) AS (
        SELECT (SELECT min(lane) FROM delayed WHERE frontier = ?1)
        UNION ALL
        SELECT (SELECT min(delayed.lane) FROM delayed WHERE frontier = ?1 AND delayed.lane > later.lane)
        FROM later WHERE lane IS NOT NULL
    )
SELECT lane FROM ready WHERE lane IS NOT NULL UNION SELECT lane FROM later WHERE lane IS NOT NULL;

-- ------------------------------------------------------------------ ending leases

-- name: end
-- The fingerprint is asked too: it may be a lease of another job, whose tokens are like ours.
DELETE FROM lease
WHERE frontier = ? AND token IN (SELECT value FROM json_each(?)) AND (token, fingerprint) IN (
    SELECT value ->> 0, value ->> 1 FROM json_each(?)
)
RETURNING token, request, host, lane, rank, attempts, failures, throttled, expiries;

-- name: held
SELECT token, host FROM lease
WHERE frontier = ? AND token IN (SELECT value FROM json_each(?)) AND (token, fingerprint) IN (
    SELECT value ->> 0, value ->> 1 FROM json_each(?)
);

-- name: extend
UPDATE lease SET deadline = ? WHERE frontier = ? AND token IN (SELECT value FROM json_each(?));

-- name: reroute
UPDATE entry SET lane = ?, rank = ?, record = ? WHERE id = ?;

-- name: forget
DELETE FROM entry WHERE id IN (SELECT value FROM json_each(?));

-- name: forget_trials
DELETE FROM trial WHERE request IN (SELECT value FROM json_each(?));

-- name: try
REPLACE INTO trial (request, due_at, attempts, failures, throttled, expiries, reason) VALUES :rows;

-- name: give_up
INSERT INTO trial (request, attempts, reason) VALUES :rows
ON CONFLICT (request) DO UPDATE SET attempts = excluded.attempts, reason = excluded.reason;

-- name: bury
INSERT INTO dead (request, frontier, died_at) VALUES :rows;
