-- Schema 8: the ledger says how a page came: through which proxy, with whose cookies, from which address, in how many
-- bytes, and what it cost.
--
-- Rows from before this schema do not know.
ALTER TABLE attempt ADD COLUMN proxy TEXT NOT NULL DEFAULT '';
ALTER TABLE attempt ADD COLUMN session TEXT NOT NULL DEFAULT '';
ALTER TABLE attempt ADD COLUMN address TEXT NOT NULL DEFAULT '';
ALTER TABLE attempt ADD COLUMN cost REAL NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN wire_bytes INTEGER NOT NULL DEFAULT 0;
