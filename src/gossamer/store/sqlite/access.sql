-- Tokens and the audit log. Tables: gossamer/drivers/sqlite/migrations/0010_access.sql.

-- name: add_token
-- A session only where its token is.
INSERT INTO token (digest, name, role, made_at, expires_at, is_session) SELECT ?1, ?2, ?3, ?4, ?5, ?6
WHERE NOT ?6 OR EXISTS (SELECT 1 FROM token WHERE name = ?2 AND NOT is_session)
ON CONFLICT DO NOTHING;

-- name: forget_expired
DELETE FROM token WHERE expires_at <= ?;

-- name: forget_oldest
DELETE FROM token WHERE digest IN (
    SELECT digest FROM token WHERE name = ? AND is_session ORDER BY made_at DESC LIMIT -1 OFFSET ?
);

-- name: find_token
SELECT name, role, made_at, expires_at, is_session FROM token
WHERE digest = ? AND (expires_at IS NULL OR expires_at > ?);

-- name: tokens
SELECT name, role, made_at, expires_at, is_session FROM token WHERE NOT is_session ORDER BY name;

-- name: revoke_token
DELETE FROM token WHERE name = ?;

-- name: end_session
DELETE FROM token WHERE digest = ? AND is_session;

-- name: add_action
INSERT INTO action (at, token, kind, job, what, before, after, undo_until, undone_at, key, asked)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING;

-- name: action_by_key
SELECT id, at, token, kind, job, what, before, after, undo_until, undone_at, key, asked
FROM action WHERE token = ? AND key = ?;

-- name: action
SELECT id, at, token, kind, job, what, before, after, undo_until, undone_at, key, asked FROM action WHERE id = ?;

-- name: actions
SELECT id, at, token, kind, job, what, before, after, undo_until, undone_at, key, asked
FROM action WHERE id < ? ORDER BY id DESC LIMIT ?;

-- name: actions_of_job
SELECT id, at, token, kind, job, what, before, after, undo_until, undone_at, key, asked
FROM action WHERE id < ? AND job = ? ORDER BY id DESC LIMIT ?;

-- name: note_after
UPDATE action SET after = ? WHERE id = ?;

-- name: mark_undone
UPDATE action SET undone_at = ?1 WHERE id = ?2 AND undone_at IS NULL AND undo_until > ?1;

-- name: clear_undone
UPDATE action SET undone_at = NULL WHERE id = ? AND undone_at = ?;
