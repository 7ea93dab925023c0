"""Opening a data directory for one command: run a coroutine with it, close it whatever happens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from gossamer.words.errors import UsageError

if TYPE_CHECKING:
    from gossamer.config import Settings
    from gossamer.wiring.desk import Desk
    from gossamer.words.model import Job

T = TypeVar("T")
NAMED = 10
"""Jobs that are named when the one asked for is not there."""


def at_desk(settings: Settings, work: Callable[[Desk], Awaitable[T]]) -> T:
    """The result of ``work``. Raises ``StorageError`` when there is no database."""
    import asyncio

    from gossamer.wiring.desk import open_desk

    async def run() -> T:
        desk = await open_desk(settings)
        try:
            return await work(desk)
        finally:
            await desk.close()

    return asyncio.run(run())


async def job_of(desk: Desk, name: str) -> Job:
    """A job by id or name. Raises ``UsageError`` that names those that are there."""
    job = await desk.book.get(name)
    if job is not None:
        return job
    known = [job.id for job in await desk.book.list()]
    more = f" and {len(known) - NAMED} more" if len(known) > NAMED else ""
    raise UsageError(f"there is no job {name!r}; there are: {', '.join(known[:NAMED]) or 'none'}{more}")
