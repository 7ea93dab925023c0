"""The start of scheduled crawls."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.jobs import Job
from gossamer.core.schedules import Schedule, ScheduledRun


class RunStarter(Protocol):
    """Starts crawls on one machine, or hands them to a fleet.

    Guarantee: a run is crawled once, however often it is started and whatever is killed: its job is created
    with the run's key.
    """

    async def find_rival(self, schedule: Schedule, run: ScheduledRun) -> str:
        """Return a description of another crawl of the same target, or an empty string."""
        ...

    async def start_run(self, schedule: Schedule, run: ScheduledRun) -> str:
        """Start or resume a run; return the id of its job, or an empty string if not yet known.

        Raises ``OperatorError`` if the run cannot be started: ``StorageError`` if the cause may pass.
        """
        ...

    async def is_at_work(self, schedule: Schedule, run: ScheduledRun, job: Job | None) -> bool:
        """Return whether a started run has a process that works on it or is about to."""
        ...

    async def read_failure(self, run: ScheduledRun) -> str:
        """Return why a run that was started here ended before it had a job, or an empty string."""
        ...
