"""Known pages of spiders, in MongoDB."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from gossamer.core.freshness import FIRST_PLACE, FreshnessCounts, KnownPage, PagePlace
from gossamer.core.storable import without_surrogates as clean
from gossamer.drivers.mongodb.packages import UpdateOne
from gossamer.drivers.mongodb.server import QUICK, Document, MongoDatabase, MongoServer
from gossamer.store.known_pages import FIELDS, counts_of, page_of, row_of_page

_SEEN: Document = {"checks": {"$gt": 0}, "gone_at": None}


async def save_pages(db: MongoDatabase, spider: str, pages: Sequence[KnownPage]) -> None:
    """Store pages, each once."""
    changes = []
    for page in pages:
        place = {"_id": f"{clean(spider)}/{page.fingerprint}"}
        row = [clean(value) if type(value) is str else value for value in row_of_page(page)]
        values = {"spider": clean(spider), **dict(zip(FIELDS, row, strict=True))}
        changes.append(UpdateOne(place, {"$setOnInsert": values}, upsert=True))
        if page.checks:
            changes.append(UpdateOne({**place, "checked_at": {"$lte": page.checked_at}}, {"$set": values}))
    if changes:
        await db["known"].with_options(write_concern=QUICK).bulk_write(changes)


class MongoKnownPageStore:
    """A ``KnownPageStore`` on a server."""

    def __init__(self, server: MongoServer) -> None:
        self._server = server

    async def find_pages(self, spider: str, fingerprints: Collection[int]) -> dict[int, KnownPage]:
        """See :class:`~gossamer.ports.known_page_store.KnownPageStore`."""
        places = [f"{clean(spider)}/{fingerprint}" for fingerprint in fingerprints]

        async def find(db: MongoDatabase) -> dict[int, KnownPage]:
            found = db["known"].find({"_id": {"$in": places}})
            return {one["fingerprint"]: _page_in(one) async for one in found}

        return await self._server.run(find)

    async def read_due(
        self, spider: str, before: float, after: PagePlace = FIRST_PLACE, limit: int = 1000
    ) -> list[KnownPage]:
        """See :class:`~gossamer.ports.known_page_store.KnownPageStore`."""
        due_at, fingerprint = after
        behind = [{"due_at": {"$gt": due_at}}, {"due_at": due_at, "fingerprint": {"$gt": fingerprint}}]
        query = {"spider": clean(spider), "due_at": {"$lte": before}, "$or": behind}

        async def read(db: MongoDatabase) -> list[KnownPage]:
            found = db["known"].find(query).sort([("due_at", 1), ("fingerprint", 1)]).limit(limit)
            return [_page_in(one) async for one in found]

        return await self._server.run(read)

    async def count_rates(self, spider: str) -> dict[int, int]:
        """See :class:`~gossamer.ports.known_page_store.KnownPageStore`."""
        query = {"spider": clean(spider), **_SEEN}

        async def count(db: MongoDatabase) -> dict[int, int]:
            classes: dict[int, int] = {}
            async for one in db["known"].find(query, {"rate_class": 1}):
                classes[one["rate_class"]] = classes.get(one["rate_class"], 0) + 1
            return classes

        return await self._server.run(count)

    async def count_pages(self, spider: str, now: float) -> FreshnessCounts:
        """See :class:`~gossamer.ports.known_page_store.KnownPageStore`. Reads a few numbers of each page."""
        wanted = {"due_at": 1, "checks": 1, "changes": 1, "checked_at": 1, "changed_at": 1, "gone_at": 1}

        async def count(db: MongoDatabase) -> FreshnessCounts:
            sums, there = [0] * 9, 0
            async for one in db["known"].find({"spider": clean(spider)}, wanted):
                for place, value in enumerate(_counted(one, now)):
                    sums[place] += value
                there += one["checks"] > 0 and one["gone_at"] is None
            return counts_of(sums, await _median_of(db, spider, there))

        return await self._server.run(count)


def _counted(one: Document, now: float) -> tuple[int, ...]:
    """Return a page's share of the counts, in the order of their fields."""
    checks, is_gone = one["checks"], one["gone_at"] is not None
    is_again, has_changed = checks > 1 and not is_gone, one["changed_at"] == one["checked_at"]
    return (
        1,
        one["due_at"] <= now,
        checks == 0,
        checks == 1 and not is_gone,
        is_again and has_changed,
        is_again and not has_changed,
        is_gone,
        checks,
        one["changes"],
    )


async def _median_of(db: MongoDatabase, spider: str, count: int) -> float | None:
    query: dict[str, Any] = {"spider": clean(spider), **_SEEN}
    found = db["known"].find(query).sort([("interval_s", 1)]).skip(max(count - 1, 0) // 2).limit(1)
    return next(iter([float(one["interval_s"]) async for one in found]), None)


def _page_in(document: Document) -> KnownPage:
    return page_of([document[name] for name in FIELDS])
