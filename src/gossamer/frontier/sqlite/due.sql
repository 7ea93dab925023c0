-- The statements of gossamer.frontier.sqlite.due: each reads a bounded number of rows of an index.

-- name: in_turn
-- The first hosts that may be asked now.
SELECT turn.host FROM json_each('[0,1,2,3,4,5,6,7,8]') AS bands CROSS JOIN turn
WHERE turn.frontier = ? AND turn.lane = ? AND turn.band = bands.value AND turn.next_at <= ?
LIMIT ?;

-- name: come_due
-- The first delayed requests that are due, by host.
SELECT host, count(*), min(due_at) FROM (
    SELECT host, due_at FROM delayed WHERE frontier = ? AND lane = ? AND due_at <= ? ORDER BY due_at LIMIT ?
) GROUP BY host;
