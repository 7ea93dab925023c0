-- What a person asks of a frontier. `:which` is the filter built by gossamer.frontier.sqlite_desk.

-- name: find
SELECT request.state, host.name, request.fingerprint, request.due_at, request.attempts, request.reason,
    request.record, host.next_at, host.delay_s, host.in_flight, host.crawl_delay_s, host.incidents,
    host.silences, host.incident_at, host.pages,
    host.last_at, host.hold_until
FROM seen LEFT JOIN request ON request.id = seen.request LEFT JOIN host ON host.id = request.host
WHERE seen.frontier = (SELECT id FROM frontier WHERE job = ?) AND seen.fingerprint = ?;

-- name: hosts
SELECT host.name, count(*), host.next_at, host.delay_s, host.in_flight, host.crawl_delay_s,
    host.incidents, host.silences, host.incident_at, host.pages,
    host.last_at, host.hold_until
FROM request INDEXED BY request_pending JOIN host ON host.id = request.host
WHERE request.state = 0 AND host.frontier = (SELECT id FROM frontier WHERE job = ?)
GROUP BY request.host ORDER BY count(*) DESC, request.host LIMIT ?;

-- name: dead
SELECT request.id, host.name, request.fingerprint, request.due_at, request.reason, request.attempts,
    request.died_at, request.record
FROM request JOIN host ON host.id = request.host
WHERE request.state = 3 AND request.frontier = (SELECT id FROM frontier WHERE job = ?) :which
ORDER BY request.died_at, request.id LIMIT ?;

-- name: chosen
SELECT request.id, request.host FROM request JOIN host ON host.id = request.host
WHERE request.state = 3 AND request.frontier = (SELECT id FROM frontier WHERE job = ?) :which;

-- name: revive
UPDATE request SET state = 0, attempts = 0, failures = 0, throttled = 0, expiries = 0, reason = '', died_at = 0
WHERE id IN (SELECT value FROM json_each(?));
