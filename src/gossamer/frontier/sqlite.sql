-- The frontier's statements. Tables, states and indexes: gossamer/disk/migrations/0001_start.sql.
-- Lists come as one JSON array, rows at `:rows` (gossamer.disk.sql.bulk).

-- name: open
INSERT INTO frontier (job, state, rules) VALUES (?, ?, ?) ON CONFLICT (job) DO NOTHING;

-- name: frontier
SELECT id, state, rules, next_token, pending, delayed, leased, done, dead, pages, duplicates, too_deep, hosts
FROM frontier WHERE job = ?;

-- name: save_frontier
UPDATE frontier SET
    state = ?, rules = ?, next_token = ?, pending = ?, delayed = ?, leased = ?, done = ?, dead = ?,
    pages = ?, duplicates = ?, too_deep = ?, hosts = ?
WHERE id = ?;

-- ------------------------------------------------------------------ hosts and turns

-- name: hosts_by_id
SELECT id, name, next_at, delay_s, in_flight, crawl_delay_s, incidents, silences, incident_at, pages,
    last_at, hold_until
FROM host WHERE id IN (SELECT value FROM json_each(?));

-- name: hosts_by_name
SELECT id, name, next_at, delay_s, in_flight, crawl_delay_s, incidents, silences, incident_at, pages,
    last_at, hold_until
FROM host WHERE frontier = ? AND name IN (SELECT value FROM json_each(?));

-- name: add_hosts
INSERT INTO host (frontier, name) VALUES :rows;

-- name: save_hosts
WITH fresh (id, next_at, delay_s, in_flight, crawl_delay_s, incidents, silences, incident_at, pages,
    last_at, hold_until) AS (VALUES :rows)
UPDATE host SET
    next_at = fresh.next_at, delay_s = fresh.delay_s, in_flight = fresh.in_flight,
    crawl_delay_s = fresh.crawl_delay_s, incidents = fresh.incidents, silences = fresh.silences,
    incident_at = fresh.incident_at, pages = fresh.pages, last_at = fresh.last_at,
    hold_until = fresh.hold_until
FROM fresh WHERE host.id = fresh.id;

-- name: close_turns
DELETE FROM turn WHERE host IN (SELECT value FROM json_each(?));

-- name: open_turns
-- For each host the lanes it has pending requests in, found by skipping from lane to lane.
WITH RECURSIVE waiting (host, lane) AS (
    SELECT value, (SELECT min(lane) FROM request WHERE host = value AND state = 0) FROM json_each(?)
    UNION ALL
    SELECT host, (
        SELECT min(request.lane) FROM request
        WHERE request.host = waiting.host AND request.state = 0 AND request.lane > waiting.lane
    )
    FROM waiting WHERE lane IS NOT NULL
)
INSERT INTO turn (frontier, lane, band, next_at, host)
SELECT host.frontier, waiting.lane, (
    SELECT min(band) FROM request
    WHERE request.host = waiting.host AND request.lane = waiting.lane AND request.state = 0
), host.next_at, host.id
FROM waiting JOIN host ON host.id = waiting.host
WHERE waiting.lane IS NOT NULL;

-- name: all_hosts
SELECT id FROM host WHERE frontier = ?;

-- name: next_turn
SELECT min(next_at) FROM (
    SELECT (SELECT min(next_at) FROM turn WHERE frontier = ?1 AND lane = ?2 AND band = value) AS next_at
    FROM json_each('[0,1,2,3,4,5,6,7,8]')
);

-- name: next_due
SELECT min(due_at) FROM request WHERE frontier = ? AND lane = ? AND state = 1;

-- name: next_deadline
SELECT min(deadline) FROM request WHERE frontier = ? AND state = 2;

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
        SELECT (SELECT min(lane) FROM request WHERE frontier = ?1 AND state = 1)
        UNION ALL
        SELECT (
            SELECT min(request.lane) FROM request
            WHERE frontier = ?1 AND state = 1 AND request.lane > later.lane
        )
        FROM later WHERE lane IS NOT NULL
    )
SELECT lane FROM ready WHERE lane IS NOT NULL UNION SELECT lane FROM later WHERE lane IS NOT NULL;

-- ------------------------------------------------------------------ adding

-- name: known
SELECT fingerprint FROM seen WHERE frontier = ? AND fingerprint IN (SELECT value FROM json_each(?));

-- name: take_ids
UPDATE next_request SET id = id + ? RETURNING id;

-- name: see
INSERT INTO seen (frontier, fingerprint, request) VALUES :rows
ON CONFLICT (frontier, fingerprint) DO UPDATE SET request = excluded.request;

-- name: admit
INSERT INTO request (id, frontier, host, state, lane, band, fingerprint, due_at, record) VALUES :rows;

-- ------------------------------------------------------------------ leasing

-- name: ready
-- The hosts that may start now: best band first, in a band who may start first.
SELECT turn.band, host.id, host.name, host.next_at, host.delay_s, host.in_flight, host.crawl_delay_s,
    host.incidents, host.silences, host.incident_at, host.pages,
    host.last_at, host.hold_until
FROM turn JOIN host ON host.id = turn.host
WHERE turn.frontier = ? AND turn.lane = ? AND turn.band = ? AND turn.next_at <= ?
ORDER BY turn.next_at, turn.host LIMIT ?;

-- name: heads
-- The first requests of each of some hosts.
SELECT request.host, request.band, request.id, fingerprint, due_at, attempts, failures, throttled, expiries,
    record
FROM json_each(?1) AS wanted CROSS JOIN request ON request.id IN (
    SELECT waiting.id FROM request AS waiting
    WHERE waiting.host = wanted.value AND waiting.lane = ?2 AND waiting.state = 0
    ORDER BY waiting.band, waiting.id LIMIT ?3
);

-- name: next_heads
SELECT host, band, id, fingerprint, due_at, attempts, failures, throttled, expiries, record
FROM request WHERE host = ? AND lane = ? AND state = 0 AND (band, id) > (?, ?)
ORDER BY band, id LIMIT ?;

-- name: grant
WITH granted (id, token, granted_at, start_by, deadline) AS (VALUES :rows)
UPDATE request SET
    state = 2, token = granted.token, granted_at = granted.granted_at, start_by = granted.start_by,
    deadline = granted.deadline
FROM granted WHERE request.id = granted.id;

-- name: overdue
SELECT id, host, band, token, granted_at, start_by, deadline, attempts, failures, throttled, expiries,
    fingerprint, due_at, record
FROM request WHERE frontier = ? AND state = 2 AND deadline <= ? ORDER BY deadline, token LIMIT ?;

-- name: come_due
UPDATE request SET state = 0 WHERE id IN (
    SELECT id FROM request WHERE frontier = ? AND lane = ? AND state = 1 AND due_at <= ?
    ORDER BY due_at, id LIMIT ?
) RETURNING host;

-- ------------------------------------------------------------------ ending leases

-- name: leased
SELECT token, id, host, fingerprint, attempts, failures, throttled
FROM request WHERE frontier = ? AND state = 2 AND token IN (SELECT value FROM json_each(?));

-- name: forget
DELETE FROM request WHERE id IN (SELECT value FROM json_each(?));

-- name: retry
WITH again (id, due_at, attempts, failures, throttled, reason) AS (VALUES :rows)
UPDATE request SET
    state = 1, due_at = again.due_at, attempts = again.attempts, failures = again.failures,
    throttled = again.throttled, reason = again.reason
FROM again WHERE request.id = again.id;

-- name: bury
WITH given_up (id, attempts, died_at, reason) AS (VALUES :rows)
UPDATE request SET
    state = 3, attempts = given_up.attempts, died_at = given_up.died_at, reason = given_up.reason
FROM given_up WHERE request.id = given_up.id;

-- name: expire
-- Delayed (1), or dead (3).
WITH lost (id, state, due_at, died_at, reason) AS (VALUES :rows)
UPDATE request SET
    state = lost.state, due_at = lost.due_at, died_at = lost.died_at, reason = lost.reason,
    expiries = expiries + 1, attempts = attempts + 1
FROM lost WHERE request.id = lost.id;

-- name: release
UPDATE request SET state = 0 WHERE id IN (SELECT value FROM json_each(?));

-- name: extend
UPDATE request SET deadline = ? WHERE id IN (SELECT value FROM json_each(?));
