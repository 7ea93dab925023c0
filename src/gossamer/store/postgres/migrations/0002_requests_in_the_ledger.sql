-- Schema 2: the ledger tells requests to one URL apart, and what fetching and parsing say of a page.
--
-- `flags` are words with blanks between them. `request` is JSON (RequestPreview), or nothing for a request that
-- its URL and method say all about, as of nearly all.
ALTER TABLE attempt ADD COLUMN method text COLLATE "C" NOT NULL DEFAULT 'GET';
ALTER TABLE attempt ADD COLUMN flags text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE attempt ADD COLUMN request text COLLATE "C" NOT NULL DEFAULT '';
