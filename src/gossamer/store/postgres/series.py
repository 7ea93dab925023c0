"""Counters over time in PostgreSQL, as ``store/sqlite/series.py`` has them in SQLite."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gossamer.core.jobs import Job
from gossamer.core.series import HourlyKind, HourlyRow, SeriesStep
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.drivers.sql import load_statements
from gossamer.policy.chart_range import fold_limits
from gossamer.store.postgres.jobs import job_number
from gossamer.store.postgres.json import clean_text
from gossamer.store.series import bucket_of, fill_columns, hours_between, steps_of, worst_of

if TYPE_CHECKING:
    from gossamer.drivers.postgres.types import Connection

SQL = fill_columns(load_statements("gossamer.store.postgres", "series.sql"))
SLOTS = 4
"""Rows among which the writers of one counter are spread, at most."""


class PostgresSeries:
    """A ``Series`` on a server."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    def __repr__(self) -> str:
        return f"<PostgresSeries on {self._server!r}>"

    async def set_gauges(self, job: Job, at: float, gauges: Mapping[str, int]) -> None:
        """See :class:`~gossamer.ports.series.Series`."""
        bucket, names, values = bucket_of(at), [clean_text(name) for name in gauges], list(gauges.values())

        async def write(conn: Connection) -> None:
            number = await job_number(conn, job)
            await conn.execute(SQL["cover_bucket"], number, bucket)
            await conn.execute(SQL["set_gauges"], number, bucket, names, values)

        await self._server.run(write)

    async def read_steps(self, job: Job, since: int, until: int, step_s: int) -> list[SeriesStep]:
        """See :class:`~gossamer.ports.series.Series`."""
        values = (job.id, since, until, step_s)
        counted = await self._fetch("steps", *values)
        return steps_of(counted, await self._fetch("gauges", *values))

    async def read_hours(
        self, job: Job, kind: HourlyKind, since: int, until: int, who: Collection[str]
    ) -> list[HourlyRow]:
        """See :class:`~gossamer.ports.series.Series`."""
        names = [clean_text(name) for name in who]
        return _hourly(await self._fetch("hours", job.id, kind.value, hours_between(since, until), names))

    async def list_reasons(self, job: Job, since: int) -> list[HourlyRow]:
        """See :class:`~gossamer.ports.series.Series`."""
        return _hourly(await self._fetch("reasons", job.id, since))

    async def rank_failures(
        self, job: Job, kind: HourlyKind, since: int, until: int, limit: int
    ) -> list[str]:
        """See :class:`~gossamer.ports.series.Series`."""
        values = (job.id, kind.value, hours_between(since, until), limit * SLOTS)
        return worst_of([(row[0], row[1]) for row in await self._fetch("failures", *values)], limit)

    async def count_hosts(self, job: Job, reason: str, since: int, limit: int) -> int:
        """See :class:`~gossamer.ports.series.Series`."""
        return int((await self._fetch("hosts", job.id, reason, since, limit * SLOTS))[0][0])

    async def fold_buckets(self, now: float) -> None:
        """See :class:`~gossamer.ports.series.Series`."""
        fine, named = fold_limits(now)
        await self._server.run(lambda conn: conn.execute(SQL["fold_series"], fine))
        await self._server.run(lambda conn: conn.execute(SQL["fold_gauges"], fine))
        await self._server.run(lambda conn: conn.execute(SQL["drop_hourly"], named))

    async def _fetch(self, name: str, *values: Any) -> Sequence[Any]:
        found: Sequence[Any] = await self._server.run(lambda conn: conn.fetch(SQL[name], *values))
        return found


def _hourly(rows: Sequence[Any]) -> list[HourlyRow]:
    return [HourlyRow(hour=row[0], who=row[1], label=row[2], value=row[3]) for row in rows]
