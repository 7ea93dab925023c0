-- Schema 10: who may use the dashboard and the HTTP API, what they did, and what lets them look at large crawls.

-- Items by their latest change.
CREATE INDEX item_recent ON item (spider, changed_at);

-- Finding a URL's attempts, the page of a request and the items of a page. An index by URL or fingerprint alone
-- touches another leaf for each row that is added, which costs a crawl more than all its other rows do. These two
-- begin with the part of the table that a row is in: what is added goes to the last leaves, and whoever looks
-- something up does so once for each part. The statements that do have the same numbers.
CREATE INDEX attempt_place ON attempt (id / 256, url);
CREATE INDEX page_place ON page (id / 512, fingerprint);
DROP INDEX page_job;
-- Only values that another job found changed pay for this one.
CREATE INDEX item_former ON item_history (url);

-- Tokens, and the sessions that were made with them. `digest` is SHA-256 of the secret, which is nowhere.
CREATE TABLE token (
    digest BLOB PRIMARY KEY,
    name TEXT NOT NULL,                  -- of a session: that of its token
    role TEXT NOT NULL,
    made_at REAL NOT NULL,
    expires_at REAL,                     -- NULL: never
    is_session INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX token_name ON token (name, made_at);
CREATE UNIQUE INDEX token_once ON token (name) WHERE NOT is_session;

-- The audit log.
CREATE TABLE action (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    token TEXT NOT NULL,                 -- its name
    kind TEXT NOT NULL,
    job TEXT NOT NULL,                   -- Job.id, or empty
    what TEXT NOT NULL,
    before TEXT NOT NULL,                -- JSON
    after TEXT NOT NULL,                 -- JSON
    undo_until REAL,                     -- NULL: there is no way back
    undone_at REAL,
    key TEXT NOT NULL,
    UNIQUE (token, key)
);
CREATE INDEX action_job ON action (job, id);
