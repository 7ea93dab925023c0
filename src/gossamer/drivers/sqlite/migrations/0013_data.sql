-- Schema 13: what lets one trust the data: how many items a page gave, examples of what was dropped, what the items
-- of each job looked like, results that wait for a word, and changes on their way to outputs.

ALTER TABLE page ADD COLUMN items INTEGER NOT NULL DEFAULT 0;  -- found on it and kept

-- Up to five dropped items for each reason: the earliest in slot 0, later ones in the slots 1 to 4 by their URLs.
CREATE TABLE drop_sample (
    job INTEGER NOT NULL,
    reason TEXT NOT NULL,                -- Product.price: not a number
    slot INTEGER NOT NULL,
    stage TEXT NOT NULL,
    type TEXT NOT NULL,
    url TEXT NOT NULL,
    at REAL NOT NULL,
    data BLOB NOT NULL,                  -- JSON
    PRIMARY KEY (job, reason, slot)
) WITHOUT ROWID;

CREATE TABLE profile (
    job TEXT PRIMARY KEY,                -- Job.id
    at REAL NOT NULL,
    record BLOB NOT NULL
) WITHOUT ROWID;

-- Results of a job that were made again from its archive.
CREATE TABLE result_version (
    job TEXT PRIMARY KEY,                -- Job.id of the result
    base TEXT NOT NULL,                  -- Job.id of the crawl
    state TEXT NOT NULL,
    created_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX result_base ON result_version (base, created_at);

-- Items whose values changed, in that order, until every output has them.
CREATE TABLE item_change (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    item INTEGER NOT NULL
);

-- How far each output has come: core.changes.OutputPosition.
CREATE TABLE output_position (
    output TEXT PRIMARY KEY,
    done TEXT NOT NULL,
    planned TEXT NOT NULL,
    state BLOB NOT NULL
) WITHOUT ROWID;
