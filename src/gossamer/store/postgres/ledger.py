"""Looking things up in the ledger in PostgreSQL, as ``store/sqlite/ledger.py`` does in SQLite.

Guarantee: reads only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gossamer.core.jobs import Job
from gossamer.core.results import EVERY_ATTEMPT, Attempt, AttemptFilter, PageRecord
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.drivers.sql import load_statements
from gossamer.store.attempts import latest_attempts
from gossamer.store.postgres.json import clean_text

SQL = load_statements("gossamer.store.postgres", "store.sql")


class PostgresLedgerReader:
    """The ledger, the pages and the items of a server, as a person asks for them."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    def __repr__(self) -> str:
        return f"<PostgresLedgerReader on {self._server!r}>"

    async def find_attempts(
        self, job: Job, limit: int, which: AttemptFilter = EVERY_ATTEMPT
    ) -> list[Attempt]:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        spellings = [clean_text(url) for url in which.urls] or None
        words = (which.verdict, which.reason, which.method, which.flag, which.rung, which.proxy)
        asked = (which.status, which.fingerprint, *(word or None for word in words))

        async def older_than(last: int, count: int) -> Sequence[Any]:
            values = (job.id, last, count, spellings, *asked)
            return await self._server.run(lambda conn: conn.fetch(SQL["attempts"], *values))

        return await latest_attempts(older_than, limit, which.host)

    async def find_page(self, job: Job, fingerprint: int) -> PageRecord | None:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        row = await self._server.run(lambda conn: conn.fetchrow(SQL["page"], job.id, fingerprint))
        return None if row is None else PageRecord(**row)

    async def items_on(self, job: Job, url: str) -> int:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        return int(
            await self._server.run(lambda conn: conn.fetchval(SQL["items_on"], job.id, clean_text(url)))
        )
