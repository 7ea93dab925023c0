-- Schema 16: what is known of the pages of spiders: whether, and how often, they change.

CREATE TABLE known_page (
    spider TEXT NOT NULL,
    fingerprint INTEGER NOT NULL,  -- of the request, without the key of any job
    url TEXT NOT NULL,
    host TEXT NOT NULL,
    request TEXT NOT NULL,         -- in the form in which frontiers keep requests
    due_at REAL NOT NULL,
    etag TEXT NOT NULL,
    modified TEXT NOT NULL,
    body_hash INTEGER NOT NULL,
    job TEXT NOT NULL,             -- the id of the job that checked it last
    checked_at REAL NOT NULL,      -- 0: nobody has
    changed_at REAL NOT NULL,      -- 0: it was never seen to have changed
    checks INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    shape REAL NOT NULL,           -- of the distribution of its rate
    span_s REAL NOT NULL,
    rate_class INTEGER NOT NULL,   -- by which pages are counted
    interval_s REAL NOT NULL,
    gone_at REAL,                  -- null: it is there
    PRIMARY KEY (spider, fingerprint)
) WITHOUT ROWID;
CREATE INDEX known_page_due ON known_page (spider, due_at, fingerprint);
