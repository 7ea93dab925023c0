"""The schedules of a fleet are run by the supervisor that leads it."""

from __future__ import annotations

from gossamer.jobs.schedule_runner import ScheduleRunner
from gossamer.jobs.schedules import open_runner
from gossamer.wiring.backends import Backends


class ScheduleDuty:
    """Crawls that are due are submitted, and how they end is noted."""

    name = "schedules"
    every_s = 2.0

    def __init__(self, backends: Backends) -> None:
        self._backends = backends
        self._runner: ScheduleRunner | None = None

    async def run(self, now: float) -> None:
        """See :class:`~gossamer.ports.duty.Duty`."""
        if self._runner is None:
            self._runner = await open_runner(self._backends)
        await self._runner.look(now)
