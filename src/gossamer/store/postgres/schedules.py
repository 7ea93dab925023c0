"""Schedules in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from gossamer.core.schedules import Schedule, ScheduledRun
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.drivers.sql import load_statements
from gossamer.store.access_rows import clean_text
from gossamer.store.schedule_rows import KEPT_RUNS, record_text, run_of, schedule_of

if TYPE_CHECKING:
    from gossamer.drivers.postgres.types import Connection

SQL = load_statements("gossamer.store.postgres", "schedules.sql")


class PostgresScheduleStore:
    """A ``ScheduleStore`` on a server."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def add_schedule(self, schedule: Schedule) -> bool:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        text = record_text(schedule)
        row = (clean_text(schedule.name), schedule.created_at, schedule.is_on, schedule.since, text)
        return await self._server.run(lambda conn: conn.fetchval(SQL["add_schedule"], *row)) is not None

    async def list_schedules(self) -> list[Schedule]:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        rows = await self._server.run(lambda conn: conn.fetch(SQL["schedules"]))
        return [replace(schedule_of(record), is_on=is_on, since=since) for is_on, since, record in rows]

    async def switch_schedule(self, name: str, *, is_on: bool, now: float) -> bool:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        values = (clean_text(name), is_on, now)
        return await self._server.run(lambda conn: conn.fetchval(SQL["switch"], *values)) is not None

    async def remove_schedule(self, name: str) -> bool:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""

        async def remove(conn: Connection) -> bool:
            async with conn.transaction():
                is_there = await conn.fetchval(SQL["remove"], clean_text(name)) is not None
                await conn.execute(SQL["remove_runs"], clean_text(name))
                return is_there

        return await self._server.run(remove)

    async def claim_run(self, schedule: Schedule, run: ScheduledRun) -> bool:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        row = (run.schedule, run.due_at, run.key, run.is_open, record_text(run))
        place = (clean_text(schedule.name), schedule.created_at)

        async def claim(conn: Connection) -> bool:
            async with conn.transaction():
                if run.is_manual:
                    is_free = await conn.fetchval(SQL["is_there"], *place)
                else:
                    is_free = await conn.fetchval(SQL["settle"], *place, run.due_at)
                if is_free is None or await conn.fetchval(SQL["add_run"], *row) is None:
                    return False
                await conn.execute(SQL["prune_runs"], run.schedule, KEPT_RUNS)
                return True

        return await self._server.run(claim)

    async def save_run(self, run: ScheduledRun) -> bool:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        row = (run.schedule, run.due_at, run.key, run.is_open, record_text(run))
        return await self._server.run(lambda conn: conn.fetchval(SQL["save_run"], *row)) is not None

    async def open_runs(self) -> list[ScheduledRun]:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        rows = await self._server.run(lambda conn: conn.fetch(SQL["open_runs"]))
        return [run_of(row[0]) for row in rows]

    async def list_runs(self, limit: int, name: str | None = None) -> list[ScheduledRun]:
        """See :class:`~gossamer.ports.schedule_store.ScheduleStore`."""
        if name is None:
            rows = await self._server.run(lambda conn: conn.fetch(SQL["runs_of_all"], limit))
        else:
            rows = await self._server.run(lambda conn: conn.fetch(SQL["runs"], clean_text(name), limit))
        return [run_of(row[0]) for row in rows]
