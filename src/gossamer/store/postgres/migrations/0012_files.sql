-- Schema 12: which files jobs have saved.

CREATE TABLE file (
    job text COLLATE "C" NOT NULL,    -- the job's id
    place text COLLATE "C" NOT NULL,  -- a digest of the URL, which may be longer than an index takes
    url text COLLATE "C" NOT NULL,    -- as it was asked for
    sha256 text COLLATE "C" NOT NULL,
    blob text COLLATE "C" NOT NULL,   -- its name in the place of files
    size_bytes bigint NOT NULL,
    type text COLLATE "C" NOT NULL,
    thumbnails text COLLATE "C" NOT NULL,    -- their names, with spaces between them
    etag text COLLATE "C" NOT NULL,
    modified text COLLATE "C" NOT NULL,
    stored_at double precision NOT NULL,
    last_seen double precision NOT NULL,
    PRIMARY KEY (job, place)
);
CREATE INDEX file_body ON file (sha256);
CREATE INDEX file_place ON file (place, last_seen);
CREATE INDEX file_seen ON file (last_seen);
