"""Schedules in MongoDB: a schedule by its name, a run by its schedule and due time."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.schedules import Schedule, ScheduledRun
from gossamer.drivers.mongodb.packages import driver
from gossamer.drivers.mongodb.server import Document, MongoDatabase, MongoServer
from gossamer.store.access_rows import clean_text
from gossamer.store.schedule_rows import KEPT_RUNS, record_text, run_of, schedule_of


class MongoScheduleStore:
    """A ``ScheduleStore`` on a server.

    A run is entered first, and then its due time is settled: after an interruption between the two the run
    exists, and is not entered again.
    """

    def __init__(self, server: MongoServer) -> None:
        self._server = server

    async def add_schedule(self, schedule: Schedule) -> bool:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        made: Document = {
            "_id": clean_text(schedule.name),
            "created_at": schedule.created_at,
            "is_on": schedule.is_on,
            "since": schedule.since,
            "record": record_text(schedule),
        }

        async def add(db: MongoDatabase) -> bool:
            try:
                await db["schedule"].insert_one(dict(made))
            except driver.DuplicateKeyError:  # perhaps by an earlier try, whose answer was lost
                return bool(await db["schedule"].find_one(made))
            return True

        return await self._server.run(add)

    async def list_schedules(self) -> list[Schedule]:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""

        async def read(db: MongoDatabase) -> list[Schedule]:
            return [_read_schedule(one) async for one in db["schedule"].find({}).sort("_id", 1)]

        return await self._server.run(read)

    async def switch_schedule(self, name: str, *, is_on: bool, now: float) -> bool:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        place: Document = {"_id": clean_text(name)}

        async def switch(db: MongoDatabase) -> bool:
            if is_on:
                change: Document = {"$set": {"is_on": True}, "$max": {"since": now}}
                await db["schedule"].update_one({**place, "is_on": False}, change)
            else:
                await db["schedule"].update_one(place, {"$set": {"is_on": False}})
            return await db["schedule"].find_one(place) is not None

        return await self._server.run(switch)

    async def remove_schedule(self, name: str) -> bool:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""

        async def remove(db: MongoDatabase) -> bool:
            done = await db["schedule"].delete_one({"_id": clean_text(name)})
            await db["schedule_run"].delete_many({"schedule": clean_text(name)})
            return done.deleted_count > 0

        return await self._server.run(remove)

    async def claim_run(self, schedule: Schedule, run: ScheduledRun) -> bool:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        place: Document = {"_id": clean_text(schedule.name), "created_at": schedule.created_at}
        if not run.is_manual:
            place |= {"is_on": True, "since": {"$lt": run.due_at}}
        made: Document = {
            "_id": f"{run.due_at!r}/{run.schedule}",
            "schedule": run.schedule,
            "due_at": run.due_at,
            "key": run.key,
            "is_open": run.is_open,
            "record": record_text(run),
        }

        async def claim(db: MongoDatabase) -> bool:
            if await db["schedule"].find_one(place) is None:
                return False
            try:
                await db["schedule_run"].insert_one(dict(made))
                is_ours = True
            except driver.DuplicateKeyError:
                is_ours = False
            if not run.is_manual:
                await db["schedule"].update_one(place, {"$set": {"since": run.due_at}})
            await _prune_runs(db, run.schedule)
            return is_ours

        return await self._server.run(claim)

    async def save_run(self, run: ScheduledRun) -> bool:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        place: Document = {"schedule": run.schedule, "due_at": run.due_at, "key": run.key, "is_open": True}
        kept: Document = {"is_open": run.is_open, "record": record_text(run)}

        async def save(db: MongoDatabase) -> bool:
            done = await db["schedule_run"].update_one(place, {"$set": kept})
            if done.matched_count:
                return True
            return bool(await db["schedule_run"].find_one({**place, **kept}))  # by an earlier try

        return await self._server.run(save)

    async def open_runs(self) -> list[ScheduledRun]:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""

        async def read(db: MongoDatabase) -> list[ScheduledRun]:
            found = db["schedule_run"].find({"is_open": True}).sort("due_at", 1)
            return [run_of(one["record"]) async for one in found]

        return await self._server.run(read)

    async def list_runs(self, limit: int, name: str | None = None) -> list[ScheduledRun]:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        names = [each.name for each in await self.list_schedules()] if name is None else [clean_text(name)]

        async def read(db: MongoDatabase) -> list[ScheduledRun]:
            runs = []
            for each in names:
                found = db["schedule_run"].find({"schedule": each}).sort("due_at", -1).limit(limit)
                runs += [run_of(one["record"]) async for one in found]
            return runs

        return await self._server.run(read)


async def _prune_runs(db: MongoDatabase, name: str) -> None:
    """Keep only the newest finished runs."""
    cursor = db["schedule_run"].find({"schedule": name, "is_open": False}, {"due_at": 1}).sort("due_at", -1)
    old = [one["_id"] async for one in cursor.skip(KEPT_RUNS)]
    if old:
        await db["schedule_run"].delete_many({"_id": {"$in": old}})


def _read_schedule(one: Document) -> Schedule:
    return replace(schedule_of(one["record"]), is_on=one["is_on"], since=one["since"])
