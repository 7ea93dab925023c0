"""The scheduler of one data directory: runs its schedules until it is stopped.

Guarantee: each data directory has one scheduler at work; after it was stopped or killed, the next one
continues the crawls that it had started.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.config.settings import Settings
from gossamer.core.errors import JobBusyError, SettingError, StorageError
from gossamer.core.schedules import SCHEDULER_LOCK
from gossamer.jobs.delayed_actions import finish_due
from gossamer.jobs.process_runs import ProcessStarter
from gossamer.jobs.schedules import open_runner
from gossamer.runtime.cancelling import end_tasks
from gossamer.runtime.file_lock import JobLock, lock_holder
from gossamer.wiring.backends import Backends

LOOK_S = 1.0
DRAIN_S = 30.0
"""Seconds that crawls may take to end with the scheduler; slower ones continue without it."""
log = logging.getLogger("gossamer.schedules")


@contextmanager
def lock_scheduler(settings: Settings) -> Iterator[None]:
    """Be the scheduler of a data directory. Raises ``JobBusyError`` while another process is."""
    data = Path(settings.data)
    try:
        lock = JobLock(data, SCHEDULER_LOCK)
    except JobBusyError:
        holder = find_scheduler(settings) or "unknown"
        raise JobBusyError(
            f"process {holder} is the scheduler of {data} already; stop it first, or name another --data"
        ) from None
    with lock:
        yield


def find_scheduler(settings: Settings) -> str:
    """Return the id of the process that runs the schedules of a data directory; empty: none does."""
    return lock_holder(Path(settings.data), SCHEDULER_LOCK)


async def run_scheduler(backends: Backends, told: asyncio.Event) -> None:
    """Run due schedules until ``told``; then stop the running crawls, which resume the next time.

    Raises ``SettingError`` for a fleet, whose supervisor runs its schedules.
    """
    if backends.requests.fleet is not None:
        raise SettingError(
            "the requests are in Redis, and there the fleet's supervisor runs the schedules by itself: "
            "`gossamer supervisor`, or `gossamer up`"
        )
    starter = ProcessStarter(backends.settings, backends.requests)
    runner = await open_runner(backends, starter)
    waiting = asyncio.create_task(told.wait())
    trouble = ""
    try:
        while not told.is_set():
            try:
                await runner.look(backends.clock.now())
                await finish_due(backends)
                trouble = ""
            except StorageError as error:
                if str(error) != trouble:
                    log.error("%s; it is tried again", error)  # noqa: TRY400 - the message says it all
                trouble = str(error)
            await asyncio.wait({waiting}, timeout=LOOK_S)
    finally:
        await end_tasks(waiting)
        if left := await starter.stop_runs(DRAIN_S):
            log.warning("these crawls continue on their own: processes %s", ", ".join(map(str, left)))
