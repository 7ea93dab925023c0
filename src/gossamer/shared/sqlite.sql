-- What processes share, in the SQLite file.

-- name: get_shared
SELECT value FROM shared WHERE space = ? AND key = ? AND value IS NOT NULL AND expires_at > ?;

-- name: put_shared
INSERT INTO shared (space, key, value, expires_at, claimed_until) VALUES (?, ?, ?, ?, 0)
ON CONFLICT (space, key) DO UPDATE SET
    value = excluded.value, expires_at = excluded.expires_at, claimed_until = 0;

-- name: claim_shared
INSERT INTO shared (space, key, claimed_until, claimed_by) VALUES (?, ?, ?, ?)
ON CONFLICT (space, key) DO UPDATE SET
    claimed_until = excluded.claimed_until, claimed_by = excluded.claimed_by;

-- name: claimant
SELECT claimed_by FROM shared WHERE space = ? AND key = ? AND claimed_until > ?;

-- name: sweep_shared
-- A few of those that nobody can see any more, each time something is put: the table stays small.
DELETE FROM shared WHERE (space, key) IN (
    SELECT space, key FROM shared WHERE max(expires_at, claimed_until) <= ? LIMIT 8
);
