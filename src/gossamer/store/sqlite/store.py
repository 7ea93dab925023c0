"""Items, pages and the ledger in the one SQLite file.

Guarantee: a batch is stored as a whole or not at all; items are upserts by (spider, type, key), so
storing one twice changes nothing but ``last_seen`` and the count of duplicates; a page that is stored again,
because its lease was lost before it was settled, is the same page, and counts once; totals are counted in
the same transaction. Text from pages is stored whatever it holds.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from sqlite3 import Connection
from typing import Any

import msgspec

from gossamer.core.errors import LedgerReason
from gossamer.core.jobs import EVERY_ITEM, ItemFilter, Job, JobTotals, StoredItem
from gossamer.core.results import Attempt, VisitResult
from gossamer.core.storable import without_surrogates as text
from gossamer.drivers.sql import load_statements, write_rows, write_rows_returning
from gossamer.drivers.sqlite.database import Database
from gossamer.policy.counter_rules import STAT
from gossamer.policy.item_filter import fits_filter
from gossamer.store.attempts import LATEST, attempt_of, packed_request
from gossamer.store.counters import NO_STATS, BatchCounts, count_rows, count_stale
from gossamer.store.sqlite.item_writer import ItemWriter, clean_texts
from gossamer.store.sqlite.jobs import job_number
from gossamer.store.sqlite.samples import keep_samples
from gossamer.store.sqlite.series import add_counts
from gossamer.store.totals import count_results, totals_of, visit_of

SQL = load_statements("gossamer.store.sqlite", "store.sql")
PAGE = 500  # items read at a time
PRUNED = 2000
"""Rows of the ledger that are deleted in one transaction."""
DAY_S = 86_400.0

_from_json: Callable[[str], dict[str, Any]] = msgspec.json.Decoder(dict[str, Any]).decode


class SqliteStore:
    """A ``Store`` over a database; the options are those of ``PostgresStore``."""

    def __init__(
        self,
        db: Database,
        *,
        min_interval_s: float = 0.0,
        history: bool = False,
        follows_changes: bool = False,
        ledger_days: int | None = None,
    ) -> None:
        self._db = db
        self._ledger_days = ledger_days
        self._items = ItemWriter(min_interval_s, keeps_history=history, is_followed=follows_changes)

    def __repr__(self) -> str:
        return f"<SqliteStore in {self._db!r}>"

    async def write(self, job: Job, results: Sequence[VisitResult]) -> None:
        """See :class:`~gossamer.ports.store.Store`."""
        await self._db.run(lambda conn: self._write_results(conn, job, results, _upsert_pages))

    async def record_attempts(
        self, job: Job, attempts: Sequence[Attempt], stats: Mapping[str, int] = NO_STATS
    ) -> None:
        """See :class:`~gossamer.ports.store.Store`."""

        def record(conn: Connection) -> None:
            number = job_number(conn, job)
            _write_attempts(conn, number, attempts)
            _add_counters(conn, number, count_rows(attempts, stats))

        await self._db.run(record)

    async def mark_stale(self, job: Job, attempts: Sequence[Attempt]) -> None:
        """See :class:`~gossamer.ports.store.Store`."""

        await self._db.run(lambda conn: _mark_rows_stale(conn, job_number(conn, job), attempts))

    def write_within(
        self, conn: Connection, job: Job, kept: Sequence[VisitResult], lost: Sequence[VisitResult]
    ) -> None:
        """Store results in the caller's transaction, which has settled the leases of ``kept``."""
        self._write_results(conn, job, kept, _add_pages)
        if not lost:
            return
        self._write_results(conn, job, lost, _upsert_pages)
        rows = [attempt for result in lost for attempt in result.attempts]
        _mark_rows_stale(conn, job_number(conn, job), rows)

    def _write_results(
        self,
        conn: Connection,
        job: Job,
        results: Sequence[VisitResult],
        write_pages: Callable[[Connection, int, Sequence[VisitResult]], int],
    ) -> None:
        number = job_number(conn, job)
        changes = count_results(results)
        items, duplicates = self._items.write_items(conn, number, job.name, results)
        pages = write_pages(conn, number, [result for result in results if result.page is not None])
        _write_attempts(conn, number, [attempt for result in results for attempt in result.attempts])
        if samples := [sample for result in results for sample in result.samples]:
            keep_samples(conn, number, samples)
        if any(result.known for result in results):
            # Most crawls do without.
            import_module("gossamer.store.sqlite.known_pages").save_results(conn, job.name, results)
        changes.add_found(pages, items, duplicates)
        _add_counters(conn, number, changes)

    async def read_items(
        self, job: Job | None = None, after_id: int = 0, which: ItemFilter = EVERY_ITEM
    ) -> AsyncIterator[StoredItem]:
        """See :class:`~gossamer.ports.store.Store`. Reads a page at a time."""
        is_whole = not (which.missing or which.text)  # the rest of a filter is in the statement
        while True:
            rows = await self._db.read(lambda conn, after=after_id: _read_items(conn, job, after, which))  # type: ignore[misc]
            for item in map(_item_of, rows):
                if is_whole or fits_filter(item, which):
                    yield item
            if len(rows) < PAGE:
                return
            after_id = rows[-1][0]

    async def prune_ledger(self, now: float) -> int:
        """Delete the days that the ledger does not keep; how many rows that were. See ``StoreBackend``."""
        if self._ledger_days is None:
            return 0
        before = (now // DAY_S - self._ledger_days) * DAY_S
        deleted, start = 0, 0
        while True:  # writers have their turns in between
            rows, behind = await self._db.run(partial(_prune_part, start=start, before=before, now=now))
            deleted += rows
            if behind is None:
                return deleted
            start = behind

    async def latest_attempts(self, job: Job, url: str | None = None, limit: int = 1000) -> list[Attempt]:
        """See :class:`~gossamer.ports.store.Store`."""
        wanted = None if url is None else text(url)
        rows = await self._db.read(
            lambda conn: conn.execute(SQL["attempts"], (job.id, wanted, limit)).fetchall()
        )
        return [attempt_of(row) for row in rows]

    async def read_totals(self, job: Job) -> JobTotals:
        """See :class:`~gossamer.ports.store.Store`."""
        rows = await self._db.read(lambda conn: conn.execute(SQL["tally"], (job.id,)).fetchall())
        return totals_of(dict(rows))


def _write_attempts(conn: Connection, job: int, attempts: Sequence[Attempt]) -> None:
    write_rows(conn, SQL["add_attempts"], [_attempt_row(job, attempt) for attempt in attempts])


def _mark_rows_stale(conn: Connection, job: int, attempts: Sequence[Attempt]) -> None:
    marked = [attempt for attempt in attempts if _mark_stale(conn, job, attempt)]
    _add_counters(conn, job, count_stale(marked))


def _mark_stale(conn: Connection, job: int, attempt: Attempt) -> bool:
    """Whether it was not marked already."""
    row = (job, attempt.fingerprint, attempt.at, text(attempt.worker))
    return conn.execute(SQL["mark_stale"], (*row, LedgerReason.STALE.value, LATEST)).rowcount > 0


def _add_counters(conn: Connection, job: int, changes: BatchCounts) -> None:
    total = changes.total
    write_rows(
        conn,
        SQL["count"],
        [(job, text(name), value) for name, value in total.items() if value or name.startswith(STAT)],
    )
    add_counts(conn, job, changes)


def _add_pages(conn: Connection, job: int, results: Sequence[VisitResult]) -> int:
    """Return the number of those that are new: all, but for those of which another lease was lost."""
    again = [result for result in results if result.outcome.lease.expiries]
    first = [result for result in results if not result.outcome.lease.expiries] if again else results
    added = write_rows(conn, SQL["add_pages"], [_page_row(job, result) for result in first])
    return added + (_upsert_pages(conn, job, again) if again else 0)


def _upsert_pages(conn: Connection, job: int, results: Sequence[VisitResult]) -> int:
    """Return the number of those that are new."""
    rows = [(*_page_row(job, result), _visit_number(conn, job, result)) for result in results]
    return write_rows_returning(conn, SQL["upsert_pages"], rows).count((1,))


def _visit_number(conn: Connection, job: int, result: VisitResult) -> int:
    visit, is_again = visit_of(result)
    if not is_again:
        return visit
    found = conn.execute(SQL["latest_visit"], (job, result.outcome.lease.entry.fingerprint)).fetchone()
    return visit if found[0] is None else int(found[0])


def _page_row(job: int, result: VisitResult) -> tuple[Any, ...]:
    page = result.page
    assert page is not None
    numbers = (job, page.fingerprint, page.at, page.status, page.depth, page.size_bytes, page.items)
    return (*numbers, *clean_texts((page.content_type, page.title, page.url)))


def _attempt_row(job: int, a: Attempt) -> tuple[Any, ...]:
    numbers = (job, a.fingerprint, a.at, a.attempt, a.status, a.depth, a.size_bytes, a.elapsed_ms)
    fetched_by = (a.proxy, a.session, a.address)
    stored = clean_texts((a.reason, a.rung, a.worker, a.url, a.via, a.detail, a.method, *fetched_by))
    return (
        *numbers,
        a.verdict.value,
        *stored,
        " ".join(a.flags),
        packed_request(a),
        a.cost,
        a.wire_bytes,
    )


def _read_items(conn: Connection, job: Job | None, after_id: int, which: ItemFilter) -> list[Any]:
    values = (after_id, PAGE, text(which.type) or None, which.changed_since)
    if job is None:
        return conn.execute(SQL["items"], values).fetchall()
    return conn.execute(SQL["items_of_job"], (*values, job.id)).fetchall()


def _item_of(row: Sequence[Any]) -> StoredItem:
    number, kind, key, data, url, first_seen, last_seen, changed_at = row
    return StoredItem(
        id=number,
        type=kind,
        key=key,
        data=_from_json(data),
        url=url,
        first_seen=first_seen,
        last_seen=last_seen,
        changed_at=changed_at,
    )


def _prune_part(conn: Connection, *, start: int, before: float, now: float) -> tuple[int, int | None]:
    """Return the number of rows deleted behind ``start``, and the next start; ``None``: no old rows follow.

    Rows are written about in the order of their times, except for those of a clock that was ahead.
    """
    last, count, current = conn.execute(SQL["prune_part"], (start, PRUNED, before, now)).fetchone()
    if not count:
        return 0, None
    deleted = conn.execute(SQL["prune"], (start, last, before)).rowcount
    return deleted, None if current or count < PRUNED else last
