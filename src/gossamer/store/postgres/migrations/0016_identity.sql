-- Schema 16: a store has a name of its own, by which a fleet tells it from another store.

-- One row, which whoever asks for it first adds.
CREATE TABLE identity (one integer PRIMARY KEY CHECK (one = 1), id text NOT NULL);
