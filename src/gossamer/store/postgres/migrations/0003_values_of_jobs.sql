-- Schema 3: a job keeps the values that it saw, whatever later jobs find.
--
-- An item has its latest value. When another job brings a new one, the value before goes to `item_history` (once,
-- unless all former versions are kept), where those jobs find it whose sighting has its hash. A value that only the
-- job saw which now replaces it is needed by nobody. Of sightings before this schema it is not known what was seen:
-- they keep today's value.
ALTER TABLE item ADD COLUMN job integer NOT NULL DEFAULT 0;       -- the only one that saw this value; 0: several, or unknown
ALTER TABLE sighting ADD COLUMN hash bigint NOT NULL DEFAULT 0;   -- of the value that the job saw last
UPDATE sighting SET hash = item.hash FROM item WHERE item.id = sighting.item;

DROP TRIGGER item_changed ON item;
CREATE OR REPLACE FUNCTION keep_former_item() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO item_history (item, changed_at, last_seen, hash, url, data, layout)
    SELECT OLD.id, OLD.changed_at, OLD.last_seen, OLD.hash, OLD.url, OLD.data, OLD.layout
    WHERE NEW.keeps_history OR NOT EXISTS (SELECT 1 FROM item_history WHERE item = OLD.id AND hash = OLD.hash);
    RETURN NULL;
END
$$;
CREATE TRIGGER item_changed AFTER UPDATE ON item FOR EACH ROW
    WHEN (OLD.hash <> NEW.hash AND (NEW.keeps_history OR OLD.job <> NEW.job))
    EXECUTE FUNCTION keep_former_item();
