"""Runs due schedules: enters runs, starts their crawls, and records their ends.

Guarantee: a due time is crawled once, even if processes are killed. It is claimed in the store; the crawl's
job is made with the key of the run, so that any process that finds the run open may start it again; and its
end is recorded once. So several runners may work on the same schedules at the same time.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Sequence

from msgspec.structs import replace

from gossamer.core.errors import JobBusyError, OperatorError, StorageError
from gossamer.core.schedules import OverlapRule, RunOutcome, Schedule, ScheduledRun
from gossamer.policy.schedule_runs import (
    BEGIN_S,
    RunDecision,
    RunStep,
    find_obstacle,
    judge_run,
    may_begin,
    plan_run,
)
from gossamer.ports.clock import Clock
from gossamer.ports.job_store import JobStore
from gossamer.ports.run_starter import RunStarter
from gossamer.ports.schedule_store import ScheduleStore

log = logging.getLogger("gossamer.schedules")

AT_ONCE = 4
"""Crawls that are started at the same time."""
WORDS = 1000
"""Characters of the reason why a run did not begin, or ended, at most."""
LOOK_S = 0.1
"""Seconds between two checks of whether the job of a requested run exists."""


class ScheduleRunner:
    """Looks after the schedules of one place: of a data directory, or of a fleet."""

    def __init__(self, schedules: ScheduleStore, book: JobStore, starter: RunStarter, place: str) -> None:
        self._schedules = schedules
        self._book = book
        self._starter = starter
        self._place = place
        self._known: set[str] = set()  # keys of runs that were looked at before
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._starting: dict[tuple[str, str], asyncio.Lock] = {}  # by the name and the target of jobs

    async def look(self, now: float) -> None:
        """Do all that is due. Raises ``StorageError`` when a server is away; the next look does the rest."""
        found = [one for one in await self._schedules.list_schedules() if one.place == self._place]
        if not found:
            return
        open_runs: dict[str, list[ScheduledRun]] = {}
        for run in await self._schedules.open_runs():
            open_runs.setdefault(run.schedule, []).append(run)
        looks = (self._look_at(one, open_runs.get(one.name, []), now) for one in found)
        problems = [end for end in await asyncio.gather(*looks, return_exceptions=True) if end is not None]
        for problem in problems:
            if not isinstance(problem, StorageError):
                raise problem
        if problems:
            raise problems[0]

    async def run_now(self, schedule: Schedule, clock: Clock) -> ScheduledRun:
        """Start a run that a person asks for, also of a schedule that is off; it has a job then, or waits.

        Raises ``JobBusyError`` while one is under way that it would overlap, and ``OperatorError`` where it
        cannot be started.
        """
        now = clock.now()
        same = [run for run in await self._schedules.open_runs() if run.schedule == schedule.name]
        others = [run for run in same if (await self._note_end(run, now)).is_open]
        if reason := find_obstacle(schedule, others):
            raise JobBusyError(f"the schedule {schedule.name!r} was not run: {reason}")
        run = ScheduledRun(
            schedule=schedule.name, due_at=now, key=secrets.token_hex(16), is_manual=True, claimed_at=now
        )
        if not await self._schedules.claim_run(schedule, run):
            raise JobBusyError(f"the schedule {schedule.name!r} was changed or removed meanwhile")
        if not may_begin(run, [*others, run]):
            return run
        started = await self._start(schedule, run, now, is_new=True)
        while started.is_open and not started.job and clock.now() < now + BEGIN_S:
            await clock.sleep(LOOK_S)
            started = await self._follow(schedule, started, clock.now())
        if started.outcome in (RunOutcome.SKIPPED, RunOutcome.FAILED):
            raise JobBusyError(f"the schedule {schedule.name!r} was not run: {started.detail}")
        return started

    async def _look_at(self, schedule: Schedule, runs: Sequence[ScheduledRun], now: float) -> None:
        """See to one schedule; its trouble stays its own."""
        still_open = []
        for run in runs:
            after = await self._follow(schedule, run, now) if run.started_at is not None else run
            if after.is_open:
                still_open.append(after)
        due = plan_run(schedule, still_open, now, secrets.token_hex(16))
        is_new = due is not None and await self._schedules.claim_run(schedule, due)
        if due is not None and is_new:
            if due.outcome is not None:
                self._tell(due)
            else:
                still_open.append(due)
        for run in still_open:
            if run.started_at is None and may_begin(run, still_open):
                await self._start(schedule, run, now, is_new=is_new and run is due)
                break

    async def _follow(self, schedule: Schedule, run: ScheduledRun, now: float) -> ScheduledRun:
        """Return the current state of a started run."""
        is_first_look = run.key not in self._known
        self._known.add(run.key)
        job = await self._book.find_by_key(run.key_bytes)
        if job is not None and run.job != job.id:
            run = await self._keep(replace(run, job=job.id))
        is_at_work = await self._starter.is_at_work(schedule, run, job)
        failure = "" if job is not None or is_at_work else await self._starter.read_failure(run)
        if failure and await self._book.find_by_key(run.key_bytes) is None:  # it may have come meanwhile
            decision = RunDecision(RunStep.END, RunOutcome.FAILED, failure, now)
        else:
            decision = judge_run(run, job, is_at_work=is_at_work, is_first_look=is_first_look, now=now)
        if decision.step is RunStep.START:
            return await self._start(schedule, run, now, is_new=False)
        if decision.step is RunStep.CONTINUE:  # however often schedulers are restarted while it is under way
            return await self._start(schedule, replace(run, starts=0), now, is_new=False)
        if decision.step is RunStep.END:
            return await self._end(run, decision)
        return run

    async def _note_end(self, run: ScheduledRun, now: float) -> ScheduledRun:
        """Return the current state of a run; record the end of its crawl if no process was there to do it."""
        job = await self._book.find_by_key(run.key_bytes) if run.started_at is not None else None
        if job is None:
            return run
        decision = judge_run(run, job, is_at_work=True, is_first_look=False, now=now)
        run = replace(run, job=job.id)
        return await self._end(run, decision) if decision.step is RunStep.END else run

    async def _start(
        self, schedule: Schedule, run: ScheduledRun, now: float, *, is_new: bool
    ) -> ScheduledRun:
        """Start a run; it stays open where its crawl may be started later.

        Those of one target that are due together are started one after another, and see one another.
        """
        target = schedule.job_name, schedule.job_target
        async with self._starting.setdefault(target, asyncio.Lock()):
            return await self._start_alone(schedule, run, now, is_new=is_new)

    async def _start_alone(
        self, schedule: Schedule, run: ScheduledRun, now: float, *, is_new: bool
    ) -> ScheduledRun:
        rival = await self._starter.find_rival(schedule, run)
        if rival:
            if schedule.overlap is OverlapRule.SKIP and is_new:
                return await self._end(run, RunDecision(RunStep.END, RunOutcome.SKIPPED, rival, now))
            return run
        run = await self._keep(replace(run, started_at=now, starts=run.starts + 1, detail=""))
        if not run.is_open:
            return run
        self._known.add(run.key)
        try:
            async with self._slots:
                job = await self._starter.start_run(schedule, run)
        except StorageError as error:  # a server is away for a while: this attempt does not count
            await self._keep(replace(run, starts=run.starts - 1, detail=str(error)[:WORDS]))
            raise
        except OperatorError as error:
            if await self._book.find_by_key(run.key_bytes) is not None:
                return run  # it was started, and only the answer is missing
            return await self._end(run, RunDecision(RunStep.END, RunOutcome.FAILED, str(error), now))
        log.info("schedule %s: %s", run.schedule, f"{job} is started" if job else "its crawl is started")
        return await self._keep(replace(run, job=job)) if job else run

    async def _end(self, run: ScheduledRun, decision: RunDecision) -> ScheduledRun:
        ended = replace(
            run, outcome=decision.outcome, detail=decision.detail[:WORDS], ended_at=decision.ended_at
        )
        if await self._schedules.save_run(ended):
            self._tell(ended)
        self._known.discard(run.key)
        return ended

    async def _keep(self, run: ScheduledRun) -> ScheduledRun:
        """Store the run and return it; if it is over or deleted meanwhile, it is over."""
        if await self._schedules.save_run(run):
            return run
        return replace(run, outcome=RunOutcome.STOPPED)

    def _tell(self, run: ScheduledRun) -> None:
        """Say aloud how a run ended."""
        level = logging.INFO if run.outcome is RunOutcome.FINISHED else logging.WARNING
        what = f"{run.outcome}: {run.detail}" if run.detail else f"{run.outcome}"
        passed = f" ({run.passed} due times before it also passed)" if run.passed else ""
        log.log(level, "schedule %s: %s%s%s", run.schedule, f"{run.job} " if run.job else "", what, passed)
