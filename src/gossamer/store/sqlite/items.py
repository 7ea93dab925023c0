"""Looking at items in the one SQLite file. Guarantee: reads only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from gossamer.core.jobs import FoundItemRows, ItemFilter, ItemPlace, ItemRows, Job, StoredItem
from gossamer.core.storable import without_surrogates as clean
from gossamer.drivers.sql import load_statements
from gossamer.drivers.sqlite.database import Database
from gossamer.store.items import item_of, page_items, sample_items

SQL = load_statements("gossamer.store.sqlite", "items.sql")
_from_json: Callable[[str], dict[str, Any]] = msgspec.json.Decoder(dict[str, Any]).decode


class SqliteItemReader:
    """An ``ItemReader`` over a database."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def page_items(
        self, job: Job, limit: int, which: ItemFilter, before: ItemPlace | None = None
    ) -> ItemRows:
        """See :class:`~gossamer.ports.item_reader.ItemReader`."""
        named = {"of_type": which.type, "without_field": which.missing, "with_text": which.text}
        asked = {SQL[name]: clean(text) for name, text in named.items() if text}
        sql = SQL["slice"].replace(":which", " ".join(asked))
        spider, since = clean(job.name), which.changed_since or 0.0

        async def read_slice(place: ItemPlace, size: int, count: int) -> list[tuple[StoredItem, float]]:
            values = (spider, *place, since, size, job.id, *asked.values(), count)
            rows = await self._db.read(lambda conn: conn.execute(sql, values).fetchall())
            return [(item_of(row[:7], _from_json(row[7])), row[8]) for row in rows]

        async def find_edge(place: ItemPlace, size: int) -> ItemPlace | None:
            values = (spider, *place, since, size - 1)
            row: ItemPlace | None = await self._db.read(
                lambda conn: conn.execute(SQL["edge"], values).fetchone()
            )
            return row

        return await page_items(read_slice, find_edge, limit, before)

    async def find_items(self, job: Job, url: str, limit: int) -> FoundItemRows:
        """See :class:`~gossamer.ports.item_reader.ItemReader`."""
        values = (job.id, url, clean(job.name), limit)
        rows = await self._db.read(lambda conn: conn.execute(SQL["on_page"], values).fetchall())
        items = tuple(item_of(row[:7], _from_json(row[7])) for row in rows)
        return FoundItemRows(items=items, total=rows[0][8] if rows else 0)

    async def sample_items(self, job: Job, limit: int, most_bytes: int) -> list[StoredItem]:
        """See :class:`~gossamer.ports.item_reader.ItemReader`."""

        async def read_values(some: Sequence[int]) -> list[tuple[StoredItem, int]]:
            values = (job.id, msgspec.json.encode(some).decode())
            rows = await self._db.read(lambda conn: conn.execute(SQL["of_ids"], values).fetchall())
            return [(item_of(row[:7], _from_json(row[7])), len(row[7])) for row in rows]

        numbers = await self._db.read(lambda conn: conn.execute(SQL["sample"], (job.id, limit)).fetchall())
        return await sample_items([row[0] for row in numbers], read_values, most_bytes)

    async def read_versions(self, spider: str, kind: str, key: str, limit: int = 100) -> list[StoredItem]:
        """See :class:`~gossamer.ports.item_reader.ItemReader`."""
        values = (clean(spider), clean(kind), clean(key), limit)
        rows = await self._db.read(lambda conn: conn.execute(SQL["versions"], values).fetchall())
        return [item_of(row[:7], _from_json(row[7])) for row in rows]

    async def list_types(self, job: Job, limit: int | None = None) -> list[str]:
        """See :class:`~gossamer.ports.item_reader.ItemReader`."""
        values = (clean(job.name), -1 if limit is None else limit)
        rows = await self._db.read(lambda conn: conn.execute(SQL["types"], values).fetchall())
        return [row[0] for row in rows]
