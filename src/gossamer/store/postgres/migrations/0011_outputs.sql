-- Schema 11: changes of items are noted for outputs.

ALTER TABLE item ADD COLUMN is_followed boolean NOT NULL DEFAULT false;  -- changes go to item_change

CREATE FUNCTION note_item_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO item_change (item) VALUES (NEW.id);
    RETURN NULL;
END
$$;
CREATE TRIGGER item_added AFTER INSERT ON item FOR EACH ROW WHEN (NEW.is_followed)
    EXECUTE FUNCTION note_item_change();
CREATE TRIGGER item_followed AFTER UPDATE ON item FOR EACH ROW WHEN (OLD.hash <> NEW.hash AND NEW.is_followed)
    EXECUTE FUNCTION note_item_change();
CREATE INDEX item_change_item ON item_change (item);
