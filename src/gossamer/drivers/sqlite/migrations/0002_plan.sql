-- Schema 2: a job's plan, by which another process puts the same crawl together.
ALTER TABLE job ADD COLUMN plan BLOB NOT NULL DEFAULT x'';
