"""Changes of items in MongoDB: an item has the number of its latest one (see ``change_numbers.py``).

Guarantee: that of :class:`~gossamer.ports.change_feed.ChangeFeed`, without transactions, also after a kill.
"""

from __future__ import annotations

from msgspec.structs import asdict

from gossamer.core.changes import ChangedItem, ItemChanges, OutputPosition
from gossamer.drivers.mongodb.packages import driver
from gossamer.drivers.mongodb.server import Document, MongoDatabase, MongoServer
from gossamer.store.mongodb.change_numbers import PLACE, settle_numbers
from gossamer.store.mongodb.documents import item_of


class MongoChangeFeed:
    """A ``ChangeFeed`` on a server."""

    def __init__(self, server: MongoServer) -> None:
        self._server = server

    async def read_changes(self, after: str, limit: int, until: str = "") -> ItemChanges:
        """See :class:`~gossamer.ports.change_feed.ChangeFeed`.

        A writer that hangs delays all changes made after it began, for some seconds.
        """

        async def read(db: MongoDatabase) -> ItemChanges:
            state = await settle_numbers(db)
            last = min(state.settled, int(until)) if until else state.settled
            query = {"change": {"$gt": max(int(after or 0), state.floor), "$lte": last}}
            rows = [row async for row in db["item"].find(query).sort("change", 1).limit(limit)]
            items = tuple(_changed(row) for row in rows if not state.is_late(row["change"]))
            return ItemChanges(items=items, last=f"{rows[-1]['change']:020d}" if rows else after)

        return await self._server.run(read)

    async def count_changes(self, after: str, most: int) -> int:
        """See :class:`~gossamer.ports.change_feed.ChangeFeed`."""

        async def count(db: MongoDatabase) -> int:
            floor = (await db["feed"].find_one(PLACE) or {}).get("floor", 0)
            query = {"change": {"$gt": max(int(after or 0), floor)}}
            return min(int((await db.command("count", "item", query=query, limit=most))["n"]), most)

        return await self._server.run(count)

    async def read_positions(self) -> dict[str, OutputPosition]:
        """See :class:`~gossamer.ports.change_feed.ChangeFeed`."""

        async def read(db: MongoDatabase) -> dict[str, OutputPosition]:
            return {one.pop("_id"): OutputPosition(**one) async for one in db["output"].find()}

        return await self._server.run(read)

    async def save_position(
        self, output: str, position: OutputPosition, former: OutputPosition | None
    ) -> bool:
        """See :class:`~gossamer.ports.change_feed.ChangeFeed`."""

        async def save(db: MongoDatabase) -> bool:
            if former is not None:
                query = {"_id": output, **asdict(former)}
                return bool((await db["output"].update_one(query, {"$set": asdict(position)})).matched_count)
            try:
                await db["output"].insert_one({"_id": output, **asdict(position)})
            except driver.DuplicateKeyError:
                return False
            return True

        if await self._server.run(save):
            return True
        return (await self.read_positions()).get(output) == position  # noted by a try whose answer was lost

    async def forget_output(self, output: str) -> bool:
        """See :class:`~gossamer.ports.change_feed.ChangeFeed`."""
        known = output in await self.read_positions()
        await self._server.run(lambda db: db["output"].delete_one({"_id": output}))
        return known

    async def forget_changes(self) -> None:
        """See :class:`~gossamer.ports.change_feed.ChangeFeed`."""
        least = min([position.done for position in (await self.read_positions()).values()], default="")
        if least:
            floor: Document = {"$max": {"floor": int(least)}}
            await self._server.run(lambda db: db["feed"].update_one(PLACE, floor))


def _changed(row: Document) -> ChangedItem:
    return ChangedItem(**asdict(item_of(row)), spider=row["spider"])
