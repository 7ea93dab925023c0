"""The supervisor of a fleet: keeps the shifts of all running jobs topped up, and ends jobs that are over.

Guarantee: it holds no state that matters. Book, frontiers, roster and shared state say everything, so it may
be killed and started at any point, and any number may run: one leads, and another takes over within
``lead_ttl_s``. One that was deposed without noticing (a stopped process) cannot request shifts, since
``Roster.request_shifts`` accepts the leader's token only; it stops once it sees the time, and its other steps
may be done twice.

A look is due every second, and at once when the bell rings: a job was submitted, a shift ended. Trouble
with one job (its frontier is gone, its plan cannot be read) leaves the others alone. Trouble with a server
is one line in the log, and looks become rarer until it is back.
"""

from __future__ import annotations

import asyncio
import contextlib
import random as random_numbers
import secrets
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from gossamer.core.errors import OperatorError, StorageError
from gossamer.core.events import ProgressEvent
from gossamer.core.health import PartHealth
from gossamer.core.jobs import Job, tag_of
from gossamer.core.lifecycle import JobState
from gossamer.core.shifts import EndReason, JobSample, RosterView, Shift
from gossamer.fleet.duties import repeat_duty
from gossamer.fleet.error_throttle import ErrorThrottle
from gossamer.fleet.job_monitor import YOUNG_S, JobMonitor
from gossamer.fleet.parts import FleetOptions, FleetParts, log
from gossamer.policy.shifts import JobLane, LaneDemand, ShiftPlan, lost_shifts, plan_shifts
from gossamer.ports.duty import Duty
from gossamer.runtime.cancelling import end_tasks
from gossamer.runtime.log_context import describe_lines
from gossamer.runtime.process_name import this_process

T = TypeVar("T")

FORSAKEN_S = 600.0
"""A lost shift whose leases cannot be taken back for this long is buried; the leases have expired."""

CLAIM_WITHIN_S, LOOK_WITHIN_S = 60.0, 300.0
"""A supervisor whose claim or look takes longer than this hangs: each answer of a server has a much shorter
bound."""

ROSTER, BROKER, LOOK = "the fleet's roster", "no shifts are asked for", "a look at the fleet"


class FleetSupervisor:
    """One supervisor; ``run`` returns when told to stop."""

    def __init__(
        self,
        parts: FleetParts,
        options: FleetOptions | None = None,
        *,
        me: str = "",
        duties: Sequence[Duty] = (),
        random: Callable[[], float] = random_numbers.random,
    ) -> None:
        self.me = me or this_process()
        self._duties = duties
        self._parts = parts
        self._options = options or FleetOptions()
        self._complaints = ErrorThrottle(self._options, random)
        self._watches: dict[str, JobMonitor] = {}
        self._noted: dict[str, tuple[float, str]] = {}  # by job: when a sample was kept, and its trouble
        self._stop = asyncio.Event()
        self._leading = asyncio.Event()
        self._token = 0
        self._leads_until = 0.0  # by this loop's time
        self._claimed_at: float | None = None  # when it tried to lead last; None: it does not run
        self._looked_at = 0.0  # when its last look at the jobs began
        self._seen_since: float | None = None  # the roster is in sight without a break since then

    def __repr__(self) -> str:
        state = "leading" if self.is_leading else "standing by"
        return f"<FleetSupervisor {self.me} {state}, {len(self._watches)} jobs>"

    @property
    def is_leading(self) -> bool:
        """Whether this one leads, as far as it can know."""
        return self._leading.is_set() and self._loop_time() < self._leads_until

    def read_health(self) -> list[PartHealth]:
        """Whether it gets on, however long a server is away; for any thread."""
        if self._claimed_at is None:
            return []
        failure = "this supervisor has not tried to lead"
        parts = [PartHealth(failure=failure, seen_at=self._claimed_at, within_s=CLAIM_WITHIN_S)]
        if self._leading.is_set():
            failure = "this supervisor leads and has not looked at the jobs"
            parts.append(PartHealth(failure=failure, seen_at=self._looked_at, within_s=LOOK_WITHIN_S))
        return parts

    def stop(self) -> None:
        """Let another supervisor lead; jobs and their shifts continue."""
        self._stop.set()

    async def run(self) -> None:
        """Supervise until stopped; never raises for trouble of a server or a job."""
        tasks: list[asyncio.Task[Any]] = [
            asyncio.create_task(step())
            for step in (self._renew_leadership, self._supervise_jobs, self._stop.wait)
        ]
        tasks += self._begin_duties()
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            await end_tasks(*tasks)
            with contextlib.suppress(OperatorError):
                await self._with_timeout(self._parts.roster.claim_leadership(self.me, 0))

    def _begin_duties(self) -> list[asyncio.Task[Any]]:
        """Start each duty in a task of its own; the tasks end with the supervisor."""
        errors = ErrorThrottle(self._options)
        return [
            asyncio.create_task(repeat_duty(duty, self._parts.clock, lambda: self.is_leading, errors))
            for duty in self._duties
        ]

    # ----------------------------------------------------------------- leading

    async def _renew_leadership(self) -> None:
        """Lead or stand by; renewed beside the looks, however long one takes."""
        ttl_s = self._options.lead_ttl_s
        while True:
            asked_at = self._claimed_at = self._loop_time()
            try:
                token = await self._with_timeout(self._parts.roster.claim_leadership(self.me, ttl_s))
            except OperatorError as error:
                self._leading.clear()
                self._seen_since = None
                await self._pause_after_error(ROSTER, str(error))
                continue
            self._complaints.clear_error(ROSTER)
            self._seen_since = self._seen_since or asked_at
            self._set_leadership(token, asked_at + ttl_s)
            await self._parts.clock.sleep(ttl_s / 4)
            if self._loop_time() - asked_at > ttl_s:  # this process was stopped: others may have been as well
                self._seen_since = None

    def _set_leadership(self, token: int | None, until: float) -> None:
        if token is None:
            if self._leading.is_set():
                log.warning("another supervisor leads now; standing by")
            self._leading.clear()
            return
        if not self._leading.is_set():
            log.info("leading the fleet as %s", self.me)
            self._looked_at = self._loop_time()
        self._token, self._leads_until = token, until
        self._leading.set()

    async def _supervise_jobs(self) -> None:
        """Look, wait, look again."""
        while True:
            await self._leading.wait()
            self._looked_at = self._loop_time()
            try:
                if self.is_leading:
                    await self.check_jobs()
                rest_s = self._options.look_every_s
                await self._with_timeout(self._parts.roster.wait_for_notification(rest_s), more_s=rest_s)
                await self._parts.clock.sleep(self._options.breath_s)
            except OperatorError as error:
                await self._pause_after_error(LOOK, str(error))
            except Exception as error:  # noqa: BLE001 - the supervisor's boundary: the next look may do better
                log.exception("the fleet could not be looked at")
                await self._pause_after_error(LOOK, repr(error))
            else:
                self._complaints.clear_error(LOOK)

    # ----------------------------------------------------------------- one look

    async def check_jobs(self) -> None:
        """One look at everything. Raises ``OperatorError`` for trouble that is not that of one job."""
        token = self._token
        unfinished = await self._with_timeout(self._parts.book.list_jobs(unfinished=True))
        jobs = {job.id: job for job in unfinished}
        view = await self._with_timeout(self._parts.roster.read_roster())
        if view.store is None and self._parts.join is not None:  # Redis has lost which store the fleet has
            await self._with_timeout(self._parts.join())
        running = [job for job in jobs.values() if job.state is JobState.RUNNING and job.finished_at is None]
        gone = self._lost_shifts(view)
        claims = await self._look_at(running, jobs, gone)
        decision = plan_shifts(view, claims, self._options.limits)
        if self.is_leading:
            await self._carry_out(decision, view.at, token)
            await self._add_samples(running, decision.troubles)

    def _lost_shifts(self, view: RosterView) -> dict[str, list[Shift]]:
        """Return the shifts to be buried, by job."""
        watched_s = 0.0 if self._seen_since is None else self._loop_time() - self._seen_since
        gone: defaultdict[str, list[Shift]] = defaultdict(list)
        for shift in lost_shifts(view, watched_s, self._options.limits):
            is_forsaken = shift.beat_at + FORSAKEN_S <= view.at
            gone["" if is_forsaken else shift.job].append(shift)
        return gone

    async def _look_at(
        self, running: Sequence[Job], jobs: Mapping[str, Job], gone: Mapping[str, list[Shift]]
    ) -> list[LaneDemand]:
        """Return the demand of the running jobs, oldest first. Abandoned requests are reclaimed."""
        ids = {job.id for job in running}
        others = [jobs[job_id] for job_id in gone if job_id in jobs and job_id not in ids]
        forsaken = [shift.id for job_id in gone if job_id not in jobs for shift in gone[job_id]]
        if forsaken:
            await self._with_timeout(self._parts.roster.reap_shifts(forsaken))
        self._watches = {job.id: self._watches[job.id] for job in running if job.id in self._watches}
        self._complaints.forget_others({ROSTER, BROKER, LOOK, *gone, *ids})
        in_turn = asyncio.Semaphore(self._options.side_by_side)

        async def one(job: Job, *, is_running: bool) -> tuple[LaneDemand, ...]:
            async with in_turn:
                return await self._look_at_one(job, gone.get(job.id, ()), is_running=is_running)

        oldest_first = sorted(running, key=lambda job: job.created_at)
        found = await asyncio.gather(
            *(one(job, is_running=True) for job in oldest_first),
            *(one(job, is_running=False) for job in others),
        )
        return [claim for claims in found for claim in claims]

    async def _look_at_one(
        self, job: Job, gone: Sequence[Shift], *, is_running: bool
    ) -> tuple[LaneDemand, ...]:
        """Return one job's demand; its errors do not affect other jobs. Called in a task of its own."""
        describe_lines(job=job.id)
        nothing = (LaneDemand(job=job.id, lane="", useful=0),) if is_running else ()
        if self._complaints.leaves_alone(job.id, self._loop_time()) or not self.is_leading:
            return nothing
        try:
            watch = self._watches.get(job.id)
            if watch is None:
                limits = self._options.limits
                watch = JobMonitor(job, self._parts, self._parts.watched(job, ()), limits)
            if is_running:
                self._watches[job.id] = watch
            await self._with_timeout(watch.take_back(gone))
            claims = await self._with_timeout(watch.check_job()) if is_running else ()
        except OperatorError as error:
            if job.created_at + YOUNG_S <= self._parts.clock.now():
                self._complaints.report_error(job.id, str(error), self._loop_time())
            return nothing
        except Exception as error:  # noqa: BLE001 - one job's surprise must not stop the others
            log.exception("%s: a look at it failed", job.id)
            self._complaints.report_error(job.id, repr(error), self._loop_time())
            return nothing
        self._complaints.clear_error(job.id)
        return claims

    # ----------------------------------------------------------------- carrying out

    async def _carry_out(self, decision: ShiftPlan, at: float, token: int) -> None:
        """Enter the decisions into the roster, then publish them."""
        roster = self._parts.roster
        can_publish = not self._complaints.leaves_alone(BROKER, self._loop_time())
        shifts = [self._make_shift(job_lane, at) for job_lane in decision.asks] if can_publish else []
        if not shifts and not decision.recalls:
            return
        if not await self._with_timeout(roster.request_shifts(shifts, decision.recalls, token)) or not shifts:
            return
        try:
            await self._with_timeout(self._parts.publish(shifts))
        except OperatorError as error:
            self._complaints.report_error(BROKER, str(error), self._loop_time())
            await self._with_timeout(
                roster.request_shifts((), {shift.id: EndReason.STOPPED for shift in shifts}, token)
            )
        else:
            self._complaints.clear_error(BROKER)

    def _make_shift(self, job_lane: JobLane, at: float) -> Shift:
        job, lane = job_lane
        shift_id = f"{job}:{lane}:{secrets.token_hex(4)}"
        tag = tag_of(self._watches[job].job)
        return Shift(id=shift_id, job=job, lane=lane, tag=tag, expires_at=at + self._options.expires_s)

    async def _add_samples(self, running: Sequence[Job], troubles: Mapping[str, str]) -> None:
        """Keep a sample of each job now and then, and whenever its trouble is another one."""
        now = self._parts.clock.now()
        noted, self._noted = self._noted, {}
        for job in running:
            trouble = (
                self._complaints.error_of(job.id)
                or troubles.get(job.id, "")
                or self._complaints.error_of(BROKER)
            )
            self._noted[job.id] = at, before = noted.get(job.id, (0.0, ""))
            if before == trouble and at + self._options.sample_every_s > now:
                continue
            watch = self._watches.get(job.id)
            sample = JobSample(at=now, trouble=trouble)
            if watch is not None and watch.stats is not None:
                sample = replace(sample, pages=watch.stats.pages, waiting=watch.stats.waiting)
                self._parts.sink.emit(ProgressEvent(at=now, job=job.id, stats=watch.stats))
            await self._with_timeout(self._parts.roster.add_sample(job.id, sample))
            self._noted[job.id] = now, trouble

    # ----------------------------------------------------------------- time

    async def _with_timeout(self, answer: Awaitable[T], *, more_s: float = 0.0) -> T:
        """Return an answer, unless it takes too long: then ``StorageError``."""
        patience_s = self._options.patience_s + more_s
        try:
            async with asyncio.timeout(patience_s):
                return await answer
        except TimeoutError:
            raise StorageError(
                f"no answer from Redis, the database or the broker within {patience_s:g} seconds: "
                "see whether they are there and not overloaded; it is tried again"
            ) from None

    async def _pause_after_error(self, what: str, text: str) -> None:
        await self._parts.clock.sleep(self._complaints.report_error(what, text, self._loop_time()))

    def _loop_time(self) -> float:
        """This loop's time: it continues while the process is stopped, and cannot be set."""
        return asyncio.get_running_loop().time()
