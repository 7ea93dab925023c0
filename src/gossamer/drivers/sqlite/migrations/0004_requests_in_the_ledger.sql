-- Schema 4: the ledger tells requests to one URL apart, and what fetching and parsing say of a page.
--
-- `flags` are words with blanks between them. `request` is JSON (RequestPreview), or nothing for a request that
-- its URL and method say all about, as of nearly all.
ALTER TABLE attempt ADD COLUMN method TEXT NOT NULL DEFAULT 'GET';
ALTER TABLE attempt ADD COLUMN flags TEXT NOT NULL DEFAULT '';
ALTER TABLE attempt ADD COLUMN request TEXT NOT NULL DEFAULT '';
