"""The book of jobs in PostgreSQL.

Guarantee: of many who create jobs of one name at the same time each gets an id of its own, safe as a file
name; who creates one while the connection is lost has created one.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from gossamer.core.clock import Clock
from gossamer.core.jobs import Job
from gossamer.core.lifecycle import JobState
from gossamer.drivers.postgres.schema import LOCK
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.drivers.sql import load
from gossamer.store.postgres.json import clean
from gossamer.store.sqlite.jobs import slug

if TYPE_CHECKING:
    from gossamer.drivers.postgres.types import Connection

SQL = load("gossamer.store.postgres", "store.sql")


class PostgresJobBook:
    """A ``JobBook`` on a server."""

    def __init__(self, server: PostgresServer, clock: Clock) -> None:
        self._server = server
        self._clock = clock

    def __repr__(self) -> str:
        return f"<PostgresJobBook on {self._server!r}>"

    async def create(self, name: str, target: str, plan: bytes = b"") -> Job:
        """See :class:`~gossamer.ports.store.JobBook`."""
        name, target, key = clean(name), clean(target), secrets.token_bytes(16)
        head, now = slug(name), self._clock.now()

        async def create(conn: Connection) -> Job:
            async with conn.transaction():
                await conn.execute(SQL["lock_slug"], LOCK, head)
                made = await conn.fetchrow(SQL["job_by_key"], head, key)
                if made is not None:  # by an earlier try, whose answer was lost
                    return _job(made)
                number = await conn.fetchval(SQL["next_number"], head)
                job = Job(id=f"{head}-{number}", name=name, target=target, created_at=now, key=key, plan=plan)
                await _add(conn, job)
                return job

        return await self._server.run(create)

    async def get(self, id_or_name: str) -> Job | None:
        """See :class:`~gossamer.ports.store.JobBook`."""
        wanted = clean(id_or_name)

        async def get(conn: Connection) -> Any:
            row = await conn.fetchrow(SQL["job_by_name"], wanted)
            return row or await conn.fetchrow(SQL["latest_job"], wanted)

        row = await self._server.run(get)
        return None if row is None else _job(row)

    async def list(self, *, unfinished: bool = False) -> list[Job]:
        """See :class:`~gossamer.ports.store.JobBook`."""
        sql = SQL["unfinished_jobs" if unfinished else "jobs"]
        return [_job(row) for row in await self._server.run(lambda conn: conn.fetch(sql))]

    async def update(self, job: Job, *, expected: Job | None = None) -> bool:
        """See :class:`~gossamer.ports.store.JobBook`."""
        values: tuple[Any, ...] = (clean(job.id), job.state.value, job.finished_at, clean(job.finish_reason))
        sql = SQL["update_job"]
        if expected is not None:
            sql, values = SQL["update_job_if"], (*values, expected.state.value, expected.finished_at)
        return await self._server.run(lambda conn: conn.fetchval(sql, *values)) is not None


async def job_number(conn: Connection, job: Job) -> int:
    """The store's number of a job; one that comes from another book is entered."""
    number = await conn.fetchval(SQL["job_number"], job.id)
    if number is None:
        await _add(conn, job)
        number = await conn.fetchval(SQL["job_number"], job.id)
    return int(number)


async def _add(conn: Connection, job: Job) -> None:
    head, _, number = job.id.rpartition("-")
    place = (head, int(number)) if number.isascii() and number.isdigit() else (job.id, 0)
    ended = (job.state.value, job.finished_at, clean(job.finish_reason))
    values = (clean(job.name), clean(job.target), job.created_at, *ended, job.key, job.plan)
    await conn.execute(SQL["add_job"], job.id, *place, *values)


def _job(row: Any) -> Job:
    number, name, target, created_at, state, finished_at, finish_reason, key, plan = row
    return Job(
        id=number,
        name=name,
        target=target,
        created_at=created_at,
        state=JobState(state),
        finished_at=finished_at,
        finish_reason=finish_reason,
        key=key,
        plan=plan,
    )
