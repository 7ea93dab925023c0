-- Schema 13: the index by which a URL's attempts are found takes rows in groups.
--
-- A B-tree of hashes is written at a random place for every row, which was two fifths of what a row of the ledger cost.
-- This one (GIN) keeps a list of what is new and sorts it in when there is much of it; who searches reads that list, too.
DROP INDEX attempt_url;
CREATE INDEX attempt_url ON attempt USING gin ((ARRAY[hashtext(url)]));
