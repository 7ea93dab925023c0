-- Schema 6: a lease knows its owner: the worker that took it, by its name in the ledger.
--
-- What a process that is gone had in hand is taken back by that name, before the deadlines. Leases from before this
-- schema have no owner; a crawl that is resumed takes all of them back.
ALTER TABLE lease ADD COLUMN owner TEXT NOT NULL DEFAULT '';
