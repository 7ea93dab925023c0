-- What is known of pages. Table: gossamer/drivers/sqlite/migrations/0016_known_pages.sql.

-- name: save_pages
INSERT INTO known_page (
    spider, fingerprint, url, host, request, due_at, etag, modified, body_hash, job, checked_at, changed_at, checks,
    changes, shape, span_s, rate_class, interval_s, gone_at
) VALUES :rows
ON CONFLICT (spider, fingerprint) DO UPDATE SET
    url = excluded.url, host = excluded.host, request = excluded.request, due_at = excluded.due_at,
    etag = excluded.etag, modified = excluded.modified, body_hash = excluded.body_hash, job = excluded.job,
    checked_at = excluded.checked_at, changed_at = excluded.changed_at, checks = excluded.checks,
    changes = excluded.changes, shape = excluded.shape, span_s = excluded.span_s,
    rate_class = excluded.rate_class, interval_s = excluded.interval_s, gone_at = excluded.gone_at
WHERE excluded.checked_at >= checked_at AND excluded.checks > 0;

-- name: pages
SELECT fingerprint, url, host, request, due_at, etag, modified, body_hash, job, checked_at, changed_at, checks,
    changes, shape, span_s, rate_class, interval_s, gone_at
FROM known_page WHERE spider = ? AND fingerprint IN (SELECT value FROM json_each(?));

-- name: due
SELECT fingerprint, url, host, request, due_at, etag, modified, body_hash, job, checked_at, changed_at, checks,
    changes, shape, span_s, rate_class, interval_s, gone_at
FROM known_page WHERE spider = ? AND due_at <= ? AND (due_at, fingerprint) > (?, ?)
ORDER BY due_at, fingerprint LIMIT ?;

-- name: rates
SELECT rate_class, count(*) FROM known_page
WHERE spider = ? AND checks > 0 AND gone_at IS NULL GROUP BY rate_class;

-- name: counts
SELECT count(*), total(due_at <= ?2), total(checks = 0), total(checks = 1 AND gone_at IS NULL),
    total(checks > 1 AND gone_at IS NULL AND changed_at = checked_at),
    total(checks > 1 AND gone_at IS NULL AND changed_at <> checked_at),
    total(gone_at IS NOT NULL), total(checks), total(changes)
FROM known_page WHERE spider = ?1;

-- name: median
SELECT interval_s FROM known_page WHERE spider = ?1 AND checks > 0 AND gone_at IS NULL
ORDER BY interval_s LIMIT 1 OFFSET (
    SELECT max(count(*) - 1, 0) / 2 FROM known_page WHERE spider = ?1 AND checks > 0 AND gone_at IS NULL
);
