-- Changes of items on their way to outputs. Tables: gossamer/drivers/sqlite/migrations/0013_data.sql; triggers write
-- them, see 0014_versions.sql.

-- name: changes
-- An item that changed again is read there.
SELECT part.seq, item.id, item.type, item.key, item.url, item.first_seen, item.last_seen, item.changed_at, item.data,
    item.spider
FROM (SELECT seq, item FROM item_change WHERE seq > ?1 AND seq <= ?2 ORDER BY seq LIMIT ?3) AS part
LEFT JOIN item ON item.id = part.item
    AND NOT EXISTS (SELECT 1 FROM item_change AS later WHERE later.item = part.item AND later.seq > part.seq)
ORDER BY part.seq;

-- name: count_changes
SELECT count(*) FROM (SELECT 1 FROM item_change WHERE seq > ? LIMIT ?);

-- name: positions
SELECT output, done, planned, state FROM output_position ORDER BY output;

-- name: add_position
INSERT INTO output_position (done, planned, state, output) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: move_position
UPDATE output_position SET done = ?, planned = ?, state = ?
WHERE output = ? AND done = ? AND planned = ? AND state = ?;

-- name: forget_output
DELETE FROM output_position WHERE output = ?;

-- name: forget_changes
DELETE FROM item_change WHERE seq <= (SELECT CAST(min(done) AS INTEGER) FROM output_position);
