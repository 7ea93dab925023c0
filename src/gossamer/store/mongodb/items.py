"""Looking at items in MongoDB, as ``store/sqlite/items.py`` does in SQLite. Guarantee: reads only."""

from __future__ import annotations

import msgspec

from gossamer.core.jobs import FoundItemRows, ItemFilter, ItemPlace, ItemRows, Job, StoredItem
from gossamer.core.storable import without_surrogates as clean
from gossamer.drivers.mongodb.server import Document, MongoDatabase, MongoServer
from gossamer.policy.item_filter import fits_filter
from gossamer.store.items import SAMPLED_AT_ONCE, page_items
from gossamer.store.mongodb.batch import item_id
from gossamer.store.mongodb.documents import item_of
from gossamer.store.mongodb.values import read_seen, sighting_id

encode_json = msgspec.json.Encoder().encode
PART = 500
"""Items whose values are read at a time."""


class MongoItemReader:
    """An ``ItemReader`` on a server."""

    def __init__(self, server: MongoServer) -> None:
        self._server = server

    async def page_items(
        self, job: Job, limit: int, which: ItemFilter, before: ItemPlace | None = None
    ) -> ItemRows:
        """See :class:`~gossamer.ports.item_reader.ItemReader`."""
        spider = clean(job.name)
        named: Document = {"type": clean(which.type)} if which.type else {}

        def older_than(place: ItemPlace) -> Document:
            changed_at, number = place
            is_older = [
                {"changed_at": {"$lt": changed_at}},
                {"changed_at": changed_at, "number": {"$lt": number}},
            ]
            return {"spider": spider, "changed_at": {"$gte": which.changed_since or 0.0}, "$or": is_older}

        async def read_slice(place: ItemPlace, size: int, count: int) -> list[tuple[StoredItem, float]]:
            places = await self._server.run(lambda db: _read_places(db, older_than(place), size))
            found: list[tuple[StoredItem, float]] = []
            for start in range(0, len(places), PART):
                part = dict(places[start : start + PART])
                items = await self._server.run(lambda db, part=part: _read_items(db, job, named, [*part]))  # type: ignore[misc]
                by_number = {item.id: item for item in items if fits_filter(item, which)}
                found += [(by_number[number], at) for number, at in part.items() if number in by_number]
                if len(found) >= count:
                    break
            return found[:count]

        async def find_edge(place: ItemPlace, size: int) -> ItemPlace | None:
            query = older_than(place)
            row = await self._server.run(
                lambda db: db["item"].find_one(
                    query, {"changed_at": 1, "number": 1}, sort=NEWEST_FIRST, skip=size - 1
                )
            )
            return None if row is None else (row["changed_at"], row["number"])

        return await page_items(read_slice, find_edge, limit, before)

    async def find_items(self, job: Job, url: str, limit: int) -> FoundItemRows:
        """See :class:`~gossamer.ports.item_reader.ItemReader`."""
        query = {"url": clean(url)}

        async def read(db: MongoDatabase) -> list[StoredItem]:
            numbers = {one["number"] async for one in db["item"].find(query, {"number": 1})}
            numbers |= {one["item"] async for one in db["version"].find(query, {"item": 1})}
            return await _read_items(db, job, {}, sorted(numbers))

        items = [item for item in await self._server.run(read) if item.url == query["url"]]
        return FoundItemRows(items=tuple(items[:limit]), total=len(items))

    async def sample_items(self, job: Job, limit: int, most_bytes: int) -> list[StoredItem]:
        """See :class:`~gossamer.ports.item_reader.ItemReader`."""

        async def choose(db: MongoDatabase) -> list[int]:
            mix = db["sighting"].find({"job": job.id}, {"item": 1}).sort("mix", 1).limit(limit)
            return [one["item"] async for one in mix]

        numbers = await self._server.run(choose)
        found: list[StoredItem] = []
        for start in range(0, len(numbers), SAMPLED_AT_ONCE):
            part = numbers[start : start + SAMPLED_AT_ONCE]
            items = await self._server.run(lambda db, part=part: _read_items(db, job, {}, part))  # type: ignore[misc]
            found += items
            most_bytes -= sum(len(encode_json(item.data)) for item in items)
            if most_bytes <= 0:
                break
        return found

    async def read_versions(self, spider: str, kind: str, key: str, limit: int = 100) -> list[StoredItem]:
        """See :class:`~gossamer.ports.item_reader.ItemReader`."""
        place = {"_id": item_id(clean(spider), clean(kind), clean(key))}

        async def read(db: MongoDatabase) -> list[StoredItem]:
            present = await db["item"].find_one(place)
            if present is None:
                return []
            query = {"item": present["number"], "version": {"$lt": present["version"]}}
            former = db["version"].find(query).sort("version", -1).limit(limit)
            return [item_of(present), *[item_of(present, one) async for one in former]][:limit]

        return await self._server.run(read)

    async def list_types(self, job: Job, limit: int | None = None) -> list[str]:
        """See :class:`~gossamer.ports.item_reader.ItemReader`."""
        query = {"spider": clean(job.name)}
        return sorted(await self._server.run(lambda db: db["item"].distinct("type", query)))[:limit]


NEWEST_FIRST = [("changed_at", -1), ("number", -1)]


async def _read_places(db: MongoDatabase, query: Document, size: int) -> list[tuple[int, float]]:
    """Return the numbers and latest changes of the newest items."""
    cursor = db["item"].find(query, {"number": 1, "changed_at": 1}).sort(NEWEST_FIRST).limit(size)
    return [(one["number"], one["changed_at"]) async for one in cursor]


async def _read_items(db: MongoDatabase, job: Job, named: Document, numbers: list[int]) -> list[StoredItem]:
    """Return those of the items that the job saw, as it saw them, by their numbers."""
    places = [sighting_id(job.id, number) for number in numbers]
    seen = {one["item"]: one["version"] async for one in db["sighting"].find({"_id": {"$in": places}})}
    query = {**named, "number": {"$in": list(seen)}}
    return await read_seen(db, db["item"].find(query).sort("number", 1), seen)
