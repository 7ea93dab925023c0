"""Which jobs are results of another one, made again, in MongoDB."""

from __future__ import annotations

from gossamer.core.result_versions import ResultVersion, VersionState
from gossamer.drivers.mongodb.server import MongoDatabase, MongoServer
from gossamer.store.result_versions import row_of_version, version_of

_FIELDS = ("_id", "base", "state", "created_at")


class MongoResultVersions:
    """``ResultVersions`` on a server."""

    def __init__(self, server: MongoServer) -> None:
        self._server = server

    async def save_version(self, version: ResultVersion) -> None:
        """See :class:`~gossamer.ports.result_versions.ResultVersions`."""
        values = dict(zip(_FIELDS, row_of_version(version), strict=True))
        place = {"_id": values.pop("_id")}
        await self._server.run(lambda db: db["result"].update_one(place, {"$set": values}, upsert=True))

    async def list_versions(self, base: str) -> list[ResultVersion]:
        """See :class:`~gossamer.ports.result_versions.ResultVersions`."""

        async def read(db: MongoDatabase) -> list[ResultVersion]:
            found = db["result"].find({"base": base}).sort([("created_at", -1), ("_id", -1)])
            return [version_of(one[name] for name in _FIELDS) async for one in found]

        return await self._server.run(read)

    async def change_state(self, job: str, state: VersionState) -> bool:
        """See :class:`~gossamer.ports.result_versions.ResultVersions`."""
        change = {"$set": {"state": state.value}}
        done = await self._server.run(lambda db: db["result"].update_one({"_id": job}, change))
        return done.matched_count == 1
