"""The roster in memory: the readable reference, for tests and for a fleet within one process.

Guarantee: the same answers as the roster in Redis, call by call (one contract suite holds for both).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from gossamer.core.shifts import (
    EndReason,
    FleetStore,
    JobSample,
    LaneHealth,
    RosterView,
    Shift,
    ShiftResult,
    ShiftState,
    WorkerInfo,
    WorkerState,
)
from gossamer.ports.clock import Clock
from gossamer.roster.limits import BURIED_S, ENDS, GONE_S, SAMPLES, STANDING_S
from gossamer.runtime.cancelling import wait_for_first

SHOWN_GOOD = (EndReason.IDLE, EndReason.TIME, EndReason.SEEDED)
"""Ends that show that a job can be done, whatever came of it."""


class MemoryRoster:
    """A ``Roster`` and ``WorkerRegistry`` that lives and dies with its process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._leader = ("", 0, 0.0)  # who, its token, until when
        self._fence = 0  # the largest token so far
        self._workers: dict[str, WorkerInfo] = {}
        self._shifts: dict[str, Shift] = {}
        self._buried: dict[str, float] = {}  # when each was
        self._standings: dict[tuple[str, str], LaneHealth] = {}
        self._ends: deque[ShiftResult] = deque(maxlen=ENDS)
        self._samples: dict[str, deque[JobSample]] = {}
        self._store: FleetStore | None = None
        self._bell = asyncio.Event()

    def __repr__(self) -> str:
        return f"<MemoryRoster of {len(self._workers)} workers with {len(self._shifts)} shifts>"

    # ----------------------------------------------------------------- attendance

    async def begin_shift(self, shift_id: str, worker_id: str) -> Shift | None:
        """See :class:`~gossamer.ports.worker_registry.WorkerRegistry`."""
        now = self._clock.now()
        shift = self._shifts.get(shift_id)
        if shift is None or shift.state is not ShiftState.ASKED or shift.expires_at <= now:
            return None
        shift = replace(shift, state=ShiftState.WORKING, worker=worker_id, began_at=now, beat_at=now)
        self._shifts[shift_id] = shift
        return shift

    async def record_heartbeat(self, worker: WorkerInfo, shifts: Sequence[Shift]) -> dict[str, EndReason]:
        """See :class:`~gossamer.ports.worker_registry.WorkerRegistry`."""
        now = self._clock.now()
        before = self._workers.get(worker.id)
        self._workers[worker.id] = replace(worker, beat_at=now)
        if before is None or before.state is not worker.state:
            self._bell.set()
        orders = {shift.id: self._update_shift(worker, shift, now) for shift in shifts}
        return {shift_id: why for shift_id, why in orders.items() if why is not None}

    def _update_shift(self, worker: WorkerInfo, said: Shift, now: float) -> EndReason | None:
        """Record a worker's report of a shift. Return the reason if the shift must stop."""
        known = self._shifts.get(said.id, said)
        is_anothers = known.worker not in ("", worker.id)
        if said.id in self._buried or known.state is ShiftState.LOST or is_anothers:
            return EndReason.LOST
        self._shifts[said.id] = replace(
            known,
            state=ShiftState.WORKING,
            worker=worker.id,
            began_at=known.began_at or now,
            beat_at=now,
            pages=said.pages,
            in_flight=said.in_flight,
        )
        health = self._standings.get((known.job, known.lane))
        if said.pages and health is not None and (health.failures or health.empties):
            self._standings[known.job, known.lane] = _clear_failures(health, worker.id)
        return known.recalled if worker.state is WorkerState.WORKING else EndReason.DRAINED

    async def end_shifts(self, ends: Sequence[ShiftResult]) -> None:
        """See :class:`~gossamer.ports.worker_registry.WorkerRegistry`."""
        now = self._clock.now()
        for end in ends:
            known = self._shifts.pop(end.id, None)
            if known is not None and known.state is not ShiftState.LOST:
                self._count_end(replace(end, at=now))
            if end.clean:
                self._buried[end.id] = now  # a beat that is under way still must not bring it back
            else:
                self._shifts[end.id] = Shift(
                    id=end.id,
                    job=end.job,
                    lane=end.lane,
                    state=ShiftState.LOST,
                    worker=end.worker,
                    beat_at=now,
                    pages=end.pages,
                )
        self._bell.set()

    async def remove_worker(self, worker_id: str) -> None:
        """See :class:`~gossamer.ports.worker_registry.WorkerRegistry`."""
        self._workers.pop(worker_id, None)
        self._strike_off(lambda worker: worker == worker_id)
        for shift in list(self._shifts.values()):
            if shift.worker == worker_id and shift.state is ShiftState.WORKING:
                self._count_lost(shift, "its worker left")
                self._shifts[shift.id] = replace(shift, state=ShiftState.LOST)
        self._bell.set()

    # ----------------------------------------------------------------- the roster

    async def claim_leadership(self, me: str, ttl_s: float) -> int | None:
        """See :class:`~gossamer.ports.roster.Roster`."""
        now = self._clock.now()
        leader, token, until = self._leader
        if leader != me and until > now:
            return None
        if ttl_s <= 0:
            self._leader = ("", 0, 0.0)
            return None
        if leader != me or until <= now:
            self._fence = token = max(self._fence + 1, int(now * 1000))
        self._leader = (me, token, now + ttl_s)
        self._forget_expired(now)
        return token

    async def join_store(self, store: FleetStore) -> FleetStore:
        """See :class:`~gossamer.ports.roster.Roster`."""
        if self._store is None or self._store.id == store.id:
            self._store = store
        return self._store

    async def adopt_store(self, store: FleetStore) -> None:
        """See :class:`~gossamer.ports.roster.Roster`."""
        self._store = store
        for known in (self._shifts, self._standings, self._ends, self._samples):
            known.clear()

    async def request_shifts(
        self, shifts: Sequence[Shift], recalls: Mapping[str, EndReason], token: int
    ) -> bool:
        """See :class:`~gossamer.ports.roster.Roster`."""
        now = self._clock.now()
        _, leading, until = self._leader
        if token != leading or until <= now:
            return False
        for shift in list(self._shifts.values()):
            why = recalls.get(shift.id)
            if shift.state is ShiftState.ASKED and (why is not None or shift.expires_at <= now):
                del self._shifts[shift.id]
            elif why is not None:
                self._shifts[shift.id] = replace(shift, recalled=why)
        for shift in shifts:
            self._shifts[shift.id] = replace(shift, state=ShiftState.ASKED, asked_at=now)
        return True

    async def read_roster(self, *, history: bool = False) -> RosterView:
        """See :class:`~gossamer.ports.roster.Roster`."""
        now = self._clock.now()
        leader, _, until = self._leader
        return RosterView(
            at=now,
            leader=leader if until > now else "",
            store=self._store,
            workers=tuple(self._workers.values()),
            shifts=tuple(self._shifts.values()),
            standings=tuple(self._standings.values()),
            ends=tuple(self._ends) if history else (),
            samples={job: tuple(kept) for job, kept in self._samples.items()} if history else {},
        )

    async def reap_shifts(self, shift_ids: Sequence[str]) -> None:
        """See :class:`~gossamer.ports.roster.Roster`."""
        for shift_id in shift_ids:
            shift = self._shifts.pop(shift_id, None)
            if shift is not None and shift.state is ShiftState.WORKING:
                self._count_lost(shift, "its worker is no longer heard from")
            self._buried[shift_id] = self._clock.now()

    async def add_sample(self, job: str, sample: JobSample) -> None:
        """See :class:`~gossamer.ports.roster.Roster`."""
        self._samples.setdefault(job, deque(maxlen=SAMPLES)).append(sample)

    async def forget_health(self, job: str) -> None:
        """See :class:`~gossamer.ports.roster.Roster`."""
        for place in [place for place in self._standings if place[0] == job]:
            del self._standings[place]
        await self.notify_supervisor()

    async def notify_supervisor(self) -> None:
        """See :class:`~gossamer.ports.roster.Roster`."""
        self._bell.set()

    async def wait_for_notification(self, timeout_s: float) -> bool:
        """See :class:`~gossamer.ports.roster.Roster`."""
        if not self._bell.is_set() and timeout_s > 0:
            await wait_for_first(self._bell.wait(), self._clock.sleep(timeout_s))
        rang = self._bell.is_set()
        self._bell.clear()
        return rang

    # -------------------------------------------------------------------- state

    def _count_lost(self, shift: Shift, detail: str) -> None:
        self._count_end(
            ShiftResult(
                id=shift.id,
                job=shift.job,
                lane=shift.lane,
                why=EndReason.LOST,
                detail=detail,
                pages=shift.pages,
                worker=shift.worker,
                at=self._clock.now(),
                clean=False,
            )
        )

    def _count_end(self, end: ShiftResult) -> None:
        self._ends.appendleft(end)
        place = (end.job, end.lane)
        health = self._standings.get(place) or LaneHealth(job=end.job, lane=end.lane)
        if end.why in (EndReason.FAILED, EndReason.REFUSED) or (end.why is EndReason.LOST and not end.pages):
            health = replace(health, failures=health.failures + 1, detail=end.detail)
            if end.why is EndReason.REFUSED and end.worker not in health.refused_by:
                health = replace(health, refused_by=(*health.refused_by, end.worker))
        elif end.pages or end.why in SHOWN_GOOD:
            is_empty = end.why is EndReason.IDLE and not (end.pages or end.visits)
            empties = health.empties + 1 if is_empty else 0
            health = replace(_clear_failures(health, end.worker), empties=empties)
        self._standings[place] = replace(health, at=end.at, why=end.why)

    def _strike_off(self, is_gone: Callable[[str], bool]) -> None:
        """Drop the refusals of workers that are gone. Without any other, the job has a fresh start."""
        for place, health in self._standings.items():
            left = tuple(worker for worker in health.refused_by if not is_gone(worker))
            if left == health.refused_by:
                continue
            is_over = not left and health.why is EndReason.REFUSED
            known = replace(health, failures=0, detail="") if is_over else health
            self._standings[place] = replace(known, refused_by=left)

    def _forget_expired(self, now: float) -> None:
        for worker in list(self._workers.values()):
            if worker.beat_at + GONE_S <= now:
                del self._workers[worker.id]
        self._strike_off(lambda worker: worker not in self._workers)
        for shift_id, at in list(self._buried.items()):
            if at + BURIED_S <= now:
                del self._buried[shift_id]
        for place, health in list(self._standings.items()):
            if health.at + STANDING_S <= now:
                del self._standings[place]
        for job, samples in list(self._samples.items()):
            if samples[-1].at + STANDING_S <= now:
                del self._samples[job]


def _clear_failures(health: LaneHealth, worker: str) -> LaneHealth:
    """Return a job of which something was done, by a worker that can."""
    refused_by = tuple(other for other in health.refused_by if other != worker)
    return replace(health, failures=0, empties=0, detail="", refused_by=refused_by)
