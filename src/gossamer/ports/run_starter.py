"""What starts the crawls of schedules."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.jobs import Job
from gossamer.core.schedules import Schedule, ScheduledRun


class RunStarter(Protocol):
    """Starts crawls on one machine, or hands them to a fleet.

    Guarantee: a run is crawled once, however often it is started and whatever is killed: its job is made with
    the run's key.
    """

    async def find_rival(self, schedule: Schedule, run: ScheduledRun) -> str:
        """Who else crawls the same now, in words; empty: nobody."""
        ...

    async def start_run(self, schedule: Schedule, run: ScheduledRun) -> str:
        """Start a run, or let it go on; the id of its job, or empty where that is not known yet.

        Raises ``OperatorError`` where it cannot be started: ``StorageError`` when that may pass.
        """
        ...

    async def is_at_work(self, schedule: Schedule, run: ScheduledRun, job: Job | None) -> bool:
        """Whether somebody works on a run that was started, or is about to."""
        ...

    async def read_failure(self, run: ScheduledRun) -> str:
        """Why a run that was started from here ended before it had a job; empty: it did not."""
        ...
