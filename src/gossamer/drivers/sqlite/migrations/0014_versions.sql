-- Schema 14: all former values of an item can be kept, those too that it had before, and changes are noted for outputs.

-- Without a primary key: an item may have had a value twice. The trigger names it, and is made anew below.
-- The rows are moved twice, since renaming a table costs every new file more than all that is created here.
DROP TRIGGER item_changed;
CREATE TABLE former_history AS SELECT item, hash, changed_at, last_seen, url, data FROM item_history;
DROP TABLE item_history;
CREATE TABLE item_history (
    item INTEGER NOT NULL,
    hash INTEGER NOT NULL,
    changed_at REAL NOT NULL,
    last_seen REAL NOT NULL,
    url TEXT NOT NULL,
    data TEXT NOT NULL
);
INSERT INTO item_history (item, hash, changed_at, last_seen, url, data)
SELECT item, hash, changed_at, last_seen, url, data FROM former_history;
DROP TABLE former_history;
CREATE INDEX item_history_item ON item_history (item, changed_at);
CREATE INDEX item_former ON item_history (url);

ALTER TABLE item ADD COLUMN keeps_history INTEGER NOT NULL DEFAULT 0;  -- all former values, not only those that jobs saw
ALTER TABLE item ADD COLUMN is_followed INTEGER NOT NULL DEFAULT 0;    -- changes go to item_change

CREATE TRIGGER item_changed AFTER UPDATE OF hash ON item
WHEN OLD.hash <> NEW.hash AND (NEW.keeps_history OR OLD.job <> NEW.job) BEGIN
    INSERT INTO item_history (item, hash, changed_at, last_seen, url, data)
    SELECT OLD.id, OLD.hash, OLD.changed_at, OLD.last_seen, OLD.url, OLD.data
    WHERE NEW.keeps_history OR NOT EXISTS (SELECT 1 FROM item_history WHERE item = OLD.id AND hash = OLD.hash);
END;

CREATE TRIGGER item_added AFTER INSERT ON item WHEN NEW.is_followed BEGIN
    INSERT INTO item_change (item) VALUES (NEW.id);
END;
CREATE TRIGGER item_followed AFTER UPDATE OF hash ON item WHEN OLD.hash <> NEW.hash AND NEW.is_followed BEGIN
    INSERT INTO item_change (item) VALUES (NEW.id);
END;
CREATE INDEX item_change_item ON item_change (item);
