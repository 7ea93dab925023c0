-- Schema 5: a job keeps the values that it saw, whatever later jobs find.
--
-- An item has its latest value. When another job brings a new one, the value before goes to `item_history`, where
-- those jobs find it whose sighting has its hash. A value that only the job saw which now replaces it is needed by
-- nobody, and is not kept. Of sightings before this schema it is not known what was seen: they keep today's value.
ALTER TABLE item ADD COLUMN job INTEGER NOT NULL DEFAULT 0;  -- the only one that saw this value; 0: several, or unknown
ALTER TABLE sighting ADD COLUMN hash INTEGER NOT NULL DEFAULT 0;  -- of the value that the job saw last
UPDATE sighting SET hash = (SELECT item.hash FROM item WHERE item.id = sighting.item);

-- Former values of items: what an item was from `changed_at` on, and when it was last seen so.
CREATE TABLE item_history (
    item INTEGER NOT NULL,
    hash INTEGER NOT NULL,
    changed_at REAL NOT NULL,
    last_seen REAL NOT NULL,
    url TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (item, hash)
);
CREATE TRIGGER item_changed AFTER UPDATE OF hash ON item WHEN OLD.hash <> NEW.hash AND OLD.job <> NEW.job BEGIN
    INSERT INTO item_history (item, hash, changed_at, last_seen, url, data)
    SELECT OLD.id, OLD.hash, OLD.changed_at, OLD.last_seen, OLD.url, OLD.data
    WHERE NOT EXISTS (SELECT 1 FROM item_history WHERE item = OLD.id AND hash = OLD.hash);
END;
