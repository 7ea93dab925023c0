-- Schema 20: a store has a name of its own, by which a fleet tells it from another store.

-- One row, which whoever asks for it first adds.
CREATE TABLE identity (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL) STRICT;
