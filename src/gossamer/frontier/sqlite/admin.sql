-- What a person asks of a frontier. `:which` is the filter built by gossamer.frontier.sqlite.admin.

-- name: find
SELECT
    CASE
        WHEN entry.id IS NULL THEN NULL
        WHEN EXISTS (
            SELECT 1 FROM queue
            WHERE (queue.host, queue.lane, queue.rank) = (entry.host, entry.lane, entry.rank)
                AND queue.request = entry.id
        ) THEN 0
        WHEN EXISTS (
            SELECT 1 FROM delayed
            WHERE (delayed.frontier, delayed.lane, delayed.due_at) = (seen.frontier, entry.lane, trial.due_at)
                AND delayed.request = entry.id
        ) THEN 1
        WHEN EXISTS (SELECT 1 FROM dead WHERE dead.request = entry.id) THEN 3
        ELSE 2
    END,
    host.name, entry.fingerprint, coalesce(trial.due_at, 0.0), coalesce(trial.attempts, 0),
    coalesce(trial.reason, ''), entry.record, pace.state, host_pace.state, entry.id
FROM seen LEFT JOIN entry ON entry.id = seen.request LEFT JOIN trial ON trial.request = entry.id
    LEFT JOIN host ON host.id = entry.host LEFT JOIN pace ON pace.host = entry.host
    LEFT JOIN host_pace ON host_pace.name = host.name
WHERE seen.frontier = (SELECT id FROM frontier WHERE job = ?) AND seen.fingerprint = ?;

-- name: waiting
-- Pending and delayed requests by what is recorded of them.
SELECT * FROM (
    SELECT
        seen.fingerprint, entry.id, entry.host, entry.lane, entry.rank, entry.fingerprint, entry.record,
        coalesce(trial.due_at, 0.0) AS due_at,
        CASE
            WHEN EXISTS (
                SELECT 1 FROM queue
                WHERE (queue.host, queue.lane, queue.rank) = (entry.host, entry.lane, entry.rank)
                    AND queue.request = entry.id
            ) THEN 1
            WHEN EXISTS (
                SELECT 1 FROM delayed
                WHERE (delayed.frontier, delayed.lane, delayed.due_at) = (seen.frontier, entry.lane, trial.due_at)
                    AND delayed.request = entry.id
            ) THEN 0
        END AS is_pending
    FROM seen JOIN entry ON entry.id = seen.request LEFT JOIN trial ON trial.request = entry.id
    WHERE seen.frontier = ? AND seen.fingerprint IN (SELECT value FROM json_each(?))
)
WHERE is_pending IS NOT NULL;

-- name: unqueue
DELETE FROM queue WHERE (host, lane, rank, request) = (?, ?, ?, ?);

-- name: rank_delayed
UPDATE delayed SET rank = ? WHERE frontier = ? AND lane = ? AND due_at = ? AND request = ?;

-- name: raise_entry
UPDATE entry SET rank = ?, record = ? WHERE id = ?;

-- name: place_leased
-- Leases are few.
SELECT granted_at, deadline FROM lease
WHERE frontier = (SELECT frontier FROM host JOIN entry ON entry.host = host.id WHERE entry.id = ?1) AND request = ?1;

-- name: place_dead
SELECT died_at FROM dead WHERE request = ?;

-- name: place_pending
SELECT count(*) FROM entry JOIN queue
    ON queue.host = entry.host AND queue.lane = entry.lane AND (queue.rank, queue.request) < (entry.rank, entry.id)
WHERE entry.id = ?;

-- name: hosts
-- By what each remembers of what waits for it: to count the queue would take as long as it is.
SELECT host.name, waits.number, pace.state, host_pace.state
FROM (
    SELECT pace.host, (SELECT sum(atom) FROM json_tree(pace.waiting) WHERE type = 'integer') AS number
    FROM host JOIN pace ON pace.host = host.id
    WHERE host.frontier = (SELECT id FROM frontier WHERE job = ?) AND pace.waiting <> '{}'
    ORDER BY number DESC, pace.host LIMIT ?
) AS waits
    JOIN host ON host.id = waits.host JOIN pace ON pace.host = waits.host
    LEFT JOIN host_pace ON host_pace.name = host.name
WHERE waits.number > 0
ORDER BY waits.number DESC, waits.host;

-- name: host
SELECT (SELECT count(*) FROM queue WHERE queue.host = host.id), coalesce(pace.state, '{}'), host_pace.state
FROM host LEFT JOIN pace ON pace.host = host.id LEFT JOIN host_pace ON host_pace.name = host.name
WHERE host.frontier = (SELECT id FROM frontier WHERE job = ?) AND host.name = ?;

-- name: dead
SELECT dead.request, host.name, entry.fingerprint, coalesce(trial.due_at, 0.0), trial.reason, trial.attempts,
    dead.died_at, entry.record
FROM dead JOIN entry ON entry.id = dead.request JOIN host ON host.id = entry.host
    JOIN trial ON trial.request = dead.request
WHERE dead.frontier = (SELECT id FROM frontier WHERE job = ?) :which
ORDER BY dead.died_at, dead.request LIMIT ?;

-- name: url
-- Of an entry, as gossamer.frontier.codec packs it.
CASE substr(entry.record, 1, 1)
    WHEN 's' THEN 'https://' || host.name || substr(entry.record, 2, instr(entry.record || char(9), char(9)) - 2)
    WHEN 'p' THEN 'http://' || host.name || substr(entry.record, 2, instr(entry.record || char(9), char(9)) - 2)
    WHEN '=' THEN substr(entry.record, 2, instr(entry.record || char(9), char(9)) - 2)
    ELSE iif(json_valid(substr(entry.record, 7)), json_extract(substr(entry.record, 7), '$.url'), '')
END;

-- name: letters
-- Of the newest dead letters before a place those that fit.
SELECT newest.request, host.name, entry.fingerprint, coalesce(trial.due_at, 0.0), trial.reason, trial.attempts,
    newest.died_at, entry.record
FROM (
    SELECT request, died_at FROM dead
    WHERE frontier = (SELECT id FROM frontier WHERE job = ?1) AND died_at <= ?2
        AND (died_at < ?2 OR request < ?3)
    ORDER BY died_at DESC, request DESC LIMIT ?4
) AS newest
    CROSS JOIN entry ON entry.id = newest.request JOIN host ON host.id = entry.host
    JOIN trial ON trial.request = newest.request
WHERE true :which
ORDER BY newest.died_at DESC, newest.request DESC LIMIT ?;

-- name: letter_below
-- The last of so many before a place.
SELECT died_at, request FROM dead
WHERE frontier = (SELECT id FROM frontier WHERE job = ?1) AND died_at <= ?2 AND (died_at < ?2 OR request < ?3)
ORDER BY died_at DESC, request DESC LIMIT 1 OFFSET ?4;

-- name: count_letters
SELECT trial.reason, count(*)
FROM (
    SELECT request, died_at FROM dead WHERE frontier = (SELECT id FROM frontier WHERE job = ?1)
    ORDER BY died_at DESC LIMIT ?2
) AS newest
    CROSS JOIN entry ON entry.id = newest.request JOIN host ON host.id = entry.host
    JOIN trial ON trial.request = newest.request
WHERE true :which
GROUP BY trial.reason;

-- name: chosen
SELECT entry.host, entry.lane, entry.rank, dead.request
FROM dead JOIN entry ON entry.id = dead.request JOIN host ON host.id = entry.host
    JOIN trial ON trial.request = dead.request
WHERE dead.frontier = (SELECT id FROM frontier WHERE job = ?) :which;

-- name: raise
DELETE FROM dead WHERE request IN (SELECT value FROM json_each(?));

-- name: start_anew
UPDATE trial SET attempts = 0, failures = 0, throttled = 0, expiries = 0, reason = ''
WHERE request IN (SELECT value FROM json_each(?));

-- name: take_out
-- Those that wait, and were not tried since their counts began anew.
DELETE FROM queue WHERE (host, lane, rank, request) IN (
    SELECT entry.host, entry.lane, entry.rank, entry.id
    FROM entry JOIN host ON host.id = entry.host LEFT JOIN trial ON trial.request = entry.id
    WHERE host.frontier = ? AND entry.id IN (SELECT value FROM json_each(?)) AND coalesce(trial.attempts, 0) = 0
)
RETURNING host, lane, rank, request;

-- name: forgotten
-- Requests that are done, and the latest with their fingerprint.
SELECT seen.request FROM seen LEFT JOIN entry ON entry.id = seen.request
WHERE seen.frontier = ? AND entry.id IS NULL AND seen.request IN (SELECT value FROM json_each(?));
