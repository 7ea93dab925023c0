"""The fleet: who does what, is anybody stuck or missing, and what could jobs use?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from gossamer.config.settings import Settings
from gossamer.core.record import Record, Time
from gossamer.core.shifts import RosterView, Shift, ShiftResult, ShiftState, WorkerInfo, WorkerState
from gossamer.core.text import format_count
from gossamer.observe.sentences import formatter_at
from gossamer.policy.pace_limit import PaceLimit
from gossamer.policy.sentences.fleet import FleetFacts, describe_fleet
from gossamer.policy.troubles import SHOWN, Trouble
from gossamer.queries.fleet_troubles import count_workers, troubles_of_place
from gossamer.queries.observed_jobs import ObservedJob
from gossamer.queries.seen_jobs import PlaceView, look_at_jobs
from gossamer.targets.plan import fleet_of_job
from gossamer.wiring.alerts_on import read_place_alerts
from gossamer.wiring.backends import Backends

WORKERS = 500
"""Maximum number of workers listed, those with the latest beat first."""
JOBS = 50
ENDS = 50


class ShiftView(Record, frozen=True, kw_only=True):
    """A worker's running shift."""

    id: str
    job: str
    lane: str
    age_s: float
    pages: int
    in_flight: int


class WorkerView(Record, frozen=True, kw_only=True):
    """One worker."""

    id: str
    host: str  # the machine's name
    pid: int
    slots: int
    lanes: tuple[str, ...]
    state: WorkerState
    is_silent: bool  # its beats stay away
    unseen_s: float  # since its latest beat
    version: str
    in_flight: int
    pages_per_s: float
    memory_bytes: int  # of its process; 0: not known
    refuses: tuple[str, ...]  # jobs that it cannot do
    shifts: tuple[ShiftView, ...]


class JobDemand(Record, frozen=True, kw_only=True):
    """A job's present and possible use of the fleet."""

    job: str
    shifts: int
    more: int
    why: str


class ShiftEndView(Record, frozen=True, kw_only=True):
    """How a shift ended."""

    id: str
    at: Time
    job: str
    lane: str
    why: str
    detail: str
    pages: int
    worker: str


class FleetView(Record, frozen=True, kw_only=True):
    """A fleet at one time."""

    at: Time
    say: tuple[str, str]
    troubles: tuple[Trouble, ...]
    leader: str  # the supervisor that leads; "": none
    workers: tuple[WorkerView, ...]  # by machine
    more_workers: int  # that are not told one by one
    slots: int
    slots_free: int
    wants: tuple[JobDemand, ...]
    ends: tuple[ShiftEndView, ...]  # the latest first


async def read_fleet_view(backends: Backends, settings: Settings) -> FleetView:
    """A fleet at one time. Raises ``SettingError`` where there can be none, and ``StorageError``."""
    backends.require_fleet()
    return await show_fleet(backends, await look_at_jobs(backends, settings, limit=JOBS))


async def show_fleet(backends: Backends, seen: PlaceView) -> FleetView:
    """Return the view of a fleet and its jobs."""
    view, place, jobs = seen.view or RosterView(at=backends.clock.now()), seen.place, seen.open
    here = backends.settings.cluster.fleet
    known = [one for one in seen.running if one.job.is_fleet and fleet_of_job(one.job, here) == here]
    there = [worker for worker in view.workers if not worker.is_silent(view.at)]
    working = [shift for shift in view.shifts if shift.state is ShiftState.WORKING and shift.worker]
    slots = sum(worker.slots for worker in there if worker.state is WorkerState.WORKING)
    now = backends.clock.now()
    alerts = await read_place_alerts(backends, jobs, view)
    led_s_ago = now - place.at if place.look.is_fleet else None
    return FleetView(
        at=now,
        say=_say(view, known, slots, len(working), led_s_ago=led_s_ago),
        troubles=tuple(troubles_of_place(alerts, view, known, now)[:SHOWN]),
        leader=view.leader,
        workers=_workers(view, working),
        more_workers=max(len(view.workers) - WORKERS, 0),
        slots=slots,
        slots_free=max(slots - len(working), 0),
        wants=tuple(map(_demand, known[:JOBS])),
        ends=tuple(map(_end, view.ends[:ENDS])),
    )


def _workers(view: RosterView, working: Sequence[Shift]) -> tuple[WorkerView, ...]:
    shifts: defaultdict[str, list[Shift]] = defaultdict(list)
    for shift in working:
        shifts[shift.worker].append(shift)
    refuses: defaultdict[str, list[str]] = defaultdict(list)
    for health in view.standings:
        for worker_id in health.refused_by:
            refuses[worker_id].append(health.job)
    latest = sorted(view.workers, key=lambda worker: -worker.beat_at)[:WORKERS]
    by_machine = sorted(latest, key=lambda worker: (worker.host, worker.id))
    return tuple(_worker(worker, view, shifts, refuses) for worker in by_machine)


def _worker(
    worker: WorkerInfo,
    view: RosterView,
    shifts: Mapping[str, Sequence[Shift]],
    refuses: Mapping[str, Sequence[str]],
) -> WorkerView:
    own = shifts.get(worker.id, ())
    return WorkerView(
        id=worker.id,
        host=worker.host,
        pid=worker.pid,
        slots=worker.slots,
        lanes=worker.lanes,
        state=worker.state,
        is_silent=worker.is_silent(view.at),
        unseen_s=max(view.at - worker.beat_at, 0.0),
        version=worker.version,
        in_flight=sum(shift.in_flight for shift in own),
        pages_per_s=round(sum(shift.pages / max(view.at - shift.began_at, 1.0) for shift in own), 3),
        memory_bytes=worker.memory_bytes,
        refuses=tuple(refuses.get(worker.id, ())),
        shifts=tuple(
            ShiftView(
                id=shift.id,
                job=shift.job,
                lane=shift.lane,
                age_s=max(view.at - shift.began_at, 0.0),
                pages=shift.pages,
                in_flight=shift.in_flight,
            )
            for shift in own
        ),
    )


def _demand(known: ObservedJob) -> JobDemand:
    why = {
        PaceLimit.HELD: "its hosts are left alone for now",
        PaceLimit.BUDGET: "its budget is spent",
        PaceLimit.POLITENESS: "its hosts allow no more",
        PaceLimit.STORE: "the store takes no more",
        PaceLimit.WORKERS: f"{format_count(known.hosts.due, 'request')} may start now, all slots are busy",
        PaceLimit.NOTHING_DUE: "nothing is due",
        None: "",
    }[known.limit]
    return JobDemand(job=known.job.id, shifts=known.shifts, more=known.more_workers, why=why)


def _end(end: ShiftResult) -> ShiftEndView:
    return ShiftEndView(
        id=end.id,
        at=end.at,
        job=end.job,
        lane=end.lane,
        why=end.why,
        detail=end.detail,
        pages=end.pages,
        worker=end.worker,
    )


def _say(
    view: RosterView,
    known: Sequence[ObservedJob],
    slots: int,
    shifts: int,
    *,
    led_s_ago: float | None,
) -> tuple[str, str]:
    counts = count_workers(view)
    short = next((one for one in known if one.limit is PaceLimit.WORKERS), None)
    facts = FleetFacts(
        workers=counts.all - counts.silent,
        silent=counts.silent,
        slots=slots,
        shifts=shifts,
        leader=view.leader,
        led_s_ago=led_s_ago,
        more_workers=sum(one.more_workers for one in known),
        due=sum(one.hosts.due for one in known),
        short_job=short.job.id if short else "",
        short_per_s=(short.pages_per_s or 0.0) if short else 0.0,
        short_allowed_per_s=(short.hosts.allowed_per_s or 0.0) if short else 0.0,
    )
    said = describe_fleet(facts, formatter_at(view.at))
    return said.answer, said.reason
