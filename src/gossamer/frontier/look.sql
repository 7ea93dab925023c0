-- What `explain` asks of one request beyond its state.

-- name: place
SELECT request.granted_at, request.deadline, request.died_at, request.id, (
    SELECT count(*) FROM request AS other
    WHERE other.state = 0 AND other.host = request.host AND other.lane = request.lane
        AND (other.band, other.id) < (request.band, request.id)
)
FROM seen JOIN request ON request.id = seen.request
WHERE seen.frontier = ? AND seen.fingerprint = ?;
