"""Looking things up in the ledger in PostgreSQL, as ``store/sqlite/ledger.py`` does in SQLite.

Guarantee: reads only.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from gossamer.core.drops import DropSample
from gossamer.core.jobs import Job
from gossamer.core.results import EVERY_ATTEMPT, Attempt, AttemptFilter, AttemptRows, PageRecord
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.drivers.sql import load_statements
from gossamer.store.attempts import NEWEST, SLICE, latest_attempts, page_attempts
from gossamer.store.postgres.json import clean_text
from gossamer.store.samples import distinct_samples, sample_of

SQL = load_statements("gossamer.store.postgres", "store.sql")
AT_URLS = """(
    SELECT * FROM attempt
    WHERE ARRAY[hashtext(url)] && ARRAY(SELECT hashtext(asked) FROM unnest($6::text[]) AS asked) OFFSET 0
)"""
"""The rows of some URLs, by the index attempt_url, whatever else is asked of them."""
PAGES = 500
"""Pages that are read at a time."""


class PostgresLedgerReader:
    """The ledger and the pages of a server, as a person asks for them."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    def __repr__(self) -> str:
        return f"<PostgresLedgerReader on {self._server!r}>"

    async def find_attempts(
        self, job: Job, limit: int, which: AttemptFilter = EVERY_ATTEMPT
    ) -> list[Attempt]:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        rows = _PostgresLedgerRows(self._server, job, which, within=NEWEST)
        return await latest_attempts(rows.read_slice, limit, which.host)

    async def page_attempts(
        self, job: Job, limit: int, which: AttemptFilter = EVERY_ATTEMPT, before_id: int | None = None
    ) -> AttemptRows:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        return await page_attempts(_PostgresLedgerRows(self._server, job, which), limit, which, before_id)

    async def read_pages(self, job: Job) -> AsyncIterator[PageRecord]:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        last, count = (-(1 << 63), -(1 << 63)), PAGES
        while count == PAGES:
            values = (job.id, *last, PAGES)
            rows = await self._server.run(lambda conn, values=values: conn.fetch(SQL["pages"], *values))  # type: ignore[misc]
            count = len(rows)
            for visit, *row in rows:
                page = PageRecord(**dict(zip(PageRecord.__struct_fields__, row, strict=True)))
                last = (page.fingerprint, visit)
                yield page

    async def find_page(self, job: Job, fingerprint: int) -> PageRecord | None:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        row = await self._server.run(lambda conn: conn.fetchrow(SQL["page"], job.id, fingerprint))
        return None if row is None else PageRecord(**row)

    async def read_samples(self, job: Job, reason: str = "", limit: int = 50) -> list[DropSample]:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        values = (job.id, clean_text(reason), 2 * limit)  # one may stand in two slots
        rows = await self._server.run(lambda conn: conn.fetch(SQL["samples"], *values))
        return distinct_samples(map(sample_of, rows), limit)


class _PostgresLedgerRows:
    """A part of one job's ledger (``store.attempts.LedgerRows``); ``within`` limits it to the newest rows."""

    def __init__(
        self, server: PostgresServer, job: Job, which: AttemptFilter, *, within: int = SLICE
    ) -> None:
        self._server = server
        self._within = within
        self._job = job.id
        self._reason = clean_text(which.reason) or None
        words = (which.verdict, which.method, which.flag, which.rung, which.proxy)
        self._asked = (
            [clean_text(url) for url in which.urls] or None,
            which.status,
            which.fingerprint,
            *(clean_text(word) or None for word in words),
            which.since,
            which.until,
            *(which.statuses or (None, None)),
            clean_text(which.worker) or None,
            clean_text(which.host) or None,  # nearly: what of these is of another host is left out later
        )
        base = "reason = $3 AND reason <> ''" if self._reason else "$3::text IS NULL"
        at_urls = which.urls and within == NEWEST  # reading in slices is bounded anyway
        source = AT_URLS if at_urls else "attempt"
        self._slice = SQL["slice"].replace(":base", base).replace(":source", source)
        self._below = SQL["row_below"].replace(":base", base)

    async def read_slice(self, before: int, count: int) -> Sequence[Any]:
        """See :class:`~gossamer.store.attempts.LedgerRows`."""
        values = (self._job, before, self._reason, self._within, count, *self._asked)
        return await self._server.run(lambda conn: conn.fetch(self._slice, *values))

    async def find_edge(self, before: int) -> tuple[int, float] | None:
        """See :class:`~gossamer.store.attempts.LedgerRows`."""
        return await self._find_row(before, SLICE - 1)

    async def find_below(self, number: int) -> tuple[int, float] | None:
        """See :class:`~gossamer.store.attempts.LedgerRows`."""
        return await self._find_row(number, 0)

    async def _find_row(self, before: int, behind: int) -> tuple[int, float] | None:
        values = (self._job, before, self._reason, behind)
        row = await self._server.run(lambda conn: conn.fetchrow(self._below, *values))
        return None if row is None else (row[0], row[1])
