-- Schema 20, whole, as `python scripts/sqlite_schema.py` has written it.

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

CREATE TABLE next_request (id INTEGER NOT NULL);

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
    rank INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    record TEXT NOT NULL                 -- the Request: see gossamer.frontier.codec
);

CREATE TABLE queue (
    host INTEGER NOT NULL,
    lane TEXT NOT NULL,
    rank INTEGER NOT NULL,
    request INTEGER NOT NULL,
    PRIMARY KEY (host, lane, rank, request)
) WITHOUT ROWID;

CREATE TABLE lease (
    frontier INTEGER NOT NULL,
    token INTEGER NOT NULL,
    request INTEGER NOT NULL,
    host INTEGER NOT NULL,
    lane TEXT NOT NULL,
    rank INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    granted_at REAL NOT NULL,
    start_by REAL NOT NULL,
    deadline REAL NOT NULL,
    attempts INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    throttled INTEGER NOT NULL,
    expiries INTEGER NOT NULL, owner TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (frontier, token)
) WITHOUT ROWID;

CREATE INDEX lease_deadline ON lease (frontier, deadline);

CREATE TRIGGER leased AFTER INSERT ON lease BEGIN
    DELETE FROM queue WHERE host = NEW.host AND lane = NEW.lane AND rank = NEW.rank AND request = NEW.request;
END;

CREATE TABLE delayed (
    frontier INTEGER NOT NULL,
    lane TEXT NOT NULL,
    due_at REAL NOT NULL,
    request INTEGER NOT NULL,
    host INTEGER NOT NULL,
    rank INTEGER NOT NULL,
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

CREATE VIEW request (id, state) AS
    SELECT request, 0 FROM queue UNION ALL SELECT request, 1 FROM delayed
    UNION ALL SELECT request, 2 FROM lease UNION ALL SELECT request, 3 FROM dead;

CREATE TABLE host (
    id INTEGER PRIMARY KEY,
    frontier INTEGER NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (frontier, name)
);

CREATE TABLE pace (
    host INTEGER PRIMARY KEY,
    state TEXT NOT NULL,                 -- JSON of HostState; changed only by policy.politeness
    waiting TEXT NOT NULL                -- JSON: its pending requests, {lane: {band: count}}
);

CREATE TABLE turn (
    frontier INTEGER NOT NULL,
    lane TEXT NOT NULL,
    band INTEGER NOT NULL,
    next_at REAL NOT NULL,
    host INTEGER NOT NULL,
    PRIMARY KEY (frontier, lane, band, next_at, host)
) WITHOUT ROWID;

CREATE VIEW closed_turn (frontier, lane, band, next_at, host) AS SELECT * FROM turn;

CREATE TRIGGER turn_closed INSTEAD OF INSERT ON closed_turn BEGIN
    DELETE FROM turn WHERE frontier = NEW.frontier AND lane = NEW.lane AND band = NEW.band
        AND next_at = NEW.next_at AND host = NEW.host;
END;

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
, plan BLOB NOT NULL DEFAULT x'', end_error TEXT NOT NULL DEFAULT '');

CREATE INDEX job_spider ON job (spider);

CREATE TABLE tally (
    job INTEGER NOT NULL,
    name TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (job, name)
) WITHOUT ROWID;

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
    data TEXT NOT NULL, job INTEGER NOT NULL DEFAULT 0, keeps_history INTEGER NOT NULL DEFAULT 0, is_followed INTEGER NOT NULL DEFAULT 0,                  -- JSON
    UNIQUE (spider, type, key)
);

CREATE TABLE sighting (
    job INTEGER NOT NULL,
    item INTEGER NOT NULL, hash INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job, item)
) WITHOUT ROWID;

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
, visit INTEGER, times INTEGER NOT NULL DEFAULT 1, items INTEGER NOT NULL DEFAULT 0);

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
, method TEXT NOT NULL DEFAULT 'GET', flags TEXT NOT NULL DEFAULT '', request TEXT NOT NULL DEFAULT '', proxy TEXT NOT NULL DEFAULT '', session TEXT NOT NULL DEFAULT '', address TEXT NOT NULL DEFAULT '', cost REAL NOT NULL DEFAULT 0, wire_bytes INTEGER NOT NULL DEFAULT 0);

CREATE INDEX attempt_job ON attempt (job);

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

CREATE UNIQUE INDEX page_visit ON page (job, fingerprint, visit) WHERE visit IS NOT NULL;

CREATE TABLE series (
    job INTEGER NOT NULL,
    step INTEGER NOT NULL,
    at INTEGER NOT NULL,
    covered INTEGER NOT NULL,            -- seconds of it in which somebody was at work
    pages INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    items INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    retries INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    class_0 INTEGER NOT NULL DEFAULT 0,
    class_1 INTEGER NOT NULL DEFAULT 0,
    class_2 INTEGER NOT NULL DEFAULT 0,
    class_3 INTEGER NOT NULL DEFAULT 0,
    class_4 INTEGER NOT NULL DEFAULT 0,
    class_5 INTEGER NOT NULL DEFAULT 0,
    lat_sum INTEGER NOT NULL DEFAULT 0,
    lat_10 INTEGER NOT NULL DEFAULT 0,
    lat_25 INTEGER NOT NULL DEFAULT 0,
    lat_50 INTEGER NOT NULL DEFAULT 0,
    lat_100 INTEGER NOT NULL DEFAULT 0,
    lat_250 INTEGER NOT NULL DEFAULT 0,
    lat_500 INTEGER NOT NULL DEFAULT 0,
    lat_1000 INTEGER NOT NULL DEFAULT 0,
    lat_2500 INTEGER NOT NULL DEFAULT 0,
    lat_5000 INTEGER NOT NULL DEFAULT 0,
    lat_10000 INTEGER NOT NULL DEFAULT 0,
    lat_30000 INTEGER NOT NULL DEFAULT 0,
    lat_60000 INTEGER NOT NULL DEFAULT 0,
    lat_inf INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job, step, at)
) WITHOUT ROWID;

CREATE TABLE gauge (
    job INTEGER NOT NULL,
    step INTEGER NOT NULL,
    at INTEGER NOT NULL,
    name TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (job, step, at, name)
) WITHOUT ROWID;

CREATE TABLE hourly (
    job INTEGER NOT NULL,
    kind TEXT NOT NULL,
    hour INTEGER NOT NULL,               -- when it begins
    who TEXT NOT NULL,
    label TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (job, kind, hour, who, label)
) WITHOUT ROWID;

CREATE INDEX hourly_failure ON hourly (job, kind, label, hour, value)
    WHERE label <> '' AND who <> '' AND kind <> 'reason';

CREATE INDEX attempt_reason ON attempt (job, reason) WHERE reason <> '';

CREATE INDEX item_recent ON item (spider, changed_at);

CREATE INDEX attempt_place ON attempt (id / 256, url);

CREATE INDEX page_place ON page (id / 512, fingerprint);

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
    key TEXT NOT NULL, asked TEXT NOT NULL DEFAULT '',
    UNIQUE (token, key)
);

CREATE INDEX action_job ON action (job, id);

CREATE TABLE job_setting (
    job TEXT NOT NULL,                   -- Job.id
    key TEXT NOT NULL,                   -- the setting's full name
    record TEXT NOT NULL,                -- JSON of SettingChange
    PRIMARY KEY (job, key)
) WITHOUT ROWID;

CREATE TABLE launch (
    job TEXT PRIMARY KEY,                -- Job.id
    record BLOB NOT NULL                 -- gossamer.targets.launch.LaunchPlan
) WITHOUT ROWID;

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

CREATE TABLE result_version (
    job TEXT PRIMARY KEY,                -- Job.id of the result
    base TEXT NOT NULL,                  -- Job.id of the crawl
    state TEXT NOT NULL,
    created_at REAL NOT NULL
) WITHOUT ROWID;

CREATE INDEX result_base ON result_version (base, created_at);

CREATE TABLE item_change (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    item INTEGER NOT NULL
);

CREATE TABLE output_position (
    output TEXT PRIMARY KEY,
    done TEXT NOT NULL,
    planned TEXT NOT NULL,
    state BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE item_history (
    item INTEGER NOT NULL,
    hash INTEGER NOT NULL,
    changed_at REAL NOT NULL,
    last_seen REAL NOT NULL,
    url TEXT NOT NULL,
    data TEXT NOT NULL
);

CREATE INDEX item_history_item ON item_history (item, changed_at);

CREATE INDEX item_former ON item_history (url);

CREATE TRIGGER item_changed AFTER UPDATE OF hash ON item
WHEN OLD.hash <> NEW.hash AND (NEW.keeps_history OR OLD.job <> NEW.job) BEGIN
    INSERT INTO item_history (item, hash, changed_at, last_seen, url, data)
    SELECT OLD.id, OLD.hash, OLD.changed_at, OLD.last_seen, OLD.url, OLD.data
    WHERE NEW.keeps_history OR NOT EXISTS (SELECT 1 FROM item_history WHERE item = OLD.id AND hash = OLD.hash);
END;

CREATE TRIGGER item_added AFTER INSERT ON item WHEN NEW.is_followed BEGIN
    INSERT INTO item_change (item) VALUES (NEW.id);
END;

CREATE TRIGGER item_followed AFTER UPDATE OF hash ON item WHEN OLD.hash <> NEW.hash AND NEW.is_followed BEGIN
    INSERT INTO item_change (item) VALUES (NEW.id);
END;

CREATE INDEX item_change_item ON item_change (item);

CREATE TABLE file (
    job TEXT NOT NULL,           -- the job's id
    place TEXT NOT NULL,         -- a digest of the URL, which may be longer than an index takes
    url TEXT NOT NULL,           -- as it was asked for
    sha256 TEXT NOT NULL,
    blob TEXT NOT NULL,          -- its name in the place of files
    size_bytes INTEGER NOT NULL,
    type TEXT NOT NULL,
    thumbnails TEXT NOT NULL,    -- their names, with spaces between them
    etag TEXT NOT NULL,
    modified TEXT NOT NULL,
    stored_at REAL NOT NULL,
    last_seen REAL NOT NULL,
    PRIMARY KEY (job, place)
) WITHOUT ROWID;

CREATE INDEX file_body ON file (sha256);

CREATE INDEX file_place ON file (place, last_seen);

CREATE INDEX file_seen ON file (last_seen);

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

CREATE TABLE schedule (
    name TEXT PRIMARY KEY,
    created_at REAL NOT NULL,
    is_on INTEGER NOT NULL,
    since REAL NOT NULL,                 -- due times up to this one are settled
    record TEXT NOT NULL                 -- JSON of core.schedules.Schedule; the columns here count
) WITHOUT ROWID;

CREATE TABLE schedule_run (
    schedule TEXT NOT NULL,              -- its name
    due_at REAL NOT NULL,
    key TEXT NOT NULL,                   -- of its job
    is_open INTEGER NOT NULL,
    record TEXT NOT NULL,                -- JSON of core.schedules.ScheduledRun
    PRIMARY KEY (schedule, due_at)
) WITHOUT ROWID;

CREATE INDEX schedule_run_open ON schedule_run (due_at) WHERE is_open;

CREATE INDEX job_key ON job (key);

CREATE TABLE host_pace (
    name TEXT PRIMARY KEY,               -- host.name
    state TEXT NOT NULL                  -- JSON of SharedPace; changed only by policy.host_sharing
) WITHOUT ROWID;

CREATE INDEX frontier_state ON frontier (state);

CREATE TABLE identity (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL) STRICT;

INSERT INTO next_request VALUES (1);
