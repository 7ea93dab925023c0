-- Schema 5: the ledger says how a page came: through which proxy, with whose cookies, from which address, in how many
-- bytes, and what it cost.
--
-- Rows from before this schema do not know.
ALTER TABLE attempt ADD COLUMN proxy text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE attempt ADD COLUMN session text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE attempt ADD COLUMN address text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE attempt ADD COLUMN cost double precision NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN wire_bytes bigint NOT NULL DEFAULT 0;
