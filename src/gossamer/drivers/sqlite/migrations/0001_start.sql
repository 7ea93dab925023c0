-- Schema 1: frontier and store in one file.
--
-- Times are seconds since the epoch (REAL), sizes bytes, hashes and fingerprints signed 64 bits.
-- Every frontier table names its frontier by a small integer, so that many jobs share a file.

-- ------------------------------------------------------------------ the frontier

-- One row per job. The counters change in the transaction that moves the requests; they are never
-- recounted (a test compares them with the rows).
CREATE TABLE frontier (
    id INTEGER PRIMARY KEY,
    job TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    rules BLOB NOT NULL,                 -- msgpack of Rules
    next_token INTEGER NOT NULL DEFAULT 1,
    pending INTEGER NOT NULL DEFAULT 0,
    delayed INTEGER NOT NULL DEFAULT 0,
    leased INTEGER NOT NULL DEFAULT 0,
    done INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    pages INTEGER NOT NULL DEFAULT 0,
    duplicates INTEGER NOT NULL DEFAULT 0,
    too_deep INTEGER NOT NULL DEFAULT 0,
    hosts INTEGER NOT NULL DEFAULT 0
);

-- The next request id of the file: never reused, so that `seen.request` cannot point to another page.
CREATE TABLE next_request (id INTEGER NOT NULL);
INSERT INTO next_request VALUES (1);

-- How requests are laid out. What a million of them cost, and how often each is written, decides:
--
--   entry     the request itself, appended once, never changed, deleted when it is done
--   queue     pending: one short key per request, in the order in which the requests of a host go
--   lease     leased; delayed; dead: the few that are somewhere else, each in a table of its own
--   trial     what became of earlier tries, only for requests that had some
--
-- So an accepted request that is not done has one row in `entry` and one in queue, lease, delayed or dead.
-- The id is its place in the queue, kept for life. `lane` is '' for "http" and '=' || name for others;
-- columns that are '' or 0 or 1 take no room in a row.

-- Every fingerprint that was ever accepted, and the request it was accepted as (the latest of them).
CREATE TABLE seen (
    frontier INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    request INTEGER NOT NULL,
    PRIMARY KEY (frontier, fingerprint)
) WITHOUT ROWID;

CREATE TABLE entry (
    id INTEGER PRIMARY KEY,
    host INTEGER NOT NULL,
    lane TEXT NOT NULL,
    band INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    record TEXT NOT NULL                 -- the Request: see gossamer.frontier.codec
);

CREATE TABLE queue (
    host INTEGER NOT NULL,
    lane TEXT NOT NULL,
    band INTEGER NOT NULL,
    request INTEGER NOT NULL,
    PRIMARY KEY (host, lane, band, request)
) WITHOUT ROWID;

-- The counts are those of the request's earlier tries.
CREATE TABLE lease (
    frontier INTEGER NOT NULL,
    token INTEGER NOT NULL,
    request INTEGER NOT NULL,
    host INTEGER NOT NULL,
    lane TEXT NOT NULL,
    band INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    granted_at REAL NOT NULL,
    start_by REAL NOT NULL,
    deadline REAL NOT NULL,
    attempts INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    throttled INTEGER NOT NULL,
    expiries INTEGER NOT NULL,
    PRIMARY KEY (frontier, token)
) WITHOUT ROWID;
CREATE INDEX lease_deadline ON lease (frontier, deadline);
CREATE TRIGGER leased AFTER INSERT ON lease BEGIN
    DELETE FROM queue WHERE host = NEW.host AND lane = NEW.lane AND band = NEW.band AND request = NEW.request;
END;

CREATE TABLE delayed (
    frontier INTEGER NOT NULL,
    lane TEXT NOT NULL,
    due_at REAL NOT NULL,
    request INTEGER NOT NULL,
    host INTEGER NOT NULL,
    band INTEGER NOT NULL,
    PRIMARY KEY (frontier, lane, due_at, request)
) WITHOUT ROWID;

CREATE TABLE dead (
    request INTEGER PRIMARY KEY,
    frontier INTEGER NOT NULL,
    died_at REAL NOT NULL
);
CREATE INDEX dead_died ON dead (frontier, died_at);

CREATE TABLE trial (
    request INTEGER PRIMARY KEY,
    due_at REAL NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    throttled INTEGER NOT NULL DEFAULT 0,
    expiries INTEGER NOT NULL DEFAULT 0,
    reason TEXT NOT NULL DEFAULT ''      -- of the last retry or of the death
);

-- For people and tests: every request that is not done; 0 pending, 1 delayed, 2 leased, 3 dead.
CREATE VIEW request (id, state) AS
    SELECT request, 0 FROM queue UNION ALL SELECT request, 1 FROM delayed
    UNION ALL SELECT request, 2 FROM lease UNION ALL SELECT request, 3 FROM dead;

CREATE TABLE host (
    id INTEGER PRIMARY KEY,
    frontier INTEGER NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (frontier, name)
);

-- What changes of a host with nearly every lease, apart from its name, which never does.
CREATE TABLE pace (
    host INTEGER PRIMARY KEY,
    state TEXT NOT NULL,                 -- JSON of HostState; changed only by policy.politeness
    waiting TEXT NOT NULL                -- JSON: its pending requests, {lane: {band: count}}
);

-- The hosts that may be asked: one row per host and lane with pending requests and room for one more.
-- `band` is the best among its pending requests, so that urgent work overtakes across hosts. The rows of a
-- host follow from its pace and the rules, so nothing has to look for them.
CREATE TABLE turn (
    frontier INTEGER NOT NULL,
    lane TEXT NOT NULL,
    band INTEGER NOT NULL,
    next_at REAL NOT NULL,
    host INTEGER NOT NULL,
    PRIMARY KEY (frontier, lane, band, next_at, host)
) WITHOUT ROWID;
-- What is inserted here is deleted there: SQLite finds rows by a list of composite keys only this way.
CREATE VIEW closed_turn (frontier, lane, band, next_at, host) AS SELECT * FROM turn;
CREATE TRIGGER turn_closed INSTEAD OF INSERT ON closed_turn BEGIN
    DELETE FROM turn WHERE frontier = NEW.frontier AND lane = NEW.lane AND band = NEW.band
        AND next_at = NEW.next_at AND host = NEW.host;
END;

-- ------------------------------------------------------------------ the store

-- The job book.
CREATE TABLE job (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,           -- Job.id: slug-number
    slug TEXT NOT NULL,
    number INTEGER NOT NULL,
    spider TEXT NOT NULL,                -- Job.name
    target TEXT NOT NULL,
    created_at REAL NOT NULL,
    state TEXT NOT NULL,
    finished_at REAL,
    finish_reason TEXT NOT NULL DEFAULT '',
    key BLOB NOT NULL
);
CREATE INDEX job_spider ON job (spider);

-- A job's totals: pages, items, attempts, retries, duplicates, bytes; `status:200`, `reason:timeout`,
-- `dropped:item:price`.
CREATE TABLE tally (
    job INTEGER NOT NULL,
    name TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (job, name)
) WITHOUT ROWID;

-- Items of all jobs; what identifies one is (spider, type, key).
CREATE TABLE item (
    id INTEGER PRIMARY KEY,
    spider TEXT NOT NULL,
    type TEXT NOT NULL,
    key TEXT NOT NULL,
    hash INTEGER NOT NULL,               -- of data
    first_seen REAL NOT NULL,
    last_seen REAL NOT NULL,
    changed_at REAL NOT NULL,
    url TEXT NOT NULL,                   -- where this version was found
    data TEXT NOT NULL,                  -- JSON
    UNIQUE (spider, type, key)
);

-- Which job saw which item.
CREATE TABLE sighting (
    job INTEGER NOT NULL,
    item INTEGER NOT NULL,
    PRIMARY KEY (job, item)
) WITHOUT ROWID;

-- The pages a job parsed, in the order it did. A log: a page that was parsed twice (asked for again, or
-- stored again after a crash between two databases) has two rows, and the last one counts.
CREATE TABLE page (
    id INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    at REAL NOT NULL,
    status INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    title TEXT NOT NULL,
    url TEXT NOT NULL
);
CREATE INDEX page_job ON page (job);

-- The ledger: one row per try.
CREATE TABLE attempt (
    id INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    at REAL NOT NULL,
    attempt INTEGER NOT NULL,
    status INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    elapsed_ms REAL NOT NULL,
    verdict TEXT NOT NULL,
    reason TEXT NOT NULL,
    rung TEXT NOT NULL,
    worker TEXT NOT NULL,
    url TEXT NOT NULL,
    via TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX attempt_job ON attempt (job);

-- Small facts that all workers share.
CREATE TABLE shared (
    space TEXT NOT NULL,
    key TEXT NOT NULL,
    value BLOB,
    expires_at REAL NOT NULL DEFAULT 0,
    claimed_until REAL NOT NULL DEFAULT 0,
    claimed_by INTEGER NOT NULL DEFAULT 0,  -- the process; its death ends the claim
    PRIMARY KEY (space, key)
) WITHOUT ROWID;
CREATE INDEX shared_expires ON shared (max(expires_at, claimed_until));
