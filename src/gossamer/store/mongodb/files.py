"""Which files jobs have saved, in MongoDB."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from gossamer.core.files import StoredFile
from gossamer.drivers.mongodb.server import MongoDatabase, MongoServer
from gossamer.store.files import FIELDS, as_kept, file_of, place_of_url, row_of_file


class MongoFileStore:
    """A ``FileStore`` on a server."""

    def __init__(self, server: MongoServer) -> None:
        self._server = server

    async def save_file(self, file: StoredFile) -> None:
        """See :class:`~gossamer.ports.file_store.FileStore`."""

        async def save(db: MongoDatabase) -> None:
            place = {"_id": _id_of(file.job, file.url)}
            former = await db["file"].find_one(place)
            kept = as_kept(file, None if former is None else _file_in(former))
            values = dict(zip(FIELDS, row_of_file(kept), strict=True))
            await db["file"].update_one(place, {"$set": values}, upsert=True)

        await self._server.run(save)

    async def see_body(self, sha256: str, at: float) -> StoredFile | None:
        """See :class:`~gossamer.ports.file_store.FileStore`."""

        async def see(db: MongoDatabase) -> StoredFile | None:
            found = await db["file"].find_one({"sha256": sha256})
            if found is None:
                return None
            done = await db["file"].update_one({"_id": found["_id"]}, {"$max": {"last_seen": at}})
            if not done.matched_count:  # it was forgotten in between
                return None
            return _file_in(found | {"last_seen": max(found["last_seen"], at)})

        return await self._server.run(see)

    async def find_file(self, url: str) -> StoredFile | None:
        """See :class:`~gossamer.ports.file_store.FileStore`."""

        async def find(db: MongoDatabase) -> StoredFile | None:
            query = {"place": place_of_url(url)}
            found = db["file"].find(query).sort([("last_seen", -1), ("job", -1)]).limit(1)
            return next(iter([_file_in(one) async for one in found]), None)

        return await self._server.run(find)

    async def read_files(
        self, job: str = "", after: tuple[str, str] = ("", ""), limit: int = 1000
    ) -> list[StoredFile]:
        """See :class:`~gossamer.ports.file_store.FileStore`."""
        begin = _id_of(job or after[0], after[1])
        query: dict[str, Any] = {"_id": {"$gt": begin}} | ({"job": job} if job else {})

        async def read(db: MongoDatabase) -> list[StoredFile]:
            return [_file_in(one) async for one in db["file"].find(query).sort([("_id", 1)]).limit(limit)]

        return await self._server.run(read)

    async def select_named(self, digests: Collection[str]) -> set[str]:
        """See :class:`~gossamer.ports.file_store.FileStore`."""

        async def read(db: MongoDatabase) -> set[str]:
            return {*await db["file"].distinct("sha256", {"sha256": {"$in": [*digests]}})}

        return await self._server.run(read)

    async def forget_files(self, before: float) -> int:
        """See :class:`~gossamer.ports.file_store.FileStore`."""
        query = {"last_seen": {"$lt": before}}
        done = await self._server.run(lambda db: db["file"].delete_many(query))
        return int(done.deleted_count)


def _id_of(job: str, url: str) -> str:
    return f"{job} {place_of_url(url)}"  # a space is before every letter: jobs do not mix


def _file_in(document: dict[str, Any]) -> StoredFile:
    return file_of([document[name] for name in FIELDS])
