"""One look at one job: reclaims abandoned requests, checks whether it is over, and reports its demand.

Every step may run twice, or be cut off by a crash and be repeated by another supervisor: reclaiming finds
nothing the second time, and a job that ended ends the same way again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gossamer.core.errors import LostRequestsError, TransitionError
from gossamer.core.events import JobFinishedEvent, LeaseLostEvent
from gossamer.core.jobs import FrontierStats, Job
from gossamer.core.lifecycle import FinishReason, JobCommand, JobState
from gossamer.core.logs import LogEvent
from gossamer.core.shifts import SEED_LANE, Shift
from gossamer.core.steering import SettingChange
from gossamer.core.text import format_count
from gossamer.engine.gauges import GaugeRecorder
from gossamer.engine.recorder import expired_attempt
from gossamer.engine.skip_monitor import SkipMonitor
from gossamer.fleet.marks import forget_spent, spent_s
from gossamer.fleet.parts import FleetParts, MonitoredJob, log
from gossamer.policy.job_life import JobEnd, change_job_record, end_run, finish_reason_of
from gossamer.policy.shifts import LaneDemand, ShiftLimits, demand_of
from gossamer.runtime.log_context import line_details

YOUNG_S = 3.0
"""A job so young may be without a frontier: it is in the book first."""


class JobMonitor:
    """The supervisor's eye on one running job."""

    def __init__(self, job: Job, parts: FleetParts, watched: MonitoredJob, limits: ShiftLimits) -> None:
        self.job = job
        self.stats: FrontierStats | None = None  # as last seen
        self._parts = parts
        self._watched = watched
        self._changes: tuple[SettingChange, ...] = ()
        self._limits = limits
        self._gauges = GaugeRecorder(parts.series, job)
        self._skips = SkipMonitor(watched.frontier)

    def __repr__(self) -> str:
        is_seeded = self.stats is not None and self.stats.seeded
        return f"<JobMonitor on {self.job.id}{'' if is_seeded else ', not seeded'}>"

    async def take_back(self, shifts: Sequence[Shift]) -> None:
        """Free the leases of dead shifts, enter them into the ledger, then bury the shifts."""
        parts = self._parts
        for shift in shifts:
            leases = await self._watched.frontier.recover_leases(shift.id)
            if leases:
                now = parts.clock.now()
                await parts.store.record_attempts(
                    self.job, [expired_attempt(lease, now, shift.worker) for lease in leases]
                )
                for lease in leases:
                    url = lease.entry.request.url
                    parts.sink.emit(LeaseLostEvent(at=now, job=self.job.id, url=url))
            log.info(
                "%s: the shift %s of %s is gone; its leases are taken back: %s",
                self.job.id,
                shift.id,
                shift.worker or "nobody",
                format_count(len(leases), "request"),
            )
            await parts.roster.reap_shifts([shift.id])

    async def _follow_changes(self) -> None:
        """Apply an operator's changes to the job since the last look."""
        changes = await self._parts.book.read_changes(self.job)
        if changes != self._changes:
            changed = self._parts.watched(self.job, changes)
            # This frontier's memory of its servers' restarts must be kept.
            self._watched = replace(changed, frontier=self._watched.frontier)
            self._changes = changes

    async def check_job(self) -> tuple[LaneDemand, ...]:
        """Return the job's demand for shifts; empty if it has just ended."""
        await self._follow_changes()
        parts, watched = self._parts, self._watched
        try:
            stats = await watched.frontier.read_stats()
        except LostRequestsError:
            if not await self._begin_anew():
                raise
            stats = await watched.frontier.read_stats()
        self.stats = stats
        if stats.state is JobState.FINISHED and not _is_done(stats):  # who was about to end it was cut off
            await watched.frontier.apply_change(JobCommand.REOPEN)
            stats = self.stats = await watched.frontier.read_stats()
        now = parts.clock.now()
        await self._gauges.record_stats(stats, now)
        end = None if watched.find_end is None else await watched.find_end(stats)
        reason = finish_reason_of(
            stats,
            elapsed_s=await self._elapsed_s(now),
            max_time_s=watched.max_time_s,
            stopping=False,
            seeding=not stats.seeded,
            asked=None if end is None else end.reason,
            skipped_s=await self._skips.measure_wait(stats, now, seeding=not stats.seeded),
        )
        if reason is not None:
            end = end if end is not None and end.reason is reason else JobEnd(reason=reason)
            if await self._end_job(end, stats):
                return ()
        return (
            LaneDemand(job=self.job.id, lane=SEED_LANE, useful=0 if stats.seeded else 1),
            *(
                demand_of(self.job.id, lane, stats, watched.per_host, now=now, limits=self._limits)
                for lane in watched.lanes
            ),
        )

    async def _begin_anew(self) -> bool:
        """Create the frontier again if Redis lost it before anything was fetched. Return whether it did.

        The job is seeded then, as any new job. For a job that had begun, the operator decides.
        """
        parts, job = self._parts, self.job
        if self._watched.make_frontier is None or job.created_at + YOUNG_S > parts.clock.now():
            return False
        if not (await parts.store.read_totals(job)).is_empty:
            return False
        await self._watched.make_frontier()
        log.warning(
            "%s: Redis has lost its requests before anything was fetched; it begins anew with its start "
            "URLs. URLs from `gossamer seeds` must be added again",
            job.id,
        )
        return True

    async def _elapsed_s(self, now: float) -> float:
        if self._watched.max_time_s is None:
            return 0.0
        return await spent_s(self._parts.shared, self.job, now)

    async def _end_job(self, end: JobEnd, stats: FrontierStats) -> bool:
        """End the job, in the frontier and then in the book. ``False``: it has work again.

        An operator may steer the job, or revive dead letters, between any two steps: the book is changed only
        if it is as it was read, and changed back if the frontier has work again by then.
        """
        parts, frontier = self._parts, self._watched.frontier
        state, reason = stats.state, end.reason
        if reason is FinishReason.FINISHED:
            if redone := await frontier.redo_lost():
                log.warning(
                    "%s: Redis has lost links of its last seconds; their pages are fetched again: %d",
                    self.job.id,
                    redone,
                )
                return False
            try:
                await frontier.apply_change(JobCommand.FINISH)
            except TransitionError:  # paused or cancelled since: the next look sees that
                return False
            if not _is_done(await frontier.read_stats()):  # dead letters were revived, or seeds were lost
                await frontier.apply_change(JobCommand.REOPEN)
                return False
            state = JobState.FINISHED
        if self._watched.max_time_s is not None:
            await forget_spent(parts.shared, self.job)
        at = None if state is JobState.PAUSED else parts.clock.now()  # a pause is not an end
        ended = end_run(self.job, reason, state, at, error=end.detail)
        if not await parts.book.update(ended, expected=self.job):
            return True
        after = await frontier.read_stats()
        if (reason is FinishReason.FINISHED and not _is_done(after)) or (
            reason is FinishReason.PAUSED and after.state is JobState.RUNNING
        ):
            again = change_job_record(self.job, JobCommand.REOPEN, parts.clock.now())
            await parts.book.update(again, expected=ended)
            return False
        parts.sink.emit(JobFinishedEvent(at=parts.clock.now(), job=self.job.id, reason=reason.value))
        pages = format_count(stats.pages, "page")
        extra = line_details(event=LogEvent.JOB_FINISHED, reason=reason.value, pages=stats.pages)
        log.info("%s: over (%s); %s", self.job.id, reason.value, pages, extra=extra)
        return True


def _is_done(stats: FrontierStats) -> bool:
    """Whether all seeds were added, and nothing is left to do."""
    return stats.seeded and stats.waiting == 0
