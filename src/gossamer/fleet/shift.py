"""One shift: an ordinary worker, for a bounded time, or until it has no work.

A shift that ends holds no requests. It ends by itself when its time is over, so that another job may have its
slot, and when nothing is due for a while; others end it when the job is to stop, or the worker's process is
to end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from gossamer.core.jobs import FrontierStats
from gossamer.core.lifecycle import JobState
from gossamer.core.shifts import PAGE_LANE, EndReason
from gossamer.ports.clock import Clock
from gossamer.ports.frontier import Frontier
from gossamer.ports.worker_group import WorkerGroup
from gossamer.runtime.cancelling import end_tasks, wait_for_first

LINGER_S = 2.0
"""How long a shift without work keeps asking: another worker's page may bring some."""
SOON_S = 5.0
"""... and for longer while something comes due so soon."""
LOOK_S = 0.25


class ShiftRun:
    """Runs a worker as one shift."""

    def __init__(
        self,
        worker: WorkerGroup,
        frontier: Frontier,
        clock: Clock,
        *,
        lane: str = PAGE_LANE,
        max_s: float,
        drain_s: float,
        when_empty: Callable[[], None] = lambda: None,
    ) -> None:
        self._worker = worker
        self._frontier = frontier
        self._clock = clock
        self._lane = lane
        self._max_s = max_s
        self._drain_s = drain_s
        self._when_empty = when_empty
        self._why: EndReason | None = None
        self._told = asyncio.Event()

    def stop(self, why: EndReason) -> None:
        """End the shift: requests in flight may finish within the time to drain. The first reason counts."""
        self._why = self._why or why
        self._told.set()

    async def abandon(self) -> None:
        """End the shift at once: requests in flight are given back."""
        self.stop(EndReason.DRAINED)
        await self._worker.abandon()

    async def run(self) -> EndReason:
        """Work; why it ended. Raises storage trouble."""
        working = asyncio.create_task(self._worker.run())
        try:
            await self._until_over(working)
            self._worker.stop()
            await self._wait_for_end({working}, self._drain_s)
            if not working.done():
                await self._worker.abandon()
            await working
        finally:
            await end_tasks(working)
        return self._why or EndReason.STOPPED

    async def _until_over(self, working: asyncio.Task[None]) -> None:
        ends_at = self._clock.now() + self._max_s
        dry_since: float | None = None
        while self._why is None and not working.done():
            now = self._clock.now()
            if now >= ends_at:
                self._why = EndReason.TIME
            elif not self._worker.idle.is_set():
                dry_since = None
            else:
                self._worker.idle.clear()
                dry_since = now if dry_since is None else dry_since
                self._why = self._end_of(await self._frontier.read_stats(), now, now - dry_since)
            if self._why is None:
                await self._wait_for_end({working}, LOOK_S)

    def _end_of(self, stats: FrontierStats, now: float, dry_s: float) -> EndReason | None:
        """Why a worker without work should end, if it should."""
        if stats.state is not JobState.RUNNING:
            return EndReason.STOPPED
        if stats.waiting == 0:
            self._when_empty()
        next_at = stats.next_on(self._lane)
        is_soon = next_at is not None and next_at - now < SOON_S
        return None if dry_s < LINGER_S or is_soon else EndReason.IDLE

    async def _wait_for_end(self, ends: set[asyncio.Task[None]], seconds: float) -> None:
        """Wait for one of the tasks to end, at most ``seconds``, or until the shift is told to end."""
        waits: list[Coroutine[Any, Any, object]] = [self._clock.sleep(seconds)]
        if not self._told.is_set():
            waits.append(self._told.wait())
        await wait_for_first(*waits, tasks=ends)
