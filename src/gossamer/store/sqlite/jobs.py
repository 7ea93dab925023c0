"""The book of jobs in the one SQLite file.

Guarantee: a job's id is unique in its store forever and safe as a file name, since locks, exports and
archives are named after it.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from sqlite3 import Connection
from typing import Any

from gossamer.core.jobs import Job
from gossamer.core.steering import SettingChange
from gossamer.drivers.sql import load_statements
from gossamer.drivers.sqlite.database import Database
from gossamer.ports.clock import Clock
from gossamer.store.job_rows import change_of, change_text, job_of, slug_of, split_job_id

SQL = load_statements("gossamer.store.sqlite", "store.sql")


class SqliteJobStore:
    """A ``JobStore`` over a database."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def read_identity(self) -> str:
        """See :class:`~gossamer.ports.job_store.JobStore`."""

        def read(conn: Connection) -> str:
            if (known := conn.execute(SQL["identity"]).fetchone()) is None:
                conn.execute(SQL["make_identity"], (secrets.token_hex(8),))
                known = conn.execute(SQL["identity"]).fetchone()
            return str(known[0])

        return await self._db.run(read)

    async def create(
        self, name: str, target: str, plan: bytes = b"", key: bytes = b"", *, alone: bool = False
    ) -> Job:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        own = key or secrets.token_bytes(16)
        return await self._db.run(
            lambda conn: self._create_within(conn, name, target, own, plan, alone=alone)
        )

    def _create_within(
        self, conn: Connection, name: str, target: str, key: bytes, plan: bytes, *, alone: bool
    ) -> Job:
        made = conn.execute(SQL["job_by_key"], (key,)).fetchone()
        if made is None and alone:
            made = conn.execute(SQL["fleet_job_under_way"], (name,)).fetchone()
        if made is not None:
            return job_of(made)
        number = conn.execute(SQL["next_number"], (slug_of(name),)).fetchone()[0]
        head, now = slug_of(name), self._clock.now()
        job = Job(id=f"{head}-{number}", name=name, target=target, created_at=now, key=key, plan=plan)
        _add_job(conn, job)
        return job

    async def get(self, id_or_name: str) -> Job | None:
        """See :class:`~gossamer.ports.job_store.JobStore`."""

        def get(conn: Connection) -> Any:
            row = conn.execute(SQL["job_by_name"], (id_or_name,)).fetchone()
            return row or conn.execute(SQL["latest_job"], (id_or_name,)).fetchone()

        row = await self._db.read(get)
        return None if row is None else job_of(row)

    async def find_by_key(self, key: bytes) -> Job | None:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        row = await self._db.read(lambda conn: conn.execute(SQL["job_by_key"], (key,)).fetchone())
        return None if row is None else job_of(row)

    async def list_jobs(self, *, unfinished: bool = False) -> list[Job]:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        sql = SQL["unfinished_jobs" if unfinished else "jobs"]
        return [job_of(row) for row in await self._db.read(lambda conn: conn.execute(sql).fetchall())]

    async def update(self, job: Job, *, expected: Job | None = None) -> bool:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        values: tuple[Any, ...] = (*_end_of(job), job.id)
        sql = SQL["update_job"]
        if expected is not None:
            sql, values = SQL["update_job_if"], (*values, expected.state.value, expected.finished_at)
        return await self._db.run(lambda conn: conn.execute(sql, values).rowcount) > 0

    async def update_plan(self, job: Job) -> None:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        await self._db.run(lambda conn: conn.execute(SQL["update_plan"], (job.plan, job.id)).rowcount)

    async def read_changes(self, job: Job) -> tuple[SettingChange, ...]:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        sql = SQL["changes"]
        rows = await self._db.read(lambda conn: conn.execute(sql, (job.id,)).fetchall())
        return tuple(change_of(row[0]) for row in rows)

    async def save_changes(
        self, job: Job, changes: Sequence[SettingChange], put_back: Collection[str] = ()
    ) -> None:
        """See :class:`~gossamer.ports.job_store.JobStore`."""

        def save(conn: Connection) -> None:
            conn.executemany(SQL["save_change"], [(job.id, one.key, change_text(one)) for one in changes])
            conn.executemany(SQL["put_back"], [(job.id, key) for key in put_back])

        await self._db.run(save)

    async def read_launch(self, job: Job) -> bytes:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        sql = SQL["launch"]
        row = await self._db.read(lambda conn: conn.execute(sql, (job.id,)).fetchone())
        return b"" if row is None else row[0]

    async def save_launch(self, job: Job, launch: bytes) -> None:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        await self._db.run(lambda conn: conn.execute(SQL["save_launch"], (job.id, launch)).rowcount)


def job_number(conn: Connection, job: Job) -> int:
    """Return the store's number of a job; one that comes from another book is entered."""
    row = conn.execute(SQL["job_number"], (job.id,)).fetchone()
    return int(row[0]) if row is not None else _add_job(conn, job)


def _add_job(conn: Connection, job: Job) -> int:
    place, values = split_job_id(job.id), (job.name, job.target, job.created_at, *_end_of(job))
    return conn.execute(SQL["add_job"], (job.id, *place, *values, job.key, job.plan)).lastrowid or 0


def _end_of(job: Job) -> tuple[str, float | None, str, str]:
    return job.state.value, job.finished_at, job.end_reason or "", job.end_error
