"""Distribution of shifts among jobs: new, recalled and dead ones. Pure: state in, decision out.

Slots are shared evenly among the jobs that have work: one each, then a second each, until no job wants more
or none is left. A small job is never starved by a huge one, and a single job gets all slots. If there are
more jobs than slots, they take turns of ``ShiftLimits.slice_s``. A shift is recalled only if another job's
share has no free slot; a seeding shift never is, because seeding cannot be resumed in the middle.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

from gossamer.core.jobs import FrontierStats
from gossamer.core.lifecycle import JobState
from gossamer.core.record import Record
from gossamer.core.shifts import (
    EXTRACT_LANE,
    SEED_LANE,
    EndReason,
    LaneHealth,
    RosterView,
    Shift,
    ShiftState,
    WorkerInfo,
    WorkerState,
)

JobLane = tuple[str, str]
"""A job's shifts on one lane: ``(job, lane)``."""


class ShiftLimits(Record, frozen=True, kw_only=True):
    """Limits of the decisions."""

    dead_after_s: float = 10.0  # without a beat; a worker may pause for less and continue
    slice_s: float = 15.0  # a shift so old makes room for a job that has none; one that seeds never does
    ahead_s: float = 1.0  # a shift is asked for so long before its work is due
    requests_per_shift: int = 32  # number of waiting requests that are worth one more shift
    parallel_per_shift: int = 8  # the same for requests that the hosts allow side by side
    first_pause_s: float = 1.0  # after a shift that failed; twice as long each time
    longest_pause_s: float = 60.0
    longest_empty_pause_s: float = 8.0  # after shifts that found nothing to do


class LaneDemand(Record, frozen=True, kw_only=True):
    """A running job's demand on one lane."""

    job: str
    lane: str
    useful: int  # shifts that would have something to do
    busy: int = 0  # shifts that have something in hand, though nothing more may be due


class ShiftPlan(Record, frozen=True, kw_only=True):
    """The next steps."""

    asks: tuple[JobLane, ...] = ()  # one shift each, the most urgent first
    recalls: dict[str, EndReason] = {}  # shifts that shall stop
    troubles: dict[str, str] = {}  # by job: why no worker has it, for people


def demand_of(
    job: str, lane: str, stats: FrontierStats, per_host: int, *, now: float, limits: ShiftLimits
) -> LaneDemand:
    """Return a job's demand: by its waiting and leased requests, and by the concurrency its hosts allow.

    The number of waiting requests covers all lanes; the time of the next start is that of this lane.
    """
    if stats.state is not JobState.RUNNING:
        return LaneDemand(job=job, lane=lane, useful=0)
    by_work = _divide_up(stats.pending + stats.leased, limits.requests_per_shift)
    by_hosts = _divide_up(stats.hosts * per_host, limits.parallel_per_shift)
    if lane == EXTRACT_LANE:  # no host is involved
        by_hosts = by_work
    busy = min(_divide_up(stats.leased, limits.requests_per_shift), by_hosts)
    next_at = stats.next_on(lane)
    is_due = next_at is not None and next_at <= now + limits.ahead_s
    if stats.budget_spent or not is_due:
        return LaneDemand(job=job, lane=lane, useful=0, busy=busy)
    return LaneDemand(job=job, lane=lane, useful=max(1, min(by_work, by_hosts)), busy=busy)


def lost_shifts(view: RosterView, watched_s: float, limits: ShiftLimits) -> list[Shift]:
    """The shifts whose leases are to be taken back: abandoned, or without a beat for too long.

    ``watched_s`` is for how long the roster has been in sight without a break: after one, everybody is given
    the time to be heard of again.
    """
    is_in_sight = watched_s >= limits.dead_after_s
    return [
        shift
        for shift in view.shifts
        if shift.state is ShiftState.LOST
        or (
            shift.state is ShiftState.WORKING
            and is_in_sight
            and shift.beat_at + limits.dead_after_s <= view.at
        )
    ]


def pause_s(health: LaneHealth, limits: ShiftLimits, *, others_can: bool) -> float:
    """How long after its last shift a job waits on a lane for the next one.

    ``others_can``: the last worker refused the job, and there are workers that have not.
    """
    if health.failures:
        if health.why is EndReason.REFUSED and others_can:
            return limits.first_pause_s
        return _doubled_pause(limits.first_pause_s, health.failures, limits.longest_pause_s)
    if health.empties > 1:
        return _doubled_pause(limits.first_pause_s, health.empties - 1, limits.longest_empty_pause_s)
    return 0.0


def plan_shifts(view: RosterView, claims: Sequence[LaneDemand], limits: ShiftLimits) -> ShiftPlan:
    """Plan new and recalled shifts, so that every job has its share.

    ``claims`` are those of all running jobs; the shifts of any other job are recalled.
    """
    return _ShiftPlanner(view, claims, limits).make_plan()


class _ShiftPlanner:
    """One decision: present shifts, shares, and missing workers."""

    def __init__(self, view: RosterView, claims: Sequence[LaneDemand], limits: ShiftLimits) -> None:
        self._at = view.at
        self._limits = limits
        self._workers = [worker for worker in view.workers if self._takes_shifts(worker)]
        self._standings = {(s.job, s.lane): s for s in view.standings}
        self._recalls: dict[str, EndReason] = {}
        self._troubles: dict[str, str] = {}
        self._shifts: defaultdict[JobLane, list[Shift]] = defaultdict(list)  # that stay, the oldest first
        self._leaving: list[Shift] = []  # that hold a slot still
        jobs = {claim.job for claim in claims}
        for shift in sorted(view.shifts, key=lambda shift: shift.began_at or shift.asked_at):
            if shift.state is ShiftState.LOST or _is_void(shift, view.at):
                continue
            if shift.recalled is None and shift.job not in jobs:
                self._recalls[shift.id] = EndReason.STOPPED
            if shift.recalled is None and shift.job in jobs:
                self._shifts[shift.job, shift.lane].append(shift)
            elif shift.state is ShiftState.WORKING:
                self._leaving.append(shift)
        self._wants = {(claim.job, claim.lane): self._wanted_shifts(claim) for claim in claims}

    def make_plan(self) -> ShiftPlan:
        """The decision."""
        granted = list(self._share_slots())
        shares = Counter(granted)
        free = self._free_slots()
        given: Counter[JobLane] = Counter()
        asks: list[JobLane] = []
        unmet: list[JobLane] = []
        for job_lane in granted:
            given[job_lane] += 1
            if given[job_lane] > len(self._shifts[job_lane]):
                (asks if free.take_slot(job_lane[1]) else unmet).append(job_lane)
        self._make_room(unmet, shares)
        for job_lane in unmet:
            self._record_trouble(job_lane, "waits for a worker with a free slot")
        for job_lane, wanted in self._wants.items():
            if wanted and not shares[job_lane]:
                self._record_trouble(job_lane, "waits for its turn: other jobs have all slots")
        return ShiftPlan(asks=tuple(asks), recalls=self._recalls, troubles=self._troubles)

    # ----------------------------------------------------------------- what each may have

    def _takes_shifts(self, worker: WorkerInfo) -> bool:
        is_alive = worker.beat_at + self._limits.dead_after_s > self._at
        return is_alive and worker.state is WorkerState.WORKING

    def _wanted_shifts(self, claim: LaneDemand) -> int:
        """The shifts that a claim may come to have now."""
        job_lane = (claim.job, claim.lane)
        there = len(self._shifts[job_lane])
        if claim.useful <= 0:
            return min(there, claim.busy)
        takers = [worker for worker in self._workers if claim.lane in worker.lanes]
        if not takers:
            self._record_trouble(job_lane, f"no worker takes shifts of the lane {claim.lane!r}")
            return 0
        health = self._standings.get(job_lane)
        if health is None:
            return claim.useful
        able = [worker for worker in takers if worker.id not in health.refused_by]
        left_s = health.at + pause_s(health, self._limits, others_can=bool(able)) - self._at
        if health.detail:
            self._record_trouble(job_lane, _describe_failures(health, able, takers))
        if left_s > 0:
            return min(claim.useful, there)
        if health.failures and not (able and health.why is EndReason.REFUSED):
            return min(claim.useful, max(1, there))  # one that shows whether it is well again
        return min(claim.useful, max(there, sum(worker.slots for worker in able or takers)))

    def _record_trouble(self, job_lane: JobLane, trouble: str) -> None:
        """Record why no worker has a job, unless one has; the first reason counts."""
        if not any(self._shifts[job, lane] for job, lane in self._shifts if job == job_lane[0]):
            self._troubles.setdefault(job_lane[0], trouble)

    # ----------------------------------------------------------------- who gets how much

    def _share_slots(self) -> Iterator[JobLane]:
        """The slots as they are shared out, one after the other, were all of them free."""
        room = _FreeSlots(self._workers)
        of_job: Counter[str] = Counter()
        given: Counter[JobLane] = Counter()
        order = {job_lane: number for number, job_lane in enumerate(self._wants)}

        def place(job_lane: JobLane) -> tuple[int, bool, bool, float, int, JobLane]:
            """Where a job stands with a lane in the queue for its next slot."""
            job, lane = job_lane
            is_seated, served_at = self._seat_of(job_lane, given[job_lane])
            return of_job[job], lane != SEED_LANE, not is_seated, served_at, order[job_lane], job_lane

        queue = [place(job_lane) for job_lane, wanted in self._wants.items() if wanted > 0]
        heapify(queue)
        while queue:
            standing_at, *_, job_lane = heappop(queue)
            if standing_at != of_job[job_lane[0]]:  # its job has got one on another lane meanwhile
                heappush(queue, place(job_lane))
                continue
            if not room.take_slot(job_lane[1]):
                continue
            given[job_lane] += 1
            of_job[job_lane[0]] += 1
            yield job_lane
            if given[job_lane] < self._wants[job_lane]:
                heappush(queue, place(job_lane))

    def _seat_of(self, job_lane: JobLane, number: int) -> tuple[bool, float]:
        """Whether a job keeps its slot of this number before equals, and when the lane was last served."""
        shifts = self._shifts[job_lane]
        if not shifts:
            health = self._standings.get(job_lane)
            return False, health.at if health else 0.0
        if number >= len(shifts):
            return False, self._at
        youngest = shifts[-1]
        if job_lane[1] == SEED_LANE:  # it would have to begin with its first URL again
            return True, self._at
        is_fresh = (youngest.began_at or self._at) + self._limits.slice_s > self._at
        return number > 0 or is_fresh, self._at

    def _free_slots(self) -> _FreeSlots:
        """Return the free slots."""
        room = _FreeSlots(self._workers)
        lanes = {worker.id: worker.lanes for worker in self._workers}
        waiting = []
        for shift in (*self._leaving, *(shift for there in self._shifts.values() for shift in there)):
            if shift.state is ShiftState.ASKED:
                waiting.append(shift)
            elif shift.worker in lanes:
                room.hold_slot(lanes[shift.worker])
        for shift in waiting:
            room.take_slot(shift.lane)
        return room

    def _make_room(self, unmet: Sequence[JobLane], shares: Mapping[JobLane, int]) -> None:
        """Recall as many shifts of those who have more than their share as others lack slots."""
        lanes = {worker.id: worker.lanes for worker in self._workers}
        lacking = Counter(lane for _, lane in unmet)
        for shift in self._leaving:
            _serve_lane(lacking, lanes.get(shift.worker, ()))
        surplus = sorted(
            self._shifts, key=lambda job_lane: shares.get(job_lane, 0) - len(self._shifts[job_lane])
        )
        for job_lane in surplus:
            if job_lane[1] == SEED_LANE:
                continue
            too_many = len(self._shifts[job_lane]) - shares.get(job_lane, 0)
            asked_first = sorted(self._shifts[job_lane], key=lambda shift: shift.state is ShiftState.WORKING)
            for shift in asked_first[: max(0, too_many)]:
                is_asked = shift.state is ShiftState.ASKED
                if _serve_lane(lacking, (shift.lane,) if is_asked else lanes.get(shift.worker, ())):
                    self._recalls[shift.id] = EndReason.YIELD


class _FreeSlots:
    """Slots, by the lanes that they serve; those of workers that do little else are taken first."""

    def __init__(self, workers: Iterable[WorkerInfo]) -> None:
        self._slots: Counter[tuple[str, ...]] = Counter()
        for worker in workers:
            self._slots[worker.lanes] += worker.slots
        self._order = sorted(self._slots, key=len)

    def take_slot(self, lane: str) -> bool:
        """Take a slot for this lane; ``False``: there is none."""
        for lanes in self._order:
            if lane in lanes and self._slots[lanes] > 0:
                self._slots[lanes] -= 1
                return True
        return False

    def hold_slot(self, lanes: tuple[str, ...]) -> None:
        """A slot of a worker with these lanes is not free."""
        self._slots[lanes] -= 1


def _serve_lane(lacking: Counter[str], lanes: Iterable[str]) -> bool:
    """Count a slot against the missing ones; return ``False`` if it serves none of them."""
    for lane in lanes:
        if lacking[lane] > 0:
            lacking[lane] -= 1
            return True
    return False


def idle_workers(view: RosterView, limits: ShiftLimits) -> tuple[str, ...]:
    """The workers that could work, and have no shift although one of their lanes is asked for.

    A worker that refused the job of a shift is not asked. One look says little, since a shift that was just
    asked for is still on its way; a worker that is found again and again takes none.
    """
    busy = {shift.worker for shift in view.shifts if shift.worker}
    busy |= {end.worker for end in view.ends if end.at + limits.dead_after_s > view.at}
    refused = {(one.job, one.lane): one.refused_by for one in view.standings}
    return tuple(
        worker.id
        for worker in view.workers
        if worker.state is WorkerState.WORKING
        and worker.beat_at + limits.dead_after_s > view.at
        and worker.id not in busy
        and any(
            shift.state is ShiftState.ASKED
            and shift.lane in worker.lanes
            and worker.id not in refused.get((shift.job, shift.lane), ())
            for shift in view.shifts
        )
    )


def _is_void(shift: Shift, at: float) -> bool:
    """Whether a requested shift was not begun in time."""
    return shift.state is ShiftState.ASKED and shift.expires_at <= at


def _describe_failures(health: LaneHealth, able: Sequence[WorkerInfo], takers: Sequence[WorkerInfo]) -> str:
    if health.why is EndReason.REFUSED and not able:
        who = "the only worker cannot" if len(takers) == 1 else f"none of the {len(takers)} workers can"
        return f"{who} do it: {health.detail}"
    return f"its shifts fail ({health.failures} in a row): {health.detail}"


def _divide_up(amount: int, each: int) -> int:
    return -(-amount // each)


def _doubled_pause(first_s: float, times: int, most_s: float) -> float:
    return min(most_s, first_s * 2.0 ** min(times - 1, 30))
