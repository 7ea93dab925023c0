"""The book of jobs in PostgreSQL.

Guarantee: of many who create jobs of one name at the same time each gets an id of its own, safe as a file
name; who creates one while the connection is lost has created one.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from gossamer.core.jobs import Job
from gossamer.core.steering import SettingChange
from gossamer.drivers.postgres.schema import LOCK
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.drivers.sql import load_statements
from gossamer.ports.clock import Clock
from gossamer.store.job_rows import change_of, change_text, job_of, slug_of, split_job_id
from gossamer.store.postgres.json import clean_text

if TYPE_CHECKING:
    from gossamer.drivers.postgres.types import Connection

SQL = load_statements("gossamer.store.postgres", "store.sql")


class PostgresJobStore:
    """A ``JobStore`` on a server."""

    def __init__(self, server: PostgresServer, clock: Clock) -> None:
        self._server = server
        self._clock = clock

    def __repr__(self) -> str:
        return f"<PostgresJobStore on {self._server!r}>"

    async def read_identity(self) -> str:
        """See :class:`~gossamer.ports.job_store.JobStore`."""

        async def read(conn: Connection) -> str:
            if (known := await conn.fetchval(SQL["identity"])) is None:  # some users may only read
                await conn.execute(SQL["make_identity"], secrets.token_hex(8))
                known = await conn.fetchval(SQL["identity"])
            return str(known)

        return await self._server.run(read)

    async def create(
        self, name: str, target: str, plan: bytes = b"", key: bytes = b"", *, alone: bool = False
    ) -> Job:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        name, target, key = clean_text(name), clean_text(target), key or secrets.token_bytes(16)
        head, now = slug_of(name), self._clock.now()

        async def create(conn: Connection) -> Job:
            async with conn.transaction():
                await conn.execute(SQL["lock_slug"], LOCK, head)
                made = await conn.fetchrow(SQL["job_by_key"], key)
                if made is None and alone:
                    made = await conn.fetchrow(SQL["fleet_job_under_way"], name)
                if made is not None:  # by another process, or by an earlier try, whose answer was lost
                    return job_of(made)
                number = await conn.fetchval(SQL["next_number"], head)
                job = Job(id=f"{head}-{number}", name=name, target=target, created_at=now, key=key, plan=plan)
                await _add_job(conn, job)
                return job

        return await self._server.run(create)

    async def get(self, id_or_name: str) -> Job | None:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        wanted = clean_text(id_or_name)

        async def get(conn: Connection) -> Any:
            row = await conn.fetchrow(SQL["job_by_name"], wanted)
            return row or await conn.fetchrow(SQL["latest_job"], wanted)

        row = await self._server.run(get)
        return None if row is None else job_of(row)

    async def find_by_key(self, key: bytes) -> Job | None:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        row = await self._server.run(lambda conn: conn.fetchrow(SQL["job_by_key"], key))
        return None if row is None else job_of(row)

    async def list_jobs(self, *, unfinished: bool = False) -> list[Job]:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        sql = SQL["unfinished_jobs" if unfinished else "jobs"]
        return [job_of(row) for row in await self._server.run(lambda conn: conn.fetch(sql))]

    async def update(self, job: Job, *, expected: Job | None = None) -> bool:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        values: tuple[Any, ...] = (
            clean_text(job.id),
            *_end_of(job),
        )
        sql = SQL["update_job"]
        if expected is not None:
            sql, values = SQL["update_job_if"], (*values, expected.state.value, expected.finished_at)
        return await self._server.run(lambda conn: conn.fetchval(sql, *values)) is not None

    async def update_plan(self, job: Job) -> None:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        values = clean_text(job.id), job.plan
        await self._server.run(lambda conn: conn.execute(SQL["update_plan"], *values))

    async def read_changes(self, job: Job) -> tuple[SettingChange, ...]:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        rows = await self._server.run(lambda conn: conn.fetch(SQL["changes"], job.id))
        return tuple(change_of(row[0]) for row in rows)

    async def save_changes(
        self, job: Job, changes: Sequence[SettingChange], put_back: Collection[str] = ()
    ) -> None:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        rows = [(job.id, clean_text(one.key), clean_text(change_text(one))) for one in changes]

        async def save(conn: Connection) -> None:
            async with conn.transaction():
                await conn.executemany(SQL["save_change"], rows)
                await conn.execute(SQL["put_back"], job.id, [clean_text(key) for key in put_back])

        await self._server.run(save)

    async def read_launch(self, job: Job) -> bytes:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        found = await self._server.run(lambda conn: conn.fetchval(SQL["launch"], job.id))
        return bytes(found or b"")

    async def save_launch(self, job: Job, launch: bytes) -> None:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        await self._server.run(lambda conn: conn.execute(SQL["save_launch"], job.id, launch))


async def job_number(conn: Connection, job: Job) -> int:
    """Return the store's number of a job; one that comes from another book is entered."""
    number = await conn.fetchval(SQL["job_number"], job.id)
    if number is None:
        await _add_job(conn, job)
        number = await conn.fetchval(SQL["job_number"], job.id)
    return int(number)


async def _add_job(conn: Connection, job: Job) -> None:
    values = (clean_text(job.name), clean_text(job.target), job.created_at, *_end_of(job), job.key, job.plan)
    await conn.execute(SQL["add_job"], job.id, *split_job_id(job.id), *values)


def _end_of(job: Job) -> tuple[str, float | None, str, str]:
    return job.state.value, job.finished_at, job.end_reason or "", clean_text(job.end_error)
