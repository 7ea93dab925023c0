"""Looking things up in the ledger: the tries that fit a filter, and what became of one page.

Guarantee: reads only.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from functools import partial
from sqlite3 import Connection
from typing import Any

import msgspec

from gossamer.core.drops import DropSample
from gossamer.core.jobs import Job
from gossamer.core.results import EVERY_ATTEMPT, Attempt, AttemptFilter, AttemptRows, PageRecord
from gossamer.core.storable import without_surrogates as text
from gossamer.drivers.sql import load_statements
from gossamer.drivers.sqlite.database import Database
from gossamer.store.attempts import SLICE, latest_attempts, page_attempts
from gossamer.store.samples import distinct_samples, sample_of

SQL = load_statements("gossamer.store.sqlite", "ledger.sql")
PAGES = 500
"""Pages that are read at a time."""


class SqliteLedgerReader:
    """The ledger and the pages of a database, as a person asks for them."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def __repr__(self) -> str:
        return f"<SqliteLedgerReader in {self._db!r}>"

    async def find_attempts(
        self, job: Job, limit: int, which: AttemptFilter = EVERY_ATTEMPT
    ) -> list[Attempt]:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        asked = _conditions_of(which)
        fitting = "".join(f" AND {text}" for text in asked)
        sql = SQL["attempts_at" if which.urls else "attempts"].replace(":which", fitting)

        async def older_than(last: int, count: int) -> Sequence[Any]:
            values = (job.id, last, *asked.values(), count)
            return await self._db.read(lambda conn: conn.execute(sql, values).fetchall())

        return await latest_attempts(older_than, limit, which.host)

    async def page_attempts(
        self, job: Job, limit: int, which: AttemptFilter = EVERY_ATTEMPT, before_id: int | None = None
    ) -> AttemptRows:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        return await page_attempts(_SqliteLedgerRows(self._db, job, which), limit, which, before_id)

    async def read_pages(self, job: Job) -> AsyncIterator[PageRecord]:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        last, count = 0, PAGES
        while count == PAGES:
            rows = await self._db.read(partial(_read_pages, job, last))
            count = len(rows)
            for last, *row in rows:  # noqa: B007 - where the next part begins
                yield PageRecord(**dict(zip(PageRecord.__struct_fields__, row, strict=True)))

    async def find_page(self, job: Job, fingerprint: int) -> PageRecord | None:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        row = await self._db.read(lambda conn: conn.execute(SQL["page"], (job.id, fingerprint)).fetchone())
        return (
            None if row is None else PageRecord(**dict(zip(PageRecord.__struct_fields__, row, strict=True)))
        )

    async def read_samples(self, job: Job, reason: str = "", limit: int = 50) -> list[DropSample]:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        values = (job.id, text(reason), 2 * limit)  # one may stand in two slots
        rows = await self._db.read(lambda conn: conn.execute(SQL["samples"], values).fetchall())
        return distinct_samples(map(sample_of, rows), limit)


def _read_pages(job: Job, last: int, conn: Connection) -> list[Any]:
    return conn.execute(SQL["pages"], (job.id, last, PAGES)).fetchall()


class _SqliteLedgerRows:
    """A part of one job's ledger, as ``store.attempts.page_attempts`` reads it."""

    def __init__(self, db: Database, job: Job, which: AttemptFilter) -> None:
        self._db = db
        self._base: tuple[Any, ...] = (job.id,)
        by_reason = ""
        if which.reason:
            by_reason, self._base = "AND reason = ? AND reason <> ''", (job.id, which.reason)
        conditions = _conditions_of(which)
        if which.host:  # nearly: what of these is of another host is left out later
            conditions["instr(url, '//' || ?) > 0"] = which.host
        self._asked = tuple(conditions.values())
        fitting = "".join(f" AND {text}" for text in conditions)
        self._slice = SQL["slice"].replace(":base", by_reason).replace(":which", fitting)
        self._below = SQL["row_below"].replace(":base", by_reason)

    async def read_slice(self, before: int, count: int) -> Sequence[Any]:
        """See :class:`~gossamer.store.attempts.LedgerRows`."""
        values = (*self._base, before, SLICE, *self._asked, count)
        return await self._db.read(lambda conn: conn.execute(self._slice, values).fetchall())

    async def find_edge(self, before: int) -> tuple[int, float] | None:
        """See :class:`~gossamer.store.attempts.LedgerRows`."""
        return await self._find_row(before, SLICE - 1)

    async def find_below(self, number: int) -> tuple[int, float] | None:
        """See :class:`~gossamer.store.attempts.LedgerRows`."""
        return await self._find_row(number, 0)

    async def _find_row(self, before: int, behind: int) -> tuple[int, float] | None:
        values = (*self._base, before, behind)
        row: tuple[int, float] | None = await self._db.read(
            lambda conn: conn.execute(self._below, values).fetchone()
        )
        return row


def _conditions_of(which: AttemptFilter) -> dict[str, Any]:
    """Return the conditions of a filter that SQLite checks, with their values."""
    asked: dict[str, Any] = {
        "status = ?": which.status,
        "verdict = ?": which.verdict or None,
        "reason <> '' AND reason = ?": which.reason or None,  # by the index of those that have one
        "method = ?": which.method or None,
        "fingerprint = ?": which.fingerprint,
        "instr(' ' || flags || ' ', ' ' || ? || ' ') > 0": which.flag or None,
        "instr(rung || '+', ? || '+') = 1": which.rung or None,
        "proxy = ?": which.proxy or None,
        "status >= ?": which.statuses[0] if which.statuses else None,
        "status < ?": which.statuses[1] if which.statuses else None,
        "worker = ?": which.worker or None,
        "at >= ?": which.since,
        "at < ?": which.until,
    }
    asked = {text: value for text, value in asked.items() if value is not None}
    if which.urls:
        asked["url IN (SELECT value FROM json_each(?))"] = msgspec.json.encode(which.urls).decode()
    return asked
