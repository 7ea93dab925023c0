"""Known pages of spiders, in the one SQLite file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from sqlite3 import Connection

import msgspec

from gossamer.core.freshness import FIRST_PLACE, FreshnessCounts, KnownPage, PagePlace
from gossamer.core.results import VisitResult
from gossamer.core.storable import without_surrogates as text
from gossamer.drivers.sql import load_statements, write_rows
from gossamer.drivers.sqlite.database import Database
from gossamer.store.known_pages import counts_of, known_pages_of, page_of, row_of_page

SQL = load_statements("gossamer.store.sqlite", "known_pages.sql")


def save_results(conn: Connection, spider: str, results: Sequence[VisitResult]) -> None:
    """Store the known pages of results in the caller's transaction."""
    name = text(spider)
    rows = [
        (name, *(text(value) if type(value) is str else value for value in row_of_page(page)))
        for page in known_pages_of(results)
    ]
    write_rows(conn, SQL["save_pages"], rows)


class SqliteKnownPageStore:
    """A ``KnownPageStore`` over a database."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def find_pages(self, spider: str, fingerprints: Collection[int]) -> dict[int, KnownPage]:
        """See :class:`~gossamer.ports.known_page_store.KnownPageStore`."""
        asked = (text(spider), msgspec.json.encode([*fingerprints]).decode())
        rows = await self._db.read(lambda conn: conn.execute(SQL["pages"], asked).fetchall())
        return {row[0]: page_of(row) for row in rows}

    async def read_due(
        self, spider: str, before: float, after: PagePlace = FIRST_PLACE, limit: int = 1000
    ) -> list[KnownPage]:
        """See :class:`~gossamer.ports.known_page_store.KnownPageStore`."""
        asked = (text(spider), before, *after, limit)
        rows = await self._db.read(lambda conn: conn.execute(SQL["due"], asked).fetchall())
        return [page_of(row) for row in rows]

    async def count_rates(self, spider: str) -> dict[int, int]:
        """See :class:`~gossamer.ports.known_page_store.KnownPageStore`."""
        rows = await self._db.read(lambda conn: conn.execute(SQL["rates"], (text(spider),)).fetchall())
        return dict(rows)

    async def count_pages(self, spider: str, now: float) -> FreshnessCounts:
        """See :class:`~gossamer.ports.known_page_store.KnownPageStore`."""

        def count(conn: Connection) -> FreshnessCounts:
            counted = conn.execute(SQL["counts"], (text(spider), now)).fetchone()
            middle = conn.execute(SQL["median"], (text(spider),)).fetchone()
            return counts_of(counted, None if middle is None else middle[0])

        return await self._db.read(count)
