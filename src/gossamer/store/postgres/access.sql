-- Tokens and the audit log. Tables: migrations/0007_access.sql.

-- name: add_token
-- A session only where its token is. One that is there already with this digest was added by an earlier try, whose
-- answer was lost.
INSERT INTO token (digest, name, role, made_at, expires_at, is_session)
SELECT $1::bytea, $2::text, $3::text, $4::float8, $5::float8, $6::boolean
WHERE NOT $6 OR EXISTS (SELECT 1 FROM token WHERE name = $2 AND NOT is_session)
ON CONFLICT DO NOTHING;

-- name: is_added
SELECT EXISTS (SELECT 1 FROM token WHERE digest = $1);

-- name: forget_expired
DELETE FROM token WHERE expires_at <= $1;

-- name: forget_oldest
DELETE FROM token WHERE digest IN (
    SELECT digest FROM token WHERE name = $1 AND is_session ORDER BY made_at DESC OFFSET $2
);

-- name: find_token
SELECT name, role, made_at, expires_at, is_session FROM token
WHERE digest = $1 AND (expires_at IS NULL OR expires_at > $2);

-- name: tokens
SELECT name, role, made_at, expires_at, is_session FROM token WHERE NOT is_session ORDER BY name;

-- name: revoke_token
DELETE FROM token WHERE name = $1;

-- name: end_session
DELETE FROM token WHERE digest = $1 AND is_session;

-- name: add_action
-- The last column tells whether it is this action, by this try or an earlier one.
INSERT INTO action (at, token, kind, job, what, before, after, undo_until, undone_at, key, asked, receipt)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (token, key) DO UPDATE SET key = excluded.key
RETURNING id, receipt = $12 AS is_this;

-- name: action_by_key
SELECT id, at, token, kind, job, what, before, after, undo_until, undone_at, key, asked
FROM action WHERE token = $1 AND key = $2;

-- name: action
SELECT id, at, token, kind, job, what, before, after, undo_until, undone_at, key, asked FROM action WHERE id = $1;

-- name: actions
SELECT id, at, token, kind, job, what, before, after, undo_until, undone_at, key, asked
FROM action WHERE id < $1 ORDER BY id DESC LIMIT $2;

-- name: actions_of_job
SELECT id, at, token, kind, job, what, before, after, undo_until, undone_at, key, asked
FROM action WHERE id < $1 AND job = $3 ORDER BY id DESC LIMIT $2;

-- name: note_after
UPDATE action SET after = $2 WHERE id = $1;

-- name: mark_undone
-- That it was undone at exactly this time was by an earlier try.
UPDATE action SET undone_at = $2
WHERE id = $1 AND (undone_at IS NULL OR undone_at = $2) AND undo_until > $2 RETURNING id;

-- name: clear_undone
UPDATE action SET undone_at = NULL WHERE id = $1 AND undone_at = $2;
