"""Looking at items in PostgreSQL, as ``store/sqlite/items.py`` does in SQLite. Guarantee: reads only."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.jobs import FoundItemRows, ItemFilter, ItemPlace, ItemRows, Job, StoredItem
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.drivers.sql import load_statements
from gossamer.store.items import item_of, page_items, sample_items
from gossamer.store.postgres.json import clean_text, from_jsonb

SQL = load_statements("gossamer.store.postgres", "items.sql")


class PostgresItemReader:
    """An ``ItemReader`` on a server."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def page_items(
        self, job: Job, limit: int, which: ItemFilter, before: ItemPlace | None = None
    ) -> ItemRows:
        """See :class:`~gossamer.ports.item_reader.ItemReader`."""
        asked = [clean_text(text) or None for text in (which.type, which.missing, which.text)]
        spider, since = clean_text(job.name), which.changed_since or 0.0

        async def read_slice(place: ItemPlace, size: int, count: int) -> list[tuple[StoredItem, float]]:
            values = (spider, *place, since, size, job.id, count, *asked)
            rows = await self._server.run(lambda conn: conn.fetch(SQL["slice"], *values))
            return [(item_of(tuple(row)[:7], from_jsonb(row[7], row[8])), row[9]) for row in rows]

        async def find_edge(place: ItemPlace, size: int) -> ItemPlace | None:
            values = (spider, *place, since, size - 1)
            row = await self._server.run(lambda conn: conn.fetchrow(SQL["edge"], *values))
            return None if row is None else (row[0], row[1])

        return await page_items(read_slice, find_edge, limit, before)

    async def find_items(self, job: Job, url: str, limit: int) -> FoundItemRows:
        """See :class:`~gossamer.ports.item_reader.ItemReader`."""
        values = (job.id, clean_text(url), limit)
        rows = await self._server.run(lambda conn: conn.fetch(SQL["on_page"], *values))
        items = tuple(item_of(tuple(row)[:7], from_jsonb(row[7], row[8])) for row in rows)
        return FoundItemRows(items=items, total=rows[0][9] if rows else 0)

    async def sample_items(self, job: Job, limit: int, most_bytes: int) -> list[StoredItem]:
        """See :class:`~gossamer.ports.item_reader.ItemReader`."""

        async def read_values(some: Sequence[int]) -> list[tuple[StoredItem, int]]:
            rows = await self._server.run(lambda conn: conn.fetch(SQL["of_ids"], job.id, list(some)))
            return [(item_of(tuple(row)[:7], from_jsonb(row[7], row[8])), len(row[7])) for row in rows]

        rows = await self._server.run(lambda conn: conn.fetch(SQL["sample"], job.id, limit))
        return await sample_items([row[0] for row in rows], read_values, most_bytes)

    async def read_versions(self, spider: str, kind: str, key: str, limit: int = 100) -> list[StoredItem]:
        """See :class:`~gossamer.ports.item_reader.ItemReader`."""
        values = (clean_text(spider), clean_text(kind), clean_text(key), limit)
        rows = await self._server.run(lambda conn: conn.fetch(SQL["versions"], *values))
        return [item_of(tuple(row)[:7], from_jsonb(row[7], row[8])) for row in rows]

    async def list_types(self, job: Job, limit: int | None = None) -> list[str]:
        """See :class:`~gossamer.ports.item_reader.ItemReader`."""
        rows = await self._server.run(lambda conn: conn.fetch(SQL["types"], clean_text(job.name), limit))
        return [row[0] for row in rows]
