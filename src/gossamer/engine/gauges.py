"""Notes now and then how many requests of a job wait, beside the counters that its store keeps over time."""

from __future__ import annotations

import asyncio
import contextlib

from gossamer.core.errors import OperatorError
from gossamer.core.jobs import FrontierStats, Job
from gossamer.core.series import BUCKET_S, HOUR_S
from gossamer.ports.series import Series

PATIENCE_S = 2.0
"""A store that takes longer gets no note: looking at a crawl must not hold it up."""


class GaugeRecorder:
    """The gauges of one job, noted once in each bucket; where the store is away there is a gap.

    ``folds``: no fleet's duty sees to old buckets, so this does, at first and every hour.
    """

    def __init__(self, series: Series | None, job: Job, *, folds: bool = False) -> None:
        self._series = series
        self._job = job
        self._noted: float | None = None  # the bucket of the latest note
        self._fold_at = 0.0 if folds else float("inf")

    async def record_stats(self, stats: FrontierStats, now: float, *, at_once: bool = False) -> None:
        """Note how the requests stand, if this bucket has no note (or ``at_once``). Raises nothing."""
        bucket = now // BUCKET_S
        if self._series is None or (bucket == self._noted and not at_once):
            return
        self._noted = bucket
        with contextlib.suppress(OperatorError, TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                await self._series.set_gauges(self._job, now, gauges_of(stats))
                if now >= self._fold_at:
                    await self._series.fold_buckets(now)
                    self._fold_at = now + HOUR_S


def gauges_of(stats: FrontierStats) -> dict[str, int]:
    """Return the gauges of a job's requests, by name."""
    return {
        "pending": stats.pending,
        "delayed": stats.delayed,
        "leased": stats.leased,
        "dead": stats.dead,
        "hosts": stats.hosts,
    }
