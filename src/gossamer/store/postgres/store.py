"""Items, pages and the ledger in PostgreSQL.

Guarantee: a batch is stored as a whole or not at all, and exactly once, also when the connection is lost
during its commit, or the server restarts (``receipt`` in ``migrations/0001_start.sql``). Items are upserts by
(spider, type, key): the newer one wins, and only if it differs. A page that is stored again, because its
lease was lost before it was settled, is the same page, and counts once; the rows of the ledger record
separate tries, and both are kept. Any text from pages is stored (NUL and halves of surrogate pairs are
replaced); an item that PostgreSQL refuses is left out, counted and logged, and the others are stored.

Back-pressure: ``write`` returns when the batch is on the server's disk, and keeps nothing until then.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gossamer.core.errors import LedgerReason
from gossamer.core.jobs import EVERY_ITEM, ItemFilter, Job, JobTotals, StoredItem
from gossamer.core.results import Attempt, VisitResult
from gossamer.core.series import COLUMNS
from gossamer.drivers.postgres.errors import RefusedValueError
from gossamer.drivers.postgres.schema import LOCK
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.drivers.sql import load_statements
from gossamer.policy.item_filter import fits_filter
from gossamer.store.attempts import LATEST, attempt_of
from gossamer.store.counters import NO_STATS
from gossamer.store.postgres.jobs import job_number
from gossamer.store.postgres.json import clean_text, from_jsonb
from gossamer.store.postgres.known_pages import SQL as KNOWN_SQL
from gossamer.store.postgres.known_pages import columns_of_pages
from gossamer.store.postgres.rows import (
    COPIED_COLUMNS,
    DAY_S,
    Place,
    WriteBatch,
    batch_of,
    batch_of_attempts,
    stale_rows,
)
from gossamer.store.series import fill_columns
from gossamer.store.totals import totals_of

if TYPE_CHECKING:
    from gossamer.drivers.postgres.types import Connection

_FOUND = "(SELECT value FROM counted WHERE name = ':name') * (($53::bigint[])[i] = $52::bigint)::int"
_CELLS = ", ".join(
    _FOUND.replace(":name", name) if name in ("pages", "items") else f"($54::bigint[])[i][{place}]"
    for place, name in enumerate(COLUMNS, 1)
)
SQL = {
    name: statement.replace(":cells", _CELLS)
    for name, statement in fill_columns(load_statements("gossamer.store.postgres", "store.sql")).items()
}
# Few batches have examples of dropped items.
SQL["write_samples"] = SQL["write"].replace(":sampled", SQL["sampled"])
SQL["write"] = SQL["write"].replace(":sampled", "")
PAGE = 500  # items read at a time
COPIED = 200
"""From this number of ledger rows on COPY is used: more round trips, and less than half the work."""
SLOTS = 16
"""Rows among which the writers of one total are spread."""


log = logging.getLogger("gossamer.crawl")


class PostgresStore:
    """A ``Store`` on a server.

    ``min_interval_s``: an item that changed less than this ago is not changed again. ``history``: all former
    versions of items go to ``item_history``, not only those that another job saw. ``follows_changes``: what
    changes is noted for outputs. ``seen_resolution_s``: the time at which an item was seen last is moved when
    it is older than this; until then one that is as it was costs no row. ``ledger_days``: days that the
    ledger keeps; ``None`` is all.
    """

    def __init__(
        self,
        server: PostgresServer,
        *,
        min_interval_s: float = 0.0,
        history: bool = False,
        follows_changes: bool = False,
        seen_resolution_s: float = 3600.0,
        ledger_days: int | None = None,
    ) -> None:
        self._server = server
        self._min_interval_s = min_interval_s
        self._history = history
        self._more = (seen_resolution_s, follows_changes)
        self._ledger_days = ledger_days
        self._numbers: dict[str, int] = {}  # of jobs
        self._days: set[int] = set()  # that have a partition
        self._writers: list[_BatchCounter] = []  # that are not writing now

    def __repr__(self) -> str:
        return f"<PostgresStore on {self._server!r}>"

    async def write(self, job: Job, results: Sequence[VisitResult]) -> None:
        """See :class:`~gossamer.ports.store.Store`."""
        batch = batch_of(results)
        try:
            await self._write_batch(job, batch)
        except RefusedValueError:
            refused = await self._find_refused(job, batch)
            if not refused:
                raise
            batch.drop_items(refused)
            await self._write_batch(job, batch)

    async def record_attempts(
        self, job: Job, attempts: Sequence[Attempt], stats: Mapping[str, int] = NO_STATS
    ) -> None:
        """See :class:`~gossamer.ports.store.Store`."""
        await self._write_batch(job, batch_of_attempts(attempts, stats))

    async def mark_stale(self, job: Job, attempts: Sequence[Attempt]) -> None:
        """See :class:`~gossamer.ports.store.Store`."""
        number = await self._number_of(job)
        values = (number, 0, LedgerReason.STALE.value, LATEST, *stale_rows(attempts))
        await self._server.run(lambda conn: conn.execute(SQL["mark_stale"], *values))

    async def _write_batch(self, job: Job, batch: WriteBatch) -> None:
        number = await self._number_of(job)
        if missing := batch.attempt_days() - self._days:
            await self._add_days(missing)
        try:
            writer = self._writers.pop()
        except IndexError:
            writer = _BatchCounter()
        copied = batch.attempt_rows(number) if batch.attempt_count >= COPIED else []
        values = self._statement_values(writer, number, job, batch, copies=bool(copied))
        statement = SQL["write_samples" if batch.samples else "write"]
        known = columns_of_pages(job.name, batch.known) if batch.known else ()
        try:
            await self._server.run(lambda conn: write_batch(conn, statement, values, copied, known))
        except BaseException:
            # A writer whose last batch may still be under way is not used again, and outdated facts about
            # the server may be the cause.
            self._numbers.clear()
            self._days.clear()
            raise
        self._writers.append(writer)

    async def _number_of(self, job: Job) -> int:
        number = self._numbers.get(job.id)
        if number is None:
            number = self._numbers[job.id] = await self._server.run(lambda conn: job_number(conn, job))
        return number

    def _statement_values(
        self, writer: _BatchCounter, number: int, job: Job, batch: WriteBatch, *, copies: bool = False
    ) -> tuple[Any, ...]:
        writer.batch += 2  # the copied rows have the number before
        options = (clean_text(job.name), self._min_interval_s, self._history)
        columns = batch.to_values(*self._more, with_attempts=not copies)
        return (writer.id, writer.batch, number, writer.id % SLOTS, *options, *columns)

    async def _find_refused(self, job: Job, batch: WriteBatch) -> list[Place]:
        """Return the items of a batch that the server does not take, found by trying each."""
        refused: list[Place] = []
        number = await self._number_of(job)
        for place in batch.items:
            values = self._statement_values(_BatchCounter(), number, job, batch.with_only(place))
            try:
                await self._server.run(lambda conn, values=values: _try_batch(conn, values))  # type: ignore[misc]
            except RefusedValueError as error:
                refused.append(place)
                log.warning("%s: %s %.200r was not stored: %s", job.id, place[0], place[1], error)
        return refused

    async def read_items(
        self, job: Job | None = None, after_id: int = 0, which: ItemFilter = EVERY_ITEM
    ) -> AsyncIterator[StoredItem]:
        """See :class:`~gossamer.ports.store.Store`. Reads a page at a time."""
        name, more = ("items", ()) if job is None else ("items_of_job", (job.id,))
        asked = (clean_text(which.type) or None, which.changed_since)
        is_whole = not (which.missing or which.text)  # the rest of a filter is in the statement
        while True:
            values = (after_id, PAGE, *asked, *more)
            rows = await self._server.run(lambda conn, values=values: conn.fetch(SQL[name], *values))  # type: ignore[misc]
            for item in map(_item_of, rows):
                if is_whole or fits_filter(item, which):
                    yield item
            if len(rows) < PAGE:
                return
            after_id = rows[-1][0]

    async def latest_attempts(self, job: Job, url: str | None = None, limit: int = 1000) -> list[Attempt]:
        """See :class:`~gossamer.ports.store.Store`."""
        urls = None if url is None else [clean_text(url)]
        values = (job.id, limit, urls)
        rows = await self._server.run(lambda conn: conn.fetch(SQL["attempts"], *values))
        return [attempt_of(row[1:]) for row in rows]

    async def read_totals(self, job: Job) -> JobTotals:
        """See :class:`~gossamer.ports.store.Store`."""
        rows = await self._server.run(lambda conn: conn.fetch(SQL["tally"], job.id))
        return totals_of({row[0]: row[1] for row in rows})

    async def prune_ledger(self, now: float) -> int:
        """Drop the days that the ledger does not keep, make tomorrow's; how many were dropped."""
        today = int(now // DAY_S)
        await self._add_days({today, today + 1})
        first = None if self._ledger_days is None else day_name(today - self._ledger_days)

        async def drop(conn: Connection) -> int:
            await conn.execute(SQL["forget_receipts"])
            async with conn.transaction():
                await conn.execute(SQL["lock_days"], LOCK)
                days = [row[0] for row in await conn.fetch(SQL["days"])]
                old = [name for name in days if first is not None and name < first]
                await conn.execute(SQL["do_not_queue"])
                for name in old:
                    await conn.execute(f"DROP TABLE {name}")
            return len(old)

        dropped = await self._server.run(drop)
        if dropped:
            self._days.clear()
        return dropped

    async def _add_days(self, days: set[int]) -> None:
        async def add(conn: Connection) -> None:
            async with conn.transaction():
                await conn.execute(SQL["lock_days"], LOCK)
                known = {row[0] for row in await conn.fetch(SQL["days"])}
                for day in sorted(days):
                    if day_name(day) not in known:
                        bounds = {"name": day_name(day), "start": day * DAY_S, "end": (day + 1) * DAY_S}
                        await conn.execute(_fill_statement(SQL["add_day"], bounds))

        await self._server.run(add)
        self._days |= days


class _BatchCounter:
    """Numbers batches, so that one which is sent twice is known again."""

    __slots__ = ("batch", "id")

    def __init__(self) -> None:
        self.id = secrets.randbits(63)
        self.batch = 0


async def write_batch(
    conn: Connection,
    statement: str,
    values: tuple[Any, ...],
    copied: Sequence[tuple[Any, ...]],
    known: tuple[Any, ...] = (),
) -> None:
    """Write a batch, unless it is there; ``copied``: its rows of the ledger, if the statement has none.

    ``known``: the known pages, as columns; storing them twice gives the same result.
    """
    if not copied and not known:
        await conn.execute(statement, *values)
        return
    writer, number = values[:2]
    async with conn.transaction():
        if known:
            await conn.execute(KNOWN_SQL["save_pages"], *known)
        if not copied:
            await conn.execute(statement, *values)
        elif await conn.fetchval(SQL["take_receipt"], writer, number - 1) is not None:
            await conn.copy_records_to_table("attempt", records=copied, columns=COPIED_COLUMNS)
            await conn.execute(statement, *values)


class _RollbackError(Exception):
    """Ends a transaction that was only a trial."""


async def _try_batch(conn: Connection, values: tuple[Any, ...]) -> None:
    try:
        async with conn.transaction():
            await conn.execute(SQL["write"], *values)
            raise _RollbackError
    except _RollbackError:
        pass


def day_name(day: int) -> str:
    """Return the partition of a day that is counted from the epoch."""
    return "attempt_" + time.strftime("%Y%m%d", time.gmtime(day * DAY_S))


def _fill_statement(statement: str, values: dict[str, Any]) -> str:
    for name, value in values.items():
        statement = statement.replace(f":{name}", str(value))
    return statement


def _item_of(row: Any) -> StoredItem:
    number, kind, key, data, layout, url, first_seen, last_seen, changed_at = row
    return StoredItem(
        id=number,
        type=kind,
        key=key,
        data=from_jsonb(data, layout),
        url=url,
        first_seen=first_seen,
        last_seen=last_seen,
        changed_at=changed_at,
    )
