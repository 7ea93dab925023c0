"""Checks the items of a fleet's jobs that have ended, including those that ended unwatched."""

from __future__ import annotations

from gossamer.config.settings import Settings
from gossamer.watch.item_quality import ensure_profile
from gossamer.wiring.backends import Backends
from gossamer.wiring.quality import quality_parts_of

LATELY_S = 86_400.0
"""Jobs that ended longer ago are not looked at any more."""
MOST_JOBS = 20
"""Jobs that are looked at in one run."""


class QualityDuty:
    """Jobs that have ended have profiles, with which later jobs are compared."""

    name = "quality"
    every_s = 60.0

    def __init__(self, settings: Settings, backends: Backends) -> None:
        self._parts = quality_parts_of(settings, backends)
        self._done: set[tuple[str, float]] = set()  # with the end's time: a job may end again

    async def run(self, now: float) -> None:
        """See :class:`~gossamer.ports.duty.Duty`."""
        ended = [
            (job, job.finished_at)
            for job in await self._parts.book.list_jobs()
            if job.is_fleet and job.finished_at is not None and job.finished_at > now - LATELY_S
        ]
        self._done &= {(job.id, finished_at) for job, finished_at in ended}
        waiting = [pair for pair in ended if (pair[0].id, pair[1]) not in self._done]
        for job, finished_at in reversed(waiting[-MOST_JOBS:]):
            await ensure_profile(self._parts, job)
            self._done.add((job.id, finished_at))
