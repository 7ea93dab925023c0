-- Schema 3: a page that is stored again, because its lease was lost before it was settled, is the same page.
--
-- `visit` tells the pages of one request apart: 0, or for requests with `dont_filter`, which ask for a page
-- again on purpose, the token of their lease. Where frontier and store are in one file, a page is stored in
-- the transaction that settles its lease, and therefore once: those have no visit (as all pages of schema 2),
-- and writing them pays for no look-up and no second index.
ALTER TABLE page ADD COLUMN visit INTEGER;
ALTER TABLE page ADD COLUMN times INTEGER NOT NULL DEFAULT 1;  -- how often it was stored
CREATE UNIQUE INDEX page_visit ON page (job, fingerprint, visit) WHERE visit IS NOT NULL;
