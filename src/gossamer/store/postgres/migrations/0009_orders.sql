-- Schema 9: what an action was asked for with, so that a key that comes again with something else is refused.

ALTER TABLE action ADD COLUMN asked text NOT NULL DEFAULT '';  -- a digest of the order; '': not known
