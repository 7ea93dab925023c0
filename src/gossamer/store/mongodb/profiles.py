"""Profiles of items in MongoDB."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.jobs import Job
from gossamer.drivers.mongodb.server import MongoDatabase, MongoServer


class MongoProfileStore:
    """A ``ProfileStore`` on a server."""

    def __init__(self, server: MongoServer) -> None:
        self._server = server

    async def save_profile(self, job: Job, at: float, record: bytes) -> None:
        """See :class:`~gossamer.ports.profile_store.ProfileStore`."""
        change = {"$set": {"at": at, "record": record}}
        await self._server.run(lambda db: db["profile"].update_one({"_id": job.id}, change, upsert=True))

    async def read_profiles(self, jobs: Sequence[Job]) -> dict[str, bytes]:
        """See :class:`~gossamer.ports.profile_store.ProfileStore`."""
        query = {"_id": {"$in": [job.id for job in jobs]}}

        async def read(db: MongoDatabase) -> dict[str, bytes]:
            return {one["_id"]: bytes(one["record"]) async for one in db["profile"].find(query)}

        return await self._server.run(read)
