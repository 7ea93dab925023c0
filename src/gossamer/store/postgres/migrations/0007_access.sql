-- Schema 7: who may use the dashboard and the HTTP API, what they did, and what lets them look at large crawls.

-- Items by their latest change.
CREATE INDEX item_recent ON item (spider, changed_at, id);

-- Finding a URL's attempts, and the items of a page. By a number made of the URL: an index of URLs would be large,
-- and does not take a long one.
CREATE INDEX attempt_url ON attempt (job, hashtext(url));
CREATE INDEX item_url ON item (hashtext(url));
CREATE INDEX item_former ON item_history (hashtext(url));

-- Tokens, and the sessions that were made with them. `digest` is SHA-256 of the secret, which is nowhere.
CREATE TABLE token (
    digest bytea PRIMARY KEY,
    name text COLLATE "C" NOT NULL,              -- of a session: that of its token
    role text NOT NULL,
    made_at double precision NOT NULL,
    expires_at double precision,                 -- NULL: never
    is_session boolean NOT NULL
);
CREATE INDEX token_name ON token (name, made_at);
CREATE UNIQUE INDEX token_once ON token (name) WHERE NOT is_session;

-- The audit log. `receipt` tells an action that is added again, because the answer was lost, from another one with
-- its key.
CREATE TABLE action (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at double precision NOT NULL,
    token text COLLATE "C" NOT NULL,             -- its name
    kind text NOT NULL,
    job text COLLATE "C" NOT NULL,               -- Job.id, or empty
    what text NOT NULL,
    before text NOT NULL,                        -- JSON
    after text NOT NULL,                         -- JSON
    undo_until double precision,                 -- NULL: there is no way back
    undone_at double precision,
    key text COLLATE "C" NOT NULL,
    receipt bytea NOT NULL,
    UNIQUE (token, key)
);
CREATE INDEX action_job ON action (job, id);
