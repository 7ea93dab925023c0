-- Changes of items on their way to outputs. Tables: migrations/0010_data.sql; triggers write them, see 0011_outputs.sql.

-- name: changes
-- Below the oldest transaction that is under way: what commits later gets no place before them. An item that changed
-- again is read there.
SELECT part.xid::text, part.seq, i.id, i.type, i.key, i.url, i.first_seen, i.last_seen, i.changed_at, i.data,
    i.layout, i.spider
FROM (
    SELECT xid, seq, item FROM item_change
    WHERE (xid, seq) > ($1::text::xid8, $2::bigint) AND (xid, seq) <= ($3::text::xid8, $4::bigint)
        AND xid < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY xid, seq LIMIT $5
) part
LEFT JOIN item i ON i.id = part.item AND NOT EXISTS (
    SELECT 1 FROM item_change later
    WHERE later.item = part.item AND (later.xid, later.seq) > (part.xid, part.seq)
)
ORDER BY part.xid, part.seq;

-- name: count_changes
SELECT count(*) FROM (
    SELECT 1 FROM item_change WHERE (xid, seq) > ($1::text::xid8, $2::bigint) LIMIT $3
) waiting;

-- name: positions
-- With the transaction that no place of this server has reached yet, and whether there are changes behind it.
SELECT output, done, planned, state, pg_snapshot_xmax(pg_current_snapshot())::text,
    EXISTS (SELECT 1 FROM item_change WHERE xid >= pg_snapshot_xmax(pg_current_snapshot()))
FROM output_position ORDER BY output;

-- name: move_changes
UPDATE item_change SET xid = pg_current_xact_id() WHERE xid >= $1::text::xid8;

-- name: add_position
INSERT INTO output_position (done, planned, state, output) VALUES ($1, $2, $3, $4)
ON CONFLICT DO NOTHING RETURNING output;

-- name: move_position
UPDATE output_position SET done = $1, planned = $2, state = $3
WHERE output = $4 AND done = $5 AND planned = $6 AND state = $7 RETURNING output;

-- name: forget_output
DELETE FROM output_position WHERE output = $1 RETURNING output;

-- name: forget_changes
DELETE FROM item_change WHERE (xid, seq) <= ($1::text::xid8, $2::bigint);
