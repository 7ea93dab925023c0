"""Looking things up in the ledger: the tries that fit a filter, and what became of one page.

Guarantee: reads only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from gossamer.core.jobs import Job
from gossamer.core.results import EVERY_ATTEMPT, Attempt, AttemptFilter, PageRecord
from gossamer.drivers.sql import load_statements
from gossamer.drivers.sqlite.database import Database
from gossamer.store.attempts import latest_attempts

SQL = load_statements("gossamer.store.sqlite", "ledger.sql")
_PAGE_COLUMNS = ("url", "fingerprint", "status", "content_type", "title", "depth", "size_bytes", "at")


class SqliteLedgerReader:
    """The ledger, the pages and the items of a database, as a person asks for them."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def __repr__(self) -> str:
        return f"<SqliteLedgerReader in {self._db!r}>"

    async def find_attempts(
        self, job: Job, limit: int, which: AttemptFilter = EVERY_ATTEMPT
    ) -> list[Attempt]:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        asked: dict[str, Any] = {
            "status = ?": which.status,
            "verdict = ?": which.verdict or None,
            "reason <> '' AND reason = ?": which.reason or None,  # by the index of those that have one
            "method = ?": which.method or None,
            "fingerprint = ?": which.fingerprint,
            "instr(' ' || flags || ' ', ' ' || ? || ' ') > 0": which.flag or None,
            "instr(rung || '+', ? || '+') = 1": which.rung or None,
            "proxy = ?": which.proxy or None,
        }
        asked = {text: value for text, value in asked.items() if value is not None}
        if which.urls:
            asked["url IN (SELECT value FROM json_each(?))"] = msgspec.json.encode(which.urls).decode()
        sql = SQL["attempts"].replace(":which", "".join(f" AND {text}" for text in asked))

        async def older_than(last: int, count: int) -> Sequence[Any]:
            values = (job.id, last, *asked.values(), count)
            return await self._db.read(lambda conn: conn.execute(sql, values).fetchall())

        return await latest_attempts(older_than, limit, which.host)

    async def find_page(self, job: Job, fingerprint: int) -> PageRecord | None:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        row = await self._db.read(lambda conn: conn.execute(SQL["page"], (job.id, fingerprint)).fetchone())
        return None if row is None else PageRecord(**dict(zip(_PAGE_COLUMNS, row, strict=True)))

    async def items_on(self, job: Job, url: str) -> int:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        row = await self._db.read(lambda conn: conn.execute(SQL["items_on"], (job.id, url)).fetchone())
        return int(row[0])
