-- Schema 14: what is known of the pages of spiders: whether, and how often, they change.

CREATE TABLE known_page (
    spider text COLLATE "C" NOT NULL,
    fingerprint bigint NOT NULL,           -- of the request, without the key of any job
    url text COLLATE "C" NOT NULL,
    host text COLLATE "C" NOT NULL,
    request text COLLATE "C" NOT NULL,     -- in the form in which frontiers keep requests
    due_at double precision NOT NULL,
    etag text COLLATE "C" NOT NULL,
    modified text COLLATE "C" NOT NULL,
    body_hash bigint NOT NULL,
    job text COLLATE "C" NOT NULL,         -- the id of the job that checked it last
    checked_at double precision NOT NULL,  -- 0: nobody has
    changed_at double precision NOT NULL,  -- 0: it was never seen to have changed
    checks bigint NOT NULL,
    changes bigint NOT NULL,
    shape double precision NOT NULL,       -- of the distribution of its rate
    span_s double precision NOT NULL,
    rate_class integer NOT NULL,           -- by which pages are counted
    interval_s double precision NOT NULL,
    gone_at double precision,              -- null: it is there
    PRIMARY KEY (spider, fingerprint)
);
CREATE INDEX known_page_due ON known_page (spider, due_at, fingerprint);
