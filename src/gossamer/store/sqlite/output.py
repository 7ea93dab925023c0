"""Changed items in an SQLite file of their own, for queries by other programs."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from gossamer.core.changes import ChangedItem
from gossamer.core.errors import StorageError
from gossamer.core.storable import without_surrogates as text
from gossamer.drivers.sql import load_statements

SQL = load_statements("gossamer.store.sqlite", "output.sql")


class SqliteOutput:
    """An ``ItemOutput`` into the table ``item`` of a file: each item once, with its present values."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __repr__(self) -> str:
        return f"<SqliteOutput {self._path}>"

    async def read_state(self, former: bytes, items: Sequence[ChangedItem]) -> bytes:
        """See :class:`~gossamer.ports.item_output.ItemOutput`."""
        return b"-"  # nothing has to be known

    async def write_batch(self, name: str, items: Sequence[ChangedItem], state: bytes) -> bytes:
        """See :class:`~gossamer.ports.item_output.ItemOutput`."""
        try:
            await asyncio.to_thread(self._upsert, items)
        except (sqlite3.Error, OSError) as error:
            raise StorageError(f"{self._path} cannot be written ({error})") from error
        return state

    def _upsert(self, items: Sequence[ChangedItem]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        rows = [
            (
                *(text(part) for part in (item.spider, item.type, item.key, item.url)),
                *(item.first_seen, item.last_seen, item.changed_at),
                msgspec.json.encode(item.data).decode(),
            )
            for item in items
        ]
        with closing(sqlite3.connect(self._path, timeout=30.0)) as conn, conn:
            conn.execute(SQL["make_table"])
            conn.executemany(SQL["upsert"], rows)

    async def close(self) -> None:
        """Nothing is held."""
