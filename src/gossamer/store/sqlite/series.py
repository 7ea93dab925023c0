"""Counters over time in SQLite.

Guarantee: the counts of a batch are added in the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from sqlite3 import Connection

import msgspec

from gossamer.core.jobs import Job
from gossamer.core.series import ATTEMPTS, BUCKET_S, EVERYBODY, HourlyKind, HourlyRow, SeriesStep
from gossamer.core.storable import without_surrogates as text
from gossamer.drivers.sql import load_statements, write_rows
from gossamer.drivers.sqlite.database import Database
from gossamer.policy.chart_range import fold_limits
from gossamer.store.counters import BatchCounts
from gossamer.store.series import bucket_of, fill_columns, hours_between, steps_of, worst_of
from gossamer.store.sqlite.jobs import job_number

SQL = fill_columns(load_statements("gossamer.store.sqlite", "series.sql"))


class SqliteSeries:
    """A ``Series`` over a database."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def __repr__(self) -> str:
        return f"<SqliteSeries in {self._db!r}>"

    async def set_gauges(self, job: Job, at: float, gauges: Mapping[str, int]) -> None:
        """See :class:`~gossamer.ports.series.Series`."""

        def write(conn: Connection) -> None:
            number, bucket = job_number(conn, job), bucket_of(at)
            conn.execute(SQL["cover_bucket"], (number, bucket))
            rows = [(number, BUCKET_S, bucket, text(name), value) for name, value in gauges.items()]
            write_rows(conn, SQL["set_gauges"], rows)

        await self._db.run(write)

    async def read_steps(self, job: Job, since: int, until: int, step_s: int) -> list[SeriesStep]:
        """See :class:`~gossamer.ports.series.Series`."""
        values = (job.id, since, until, step_s)

        def read(conn: Connection) -> list[SeriesStep]:
            counted = conn.execute(SQL["steps"], values).fetchall()
            return steps_of(counted, conn.execute(SQL["gauges"], values))

        return await self._db.read(read)

    async def read_hours(
        self, job: Job, kind: HourlyKind, since: int, until: int, who: Collection[str]
    ) -> list[HourlyRow]:
        """See :class:`~gossamer.ports.series.Series`."""
        return await self._db.read(
            lambda conn: _read_hours(conn, job, kind, hours_between(since, until), who)
        )

    async def list_reasons(self, job: Job, since: int) -> list[HourlyRow]:
        """See :class:`~gossamer.ports.series.Series`."""
        rows = await self._db.read(lambda conn: conn.execute(SQL["reasons"], (job.id, since)).fetchall())
        return [HourlyRow(hour=row[0], who=row[1], label=row[2], value=row[3]) for row in rows]

    async def rank_failures(
        self, job: Job, kind: HourlyKind, since: int, until: int, limit: int
    ) -> list[str]:
        """See :class:`~gossamer.ports.series.Series`."""

        def read(conn: Connection) -> list[str]:
            found: list[tuple[str, int]] = []
            for row in _read_hours(conn, job, kind, hours_between(since, until), (EVERYBODY,)):
                if row.label != ATTEMPTS and row.value > 0:
                    values = (job.id, kind, row.label, row.hour, limit)
                    found += conn.execute(SQL["failures"], values)
            return worst_of(found, limit)

        return await self._db.read(read)

    async def count_hosts(self, job: Job, reason: str, since: int, limit: int) -> int:
        """See :class:`~gossamer.ports.series.Series`."""
        values = (job.id, reason, since, limit)
        return int((await self._db.read(lambda conn: conn.execute(SQL["hosts"], values).fetchone()))[0])

    async def fold_buckets(self, now: float) -> None:
        """See :class:`~gossamer.ports.series.Series`."""
        fine, named = fold_limits(now)

        def fold(conn: Connection) -> None:
            conn.execute(SQL["fold_series"], (fine,))
            conn.execute(SQL["fold_gauges"], (fine,))
            conn.execute(SQL["drop_series"], (fine,))
            conn.execute(SQL["drop_gauges"], (fine,))
            conn.execute(SQL["drop_hourly"], (named,))

        await self._db.run(fold)


def add_counts(conn: Connection, job: int, changes: BatchCounts) -> None:
    """Add a batch's counts over time, in the caller's transaction."""
    series = [(job, BUCKET_S, at, BUCKET_S, *counts) for at, *counts in changes.series_rows()]
    write_rows(conn, SQL["add_series"], series)
    hourly = [(job, kind, hour, text(who), *more) for kind, hour, who, *more in changes.hourly_rows()]
    write_rows(conn, SQL["add_hourly"], hourly)


def _read_hours(
    conn: Connection, job: Job, kind: HourlyKind, hours: list[int], who: Collection[str]
) -> list[HourlyRow]:
    asked = [msgspec.json.encode(values).decode() for values in (hours, list(who))]
    rows = conn.execute(SQL["hours"], (job.id, kind.value, *asked))
    return [HourlyRow(hour=row[0], who=row[1], label=row[2], value=row[3]) for row in rows]
