-- What `explain` asks of one request beyond its state.

-- name: place
SELECT coalesce(lease.granted_at, 0.0), coalesce(lease.deadline, 0.0), coalesce(dead.died_at, 0.0), entry.id, (
    SELECT count(*) FROM queue
    WHERE queue.host = entry.host AND queue.lane = entry.lane
        AND (queue.band, queue.request) < (entry.band, entry.id)
)
FROM seen JOIN entry ON entry.id = seen.request
    LEFT JOIN lease ON lease.frontier = seen.frontier AND lease.request = entry.id
    LEFT JOIN dead ON dead.request = entry.id
WHERE seen.frontier = ? AND seen.fingerprint = ?;
