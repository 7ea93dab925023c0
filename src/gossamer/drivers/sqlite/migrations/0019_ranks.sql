-- Schema 19: within a host, requests go by any priority, not by nine bands.

-- What was a request's band is its rank: that of a band's own priority is the band's number, as before, and of others the
-- lowest goes first. Requests that waited already keep the band's. Turns and counts are those of bands.
ALTER TABLE entry RENAME COLUMN band TO rank;
ALTER TABLE queue RENAME COLUMN band TO rank;
ALTER TABLE lease RENAME COLUMN band TO rank;
ALTER TABLE delayed RENAME COLUMN band TO rank;
