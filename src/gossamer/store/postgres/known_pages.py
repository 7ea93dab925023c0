"""Known pages of spiders, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from gossamer.core.freshness import FIRST_PLACE, FreshnessCounts, KnownPage, PagePlace
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.drivers.sql import load_statements
from gossamer.store.known_pages import counts_of, page_of, row_of_page
from gossamer.store.postgres.json import clean_text

if TYPE_CHECKING:
    from gossamer.drivers.postgres.types import Connection

SQL = load_statements("gossamer.store.postgres", "known_pages.sql")


def columns_of_pages(spider: str, pages: Sequence[KnownPage]) -> tuple[Any, ...]:
    """Return the arguments of the statement that stores pages, each of which is there once."""
    rows = [
        [clean_text(value) if type(value) is str else value for value in row_of_page(page)] for page in pages
    ]
    return (clean_text(spider), *(list(column) for column in zip(*rows, strict=True)))


class PostgresKnownPageStore:
    """A ``KnownPageStore`` on a server."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def find_pages(self, spider: str, fingerprints: Collection[int]) -> dict[int, KnownPage]:
        """See :class:`~gossamer.ports.known_page_store.KnownPageStore`."""
        asked = (clean_text(spider), [*fingerprints])
        rows = await self._server.run(lambda conn: conn.fetch(SQL["pages"], *asked))
        return {row[0]: page_of(row) for row in rows}

    async def read_due(
        self, spider: str, before: float, after: PagePlace = FIRST_PLACE, limit: int = 1000
    ) -> list[KnownPage]:
        """See :class:`~gossamer.ports.known_page_store.KnownPageStore`."""
        asked = (clean_text(spider), before, *after, limit)
        rows = await self._server.run(lambda conn: conn.fetch(SQL["due"], *asked))
        return [page_of(row) for row in rows]

    async def count_rates(self, spider: str) -> dict[int, int]:
        """See :class:`~gossamer.ports.known_page_store.KnownPageStore`."""
        rows = await self._server.run(lambda conn: conn.fetch(SQL["rates"], clean_text(spider)))
        return {row[0]: row[1] for row in rows}

    async def count_pages(self, spider: str, now: float) -> FreshnessCounts:
        """See :class:`~gossamer.ports.known_page_store.KnownPageStore`."""

        async def count(conn: Connection) -> FreshnessCounts:
            counted = await conn.fetchrow(SQL["counts"], clean_text(spider), now)
            return counts_of(tuple(counted or ()), await conn.fetchval(SQL["median"], clean_text(spider)))

        return await self._server.run(count)
