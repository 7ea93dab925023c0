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

-- Every fingerprint that was ever accepted, and the request it was accepted as (the latest of them).
CREATE TABLE seen (
    frontier INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    request INTEGER NOT NULL,
    PRIMARY KEY (frontier, fingerprint)
) WITHOUT ROWID;

-- Politeness: the columns are the fields of HostState, changed only by policy.politeness.
CREATE TABLE host (
    id INTEGER PRIMARY KEY,
    frontier INTEGER NOT NULL,
    name TEXT NOT NULL,
    next_at REAL NOT NULL DEFAULT 0,
    delay_s REAL NOT NULL DEFAULT 0,
    in_flight INTEGER NOT NULL DEFAULT 0,
    crawl_delay_s REAL,
    incidents INTEGER NOT NULL DEFAULT 0,
    silences INTEGER NOT NULL DEFAULT 0,
    incident_at REAL NOT NULL DEFAULT 0,
    pages INTEGER NOT NULL DEFAULT 0,
    last_at REAL NOT NULL DEFAULT 0,
    hold_until REAL NOT NULL DEFAULT 0,
    UNIQUE (frontier, name)
);

-- Requests that are not done; a done one is deleted and stays known in `seen`.
-- state: 0 pending, 1 delayed, 2 leased, 3 dead. The id is the place in the queue, kept for life.
CREATE TABLE request (
    id INTEGER PRIMARY KEY,
    frontier INTEGER NOT NULL,
    host INTEGER NOT NULL,
    state INTEGER NOT NULL,
    lane TEXT NOT NULL,
    band INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    due_at REAL NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    throttled INTEGER NOT NULL DEFAULT 0,
    expiries INTEGER NOT NULL DEFAULT 0,
    token INTEGER NOT NULL DEFAULT 0,    -- of the lease, while leased
    granted_at REAL NOT NULL DEFAULT 0,
    start_by REAL NOT NULL DEFAULT 0,
    deadline REAL NOT NULL DEFAULT 0,
    died_at REAL NOT NULL DEFAULT 0,
    reason TEXT NOT NULL DEFAULT '',     -- of the last retry or of the death
    record BLOB NOT NULL                 -- the Request: msgpack, or JSON where msgpack cannot carry it
);
CREATE INDEX request_pending ON request (host, lane, band, id) WHERE state = 0;
CREATE INDEX request_delayed ON request (frontier, lane, due_at) WHERE state = 1;
CREATE UNIQUE INDEX request_leased ON request (frontier, token) WHERE state = 2;
CREATE INDEX request_deadline ON request (frontier, deadline) WHERE state = 2;
CREATE INDEX request_dead ON request (frontier, died_at) WHERE state = 3;

-- The hosts that may be asked: one row per host and lane with pending requests and room for one more.
-- `band` is the best among its pending requests, so that urgent work overtakes across hosts.
CREATE TABLE turn (
    frontier INTEGER NOT NULL,
    lane TEXT NOT NULL,
    band INTEGER NOT NULL,
    next_at REAL NOT NULL,
    host INTEGER NOT NULL,
    PRIMARY KEY (frontier, lane, band, next_at, host)
) WITHOUT ROWID;
CREATE INDEX turn_host ON turn (host);

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
