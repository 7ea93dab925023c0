"""Schedules in the one SQLite file."""

from __future__ import annotations

from sqlite3 import Connection

from msgspec.structs import replace

from gossamer.core.schedules import Schedule, ScheduledRun
from gossamer.drivers.sql import load_statements
from gossamer.drivers.sqlite.database import Database
from gossamer.store.schedule_rows import KEPT_RUNS, record_text, run_of, schedule_of

SQL = load_statements("gossamer.store.sqlite", "schedules.sql")


class SqliteScheduleStore:
    """A ``ScheduleStore`` over a database."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def add_schedule(self, schedule: Schedule) -> bool:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        row = (schedule.name, schedule.created_at, schedule.is_on, schedule.since, record_text(schedule))
        return await self._db.run(lambda conn: conn.execute(SQL["add_schedule"], row).rowcount) > 0

    async def list_schedules(self) -> list[Schedule]:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        rows = await self._db.read(lambda conn: conn.execute(SQL["schedules"]).fetchall())
        return [replace(schedule_of(record), is_on=bool(is_on), since=since) for is_on, since, record in rows]

    async def switch_schedule(self, name: str, *, is_on: bool, now: float) -> bool:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        return await self._db.run(lambda conn: conn.execute(SQL["switch"], (name, is_on, now)).rowcount) > 0

    async def remove_schedule(self, name: str) -> bool:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""

        def remove(conn: Connection) -> int:
            conn.execute(SQL["remove_runs"], (name,))
            return conn.execute(SQL["remove"], (name,)).rowcount

        return await self._db.run(remove) > 0

    async def claim_run(self, schedule: Schedule, run: ScheduledRun) -> bool:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        row = (run.schedule, run.due_at, run.key, run.is_open, record_text(run))

        def claim(conn: Connection) -> bool:
            place = (schedule.name, schedule.created_at)
            if run.is_manual:
                is_free = conn.execute(SQL["is_there"], place).fetchone() is not None
            else:
                is_free = conn.execute(SQL["settle"], (*place, run.due_at)).rowcount > 0
            if not is_free or conn.execute(SQL["add_run"], row).rowcount == 0:
                return False
            conn.execute(SQL["prune_runs"], (run.schedule, KEPT_RUNS))
            return True

        return await self._db.run(claim)

    async def save_run(self, run: ScheduledRun) -> bool:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        row = (run.schedule, run.due_at, run.key, run.is_open, record_text(run))
        return await self._db.run(lambda conn: conn.execute(SQL["save_run"], row).rowcount) > 0

    async def open_runs(self) -> list[ScheduledRun]:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        rows = await self._db.read(lambda conn: conn.execute(SQL["open_runs"]).fetchall())
        return [run_of(record) for (record,) in rows]

    async def list_runs(self, limit: int, name: str | None = None) -> list[ScheduledRun]:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        names = [each.name for each in await self.list_schedules()] if name is None else [name]

        def read(conn: Connection) -> list[str]:
            return [row[0] for each in names for row in conn.execute(SQL["runs"], (each, limit))]

        return [run_of(record) for record in await self._db.read(read)]
