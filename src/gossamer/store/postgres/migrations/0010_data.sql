-- Schema 10: what lets one trust the data: how many items a page gave, examples of what was dropped, what the items
-- of each job looked like, results that wait for a word, and changes on their way to outputs.

ALTER TABLE page ADD COLUMN items integer NOT NULL DEFAULT 0;  -- found on it and kept

-- Up to five dropped items for each reason: the earliest in slot 0, later ones in the slots 1 to 4 by their URLs.
CREATE TABLE drop_sample (
    job integer NOT NULL,
    reason text COLLATE "C" NOT NULL,    -- Product.price: not a number
    slot smallint NOT NULL,
    stage text NOT NULL,
    type text NOT NULL,
    url text NOT NULL,
    at double precision NOT NULL,
    data bytea NOT NULL,                 -- JSON, as it was found
    PRIMARY KEY (job, reason, slot)
);

CREATE TABLE profile (
    job text COLLATE "C" PRIMARY KEY,    -- Job.id
    at double precision NOT NULL,
    record bytea NOT NULL
);

-- Results of a job that were made again from its archive.
CREATE TABLE result_version (
    job text COLLATE "C" PRIMARY KEY,    -- Job.id of the result
    base text COLLATE "C" NOT NULL,      -- Job.id of the crawl
    state text NOT NULL,
    created_at double precision NOT NULL
);
CREATE INDEX result_base ON result_version (base, created_at);

-- Items whose values changed, until every output has them. Numbers are given before their transactions commit, and
-- not in the order in which they do: what is read is below the oldest transaction that is under way.
CREATE TABLE item_change (
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    seq bigint GENERATED ALWAYS AS IDENTITY,
    item bigint NOT NULL,
    PRIMARY KEY (xid, seq)
);

-- How far each output has come: core.changes.OutputPosition.
CREATE TABLE output_position (
    output text COLLATE "C" PRIMARY KEY,
    done text NOT NULL,
    planned text NOT NULL,
    state bytea NOT NULL
);
