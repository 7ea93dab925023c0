"""One run of a job, from the first seed to the reason why it ended.

The supervisor takes back the leases that an earlier run left, adds seeds, runs the worker, looks at the
frontier from time to time, and decides when the job is over: finished means that nothing is pending, delayed
or leased, counted from the frontier's structures. Embedded, it supervises one worker in its own process.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from gossamer.core.errors import TransitionError
from gossamer.core.events import JobFinishedEvent, JobStartedEvent, ProgressEvent
from gossamer.core.jobs import FrontierStats
from gossamer.core.lifecycle import FinishReason, JobCommand, JobState
from gossamer.core.record import Record
from gossamer.core.requests import Request
from gossamer.engine.gauges import GaugeRecorder
from gossamer.engine.parts import EngineParts
from gossamer.engine.seeding import Seeder, SeedingResult
from gossamer.engine.skip_monitor import SkipMonitor
from gossamer.policy.job_life import EndFinder, JobEnd, finish_reason_of
from gossamer.ports.worker_group import WorkerGroup
from gossamer.runtime.cancelling import end_tasks, wait_for_first
from gossamer.runtime.user_code import await_endable


class RunSummary(Record, frozen=True, kw_only=True):
    """Totals of one run."""

    reason: FinishReason
    detail: str = ""  # which budget is spent, or why a callback ended it
    seeded: SeedingResult
    recovered: int
    started_at: float
    ended_at: float
    stats: FrontierStats


class Supervisor:
    """Runs a job with one shift until it is over or told to stop."""

    def __init__(
        self,
        parts: EngineParts,
        worker: WorkerGroup,
        *,
        max_time_s: float | None = None,
        find_end: EndFinder | None = None,
        find_more: Callable[[], AsyncIterator[Request]] | None = None,
        drain_s: float = 10.0,
        look_every_s: float = 0.5,
    ) -> None:
        """``find_more`` gives further requests when nothing is left to do; the job ends if it gives none."""
        self._parts = parts
        self._worker = worker
        self._find_more = find_more
        self._has_asked = False
        self._max_time_s = max_time_s
        self._find_end = find_end
        self._drain_s = drain_s
        self._look_every_s = look_every_s
        self.is_seeded = False  # whether the start gives no further requests
        self._stop = asyncio.Event()
        self._gauges = GaugeRecorder(parts.series, parts.job, folds=True)
        self._skips = SkipMonitor(parts.frontier)

    def follow_limits(self, max_time_s: float | None, find_end: EndFinder | None) -> None:
        """Apply new limits of the job from the next look on."""
        self._max_time_s = max_time_s
        self._find_end = find_end

    def stop(self) -> None:
        """Drain: start nothing new, finish requests in hand within ``drain_s``, give the rest back."""
        self._stop.set()

    async def run(self, seeds: AsyncIterator[Request], *, resumed: bool = False) -> RunSummary:
        """Run to the end. Raises ``StorageError`` if the frontier or the store fails; stored results stay."""
        parts = self._parts
        started_at = parts.clock.now()
        self._skips = SkipMonitor(parts.frontier, is_old=resumed)
        expired = await parts.frontier.apply_change(JobCommand.RECOVER)
        await self._worker.record_expired(expired)
        with contextlib.suppress(TransitionError):  # it was cancelled: the first look ends this run
            await parts.frontier.apply_change(JobCommand.RESUME, parts.rules)
        parts.sink.emit(
            JobStartedEvent(at=started_at, job=parts.job.id, resumed=resumed, recovered=len(expired))
        )
        seeding = Seeder(parts.admission, parts.frontier, self._worker.wake)
        self._seeding = asyncio.create_task(_add_seeds(seeding, seeds))  # or requests that were added since
        shift = asyncio.create_task(self._worker.run())
        try:
            end = await self._wait_for_end(shift, seeding, started_at)
            self._worker.stop()
            await end_tasks(self._seeding)
            await self._end_shift(shift)
        finally:
            await end_tasks(self._seeding, shift)
        reason = await self._finish_job() if end.reason is FinishReason.FINISHED else end.reason
        ended_at = parts.clock.now()
        stats = await self._read_stats()
        await self._gauges.record_stats(stats, ended_at, at_once=True)
        parts.sink.emit(JobFinishedEvent(at=ended_at, job=parts.job.id, reason=reason))
        return RunSummary(
            reason=reason,
            detail=end.detail,
            seeded=seeding.so_far,
            recovered=len(expired),
            started_at=started_at,
            ended_at=ended_at,
            stats=stats,
        )

    async def _wait_for_end(self, shift: asyncio.Task[None], seeder: Seeder, started_at: float) -> JobEnd:
        """Wait for a reason to end; raises the error of a failed shift or seeding."""
        was_seeded = False  # at the look before
        while True:
            seeding = self._seeding
            is_seeded = self.is_seeded = seeding.done()  # before the look: it does not include later seeds
            stats = await self._read_stats()
            end = None if self._find_end is None else await self._find_end(stats)
            now = self._parts.clock.now()
            if end is not None and not was_seeded:  # the start itself may have ended the run
                is_seeded = False
            was_seeded = is_seeded
            reason = finish_reason_of(
                stats,
                elapsed_s=now - started_at,
                max_time_s=self._max_time_s,
                stopping=self._stop.is_set(),
                seeding=not is_seeded,
                asked=None if end is None else end.reason,
                skipped_s=await self._skips.measure_wait(stats, now, seeding=not is_seeded),
            )
            for task in (seeding, shift):
                if task.done():
                    task.result()
            if reason is FinishReason.FINISHED and end is None and self._begin_more(seeder):
                continue
            if reason is not None:
                return end if end is not None and end.reason is reason else JobEnd(reason=reason)
            await self._until_next_look({shift} if is_seeded else {shift, seeding})

    def _begin_more(self, seeder: Seeder) -> bool:
        """Ask for further requests, unless there were none when they were last asked for."""
        if self._find_more is None or (self._has_asked and self._seeding.result() == 0):
            return False
        self._has_asked = True
        self._seeding = asyncio.create_task(_add_seeds(seeder, self._find_more()))
        return True

    async def _until_next_look(self, ends: set[asyncio.Task[Any]]) -> None:
        """Wait for the next look: regularly, and at once on a stop, after the last seed, or without work."""
        sleeping = self._parts.clock.sleep(self._look_every_s)
        await wait_for_first(sleeping, self._stop.wait(), self._worker.idle.wait(), tasks=ends)
        self._worker.idle.clear()

    async def _end_shift(self, shift: asyncio.Task[None]) -> None:
        """Let the worker finish its requests within the time to drain, and watch it."""
        self._worker.stop()
        clock = self._parts.clock
        until = clock.now() + self._drain_s
        while not shift.done() and (left_s := until - clock.now()) > 0:
            await wait_for_first(clock.sleep(min(left_s, self._look_every_s)), tasks=(shift,))
            await self._read_stats()
        if not shift.done():
            await self._worker.abandon()
        await shift

    async def _finish_job(self) -> FinishReason:
        """Finish the job, unless a person paused or cancelled it since the last look; how it ended."""
        try:
            await self._parts.frontier.apply_change(JobCommand.FINISH)
        except TransitionError:
            is_paused = (await self._read_stats()).state is JobState.PAUSED
            return FinishReason.PAUSED if is_paused else FinishReason.CANCELLED
        return FinishReason.FINISHED

    async def _read_stats(self) -> FrontierStats:
        stats = await self._parts.frontier.read_stats()
        now = self._parts.clock.now()
        self._parts.sink.emit(ProgressEvent(at=now, job=self._parts.job.id, stats=stats))
        await self._gauges.record_stats(stats, now)
        return stats


async def _add_seeds(seeder: Seeder, seeds: AsyncIterator[Request]) -> int:
    """Add all seeds, and say how many there were; a run that ends before it has begun has asked for none."""
    count = 0

    async def count_seeds() -> AsyncIterator[Request]:
        nonlocal count
        async for seed in seeds:
            count += 1
            yield seed

    await await_endable(seeder.add_seeds(count_seeds()))
    return count
