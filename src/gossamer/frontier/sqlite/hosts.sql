-- The statements of gossamer.frontier.sqlite.hosts.
-- Lists come as one JSON array, rows at `:rows` (gossamer.drivers.sql.write_rows).

-- name: by_id
SELECT host.id, host.name, coalesce(pace.state, '{}'), coalesce(pace.waiting, '{}'), host_pace.state
FROM host LEFT JOIN pace ON pace.host = host.id LEFT JOIN host_pace ON host_pace.name = host.name
WHERE host.id IN (SELECT value FROM json_each(?));

-- name: by_name
SELECT host.id, host.name, coalesce(pace.state, '{}'), coalesce(pace.waiting, '{}'), host_pace.state
FROM host LEFT JOIN pace ON pace.host = host.id LEFT JOIN host_pace ON host_pace.name = host.name
WHERE host.frontier = ? AND host.name IN (SELECT value FROM json_each(?));

-- name: all
SELECT id FROM host WHERE frontier = ?;

-- name: add
INSERT INTO host (frontier, name) VALUES :rows;

-- name: save
REPLACE INTO pace (host, state, waiting) VALUES :rows;

-- name: beside
-- Hosts as other frontiers have them, which were alone in the file until now.
SELECT host.name, host.frontier, pace.state FROM host JOIN pace ON pace.host = host.id
WHERE host.frontier IN (SELECT value FROM json_each(?)) AND host.name IN (SELECT value FROM json_each(?));

-- name: claimed
-- Hosts at which a job had requests in flight at a time, but for those that it has asked since.
SELECT host.frontier, host.name, pace.state, host_pace.state
FROM lease JOIN frontier ON frontier.id = lease.frontier
    JOIN host ON host.id = lease.host JOIN pace ON pace.host = host.id
    LEFT JOIN host_pace ON host_pace.name = host.name
WHERE frontier.job = ?
GROUP BY host.id HAVING max(lease.granted_at) <= ?;

-- name: publish
REPLACE INTO host_pace (name, state) VALUES :rows;

-- name: close_turns
INSERT INTO closed_turn (frontier, lane, band, next_at, host) VALUES :rows;

-- name: open_turns
INSERT INTO turn (frontier, lane, band, next_at, host) VALUES :rows;
