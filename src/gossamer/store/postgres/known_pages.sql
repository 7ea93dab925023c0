-- What is known of pages. Table: migrations/0014_known_pages.sql.

-- name: save_pages
INSERT INTO known_page AS kept (
    spider, fingerprint, url, host, request, due_at, etag, modified, body_hash, job, checked_at, changed_at, checks,
    changes, shape, span_s, rate_class, interval_s, gone_at
)
SELECT $1, * FROM unnest(
    $2::bigint[], $3::text[], $4::text[], $5::text[], $6::double precision[], $7::text[], $8::text[], $9::bigint[],
    $10::text[], $11::double precision[], $12::double precision[], $13::bigint[], $14::bigint[],
    $15::double precision[], $16::double precision[], $17::integer[], $18::double precision[],
    $19::double precision[]
)
ON CONFLICT (spider, fingerprint) DO UPDATE SET
    url = excluded.url, host = excluded.host, request = excluded.request, due_at = excluded.due_at,
    etag = excluded.etag, modified = excluded.modified, body_hash = excluded.body_hash, job = excluded.job,
    checked_at = excluded.checked_at, changed_at = excluded.changed_at, checks = excluded.checks,
    changes = excluded.changes, shape = excluded.shape, span_s = excluded.span_s,
    rate_class = excluded.rate_class, interval_s = excluded.interval_s, gone_at = excluded.gone_at
WHERE excluded.checked_at >= kept.checked_at AND excluded.checks > 0;

-- name: pages
SELECT fingerprint, url, host, request, due_at, etag, modified, body_hash, job, checked_at, changed_at, checks,
    changes, shape, span_s, rate_class, interval_s, gone_at
FROM known_page WHERE spider = $1 AND fingerprint = ANY ($2::bigint[]);

-- name: due
SELECT fingerprint, url, host, request, due_at, etag, modified, body_hash, job, checked_at, changed_at, checks,
    changes, shape, span_s, rate_class, interval_s, gone_at
FROM known_page WHERE spider = $1 AND due_at <= $2 AND (due_at, fingerprint) > ($3, $4)
ORDER BY due_at, fingerprint LIMIT $5;

-- name: rates
SELECT rate_class, count(*) FROM known_page
WHERE spider = $1 AND checks > 0 AND gone_at IS NULL GROUP BY rate_class;

-- name: counts
SELECT count(*), count(*) FILTER (WHERE due_at <= $2), count(*) FILTER (WHERE checks = 0),
    count(*) FILTER (WHERE checks = 1 AND gone_at IS NULL),
    count(*) FILTER (WHERE checks > 1 AND gone_at IS NULL AND changed_at = checked_at),
    count(*) FILTER (WHERE checks > 1 AND gone_at IS NULL AND changed_at <> checked_at),
    count(*) FILTER (WHERE gone_at IS NOT NULL), sum(checks), sum(changes)
FROM known_page WHERE spider = $1;

-- name: median
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY interval_s)
FROM known_page WHERE spider = $1 AND checks > 0 AND gone_at IS NULL;
