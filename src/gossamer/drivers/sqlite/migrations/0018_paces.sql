-- Schema 18: one pace per host for all jobs of the file.

-- What all jobs know of a host. `pace` keeps a copy, with what its job alone knows; a host that is not here was not
-- asked since this schema, and its copy counts.
CREATE TABLE host_pace (
    name TEXT PRIMARY KEY,               -- host.name
    state TEXT NOT NULL                  -- JSON of SharedPace; changed only by policy.host_sharing
) WITHOUT ROWID;

-- Which jobs may ask the same hosts: without any, nothing is written there.
CREATE INDEX frontier_state ON frontier (state);
