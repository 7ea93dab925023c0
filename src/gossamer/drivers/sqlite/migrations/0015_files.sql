-- Schema 15: which files jobs have saved.

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
