"""Changes of items in PostgreSQL, where many write at once: a place is a transaction and a number in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from gossamer.core.changes import ChangedItem, ItemChanges, OutputPosition
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.drivers.sql import load_statements
from gossamer.store.items import item_of
from gossamer.store.postgres.json import from_jsonb

if TYPE_CHECKING:
    from gossamer.drivers.postgres.types import Connection

SQL = load_statements("gossamer.store.postgres", "changes.sql")
BEGIN = ("0", 0)
END = (str(2**64 - 1), 2**63 - 1)


class PostgresChangeFeed:
    """A ``ChangeFeed`` on a server."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def read_changes(self, after: str, limit: int, until: str = "") -> ItemChanges:
        """See :class:`~gossamer.ports.change_feed.ChangeFeed`.

        A writing transaction, anywhere on the server, delays all changes made after it began.
        """
        values = (*_place_of(after), *(_place_of(until) if until else END), limit)
        rows = await self._server.run(lambda conn: conn.fetch(SQL["changes"], *values))
        items = tuple(
            ChangedItem(**asdict(item_of(tuple(row)[2:9], from_jsonb(row[9], row[10]))), spider=row[11])
            for row in rows
            if row[2] is not None
        )
        return ItemChanges(items=items, last=_text_of(rows[-1][0], rows[-1][1]) if rows else after)

    async def count_changes(self, after: str, most: int) -> int:
        """See :class:`~gossamer.ports.change_feed.ChangeFeed`."""
        values = (*_place_of(after), most)
        return int(await self._server.run(lambda conn: conn.fetchval(SQL["count_changes"], *values)))

    async def read_positions(self) -> dict[str, OutputPosition]:
        """See :class:`~gossamer.ports.change_feed.ChangeFeed`.

        If the database was copied here from a server with higher transaction numbers, its changes move to the
        end, and its outputs start again: they may write some items twice.
        """
        while True:
            rows = await self._server.run(lambda conn: conn.fetch(SQL["positions"]))
            found = {row[0]: OutputPosition(done=row[1], planned=row[2], state=bytes(row[3])) for row in rows}
            limit = int(rows[0][4]) if rows else 0
            moved = {
                name: position
                for name, position in found.items()
                if int(max(position.done, position.planned).partition("-")[0] or 0) >= limit
            }
            if not moved and not (rows and rows[0][5]):
                return found
            await self._server.run(lambda conn: _move_here(conn, limit, moved))  # noqa: B023 - awaited

    async def save_position(
        self, output: str, position: OutputPosition, former: OutputPosition | None
    ) -> bool:
        """See :class:`~gossamer.ports.change_feed.ChangeFeed`."""
        sql = SQL["add_position" if former is None else "move_position"]
        values = (position.done, position.planned, position.state, output)
        more = () if former is None else (former.done, former.planned, former.state)
        if await self._server.run(lambda conn: conn.fetchval(sql, *values, *more)) is not None:
            return True
        return (await self.read_positions()).get(output) == position  # noted by a try whose answer was lost

    async def forget_output(self, output: str) -> bool:
        """See :class:`~gossamer.ports.change_feed.ChangeFeed`."""
        return await self._server.run(lambda conn: conn.fetchval(SQL["forget_output"], output)) is not None

    async def forget_changes(self) -> None:
        """See :class:`~gossamer.ports.change_feed.ChangeFeed`."""
        least = min((position.done for position in (await self.read_positions()).values()), default="")
        if least:
            await self._server.run(lambda conn: conn.execute(SQL["forget_changes"], *_place_of(least)))


async def _move_here(conn: Connection, limit: int, positions: Mapping[str, OutputPosition]) -> None:
    """Let changes from this transaction on be of now, and outputs begin before them."""
    async with conn.transaction():
        await conn.execute(SQL["move_changes"], str(limit))
        for name, former in positions.items():
            place = (name, former.done, former.planned, former.state)
            await conn.execute(SQL["move_position"], "", "", b"", *place)


def _place_of(text: str) -> tuple[str, int]:
    if not text:
        return BEGIN
    xid, _, number = text.partition("-")
    return str(int(xid)), int(number)


def _text_of(xid: str, number: int) -> str:
    return f"{int(xid):020d}-{number:019d}"
