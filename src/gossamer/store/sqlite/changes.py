"""Changes of items in the one SQLite file, which has one writer at a time: their numbers are their places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import asdict

from gossamer.core.changes import ChangedItem, ItemChanges, OutputPosition
from gossamer.drivers.sql import load_statements
from gossamer.drivers.sqlite.database import Database
from gossamer.store.items import item_of

SQL = load_statements("gossamer.store.sqlite", "changes.sql")
END = 2**63 - 1

_from_json: Callable[[str], dict[str, Any]] = msgspec.json.Decoder(dict[str, Any]).decode


class SqliteChangeFeed:
    """A ``ChangeFeed`` over a database."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def read_changes(self, after: str, limit: int, until: str = "") -> ItemChanges:
        """See :class:`~gossamer.ports.change_feed.ChangeFeed`."""
        values = (int(after or 0), int(until or END), limit)
        rows = await self._db.read(lambda conn: conn.execute(SQL["changes"], values).fetchall())
        items = tuple(
            ChangedItem(**asdict(item_of(row[1:8], _from_json(row[8]))), spider=row[9])
            for row in rows
            if row[1] is not None
        )
        return ItemChanges(items=items, last=f"{rows[-1][0]:020d}" if rows else after)

    async def count_changes(self, after: str, most: int) -> int:
        """See :class:`~gossamer.ports.change_feed.ChangeFeed`."""
        values = (int(after or 0), most)
        row = await self._db.read(lambda conn: conn.execute(SQL["count_changes"], values).fetchone())
        return int(row[0])

    async def read_positions(self) -> dict[str, OutputPosition]:
        """See :class:`~gossamer.ports.change_feed.ChangeFeed`."""
        rows = await self._db.read(lambda conn: conn.execute(SQL["positions"]).fetchall())
        return {row[0]: OutputPosition(done=row[1], planned=row[2], state=row[3]) for row in rows}

    async def save_position(
        self, output: str, position: OutputPosition, former: OutputPosition | None
    ) -> bool:
        """See :class:`~gossamer.ports.change_feed.ChangeFeed`."""
        sql = SQL["add_position" if former is None else "move_position"]
        values = (position.done, position.planned, position.state, output)
        if former is not None:
            values = (*values, former.done, former.planned, former.state)  # type: ignore[assignment]
        return await self._db.run(lambda conn: conn.execute(sql, values).rowcount) > 0

    async def forget_output(self, output: str) -> bool:
        """See :class:`~gossamer.ports.change_feed.ChangeFeed`."""
        return await self._db.run(lambda conn: conn.execute(SQL["forget_output"], (output,)).rowcount) > 0

    async def forget_changes(self) -> None:
        """See :class:`~gossamer.ports.change_feed.ChangeFeed`."""
        await self._db.run(lambda conn: conn.execute(SQL["forget_changes"]).rowcount)
