"""The supervisor of a fleet, its workers and their shifts."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.record import Record
from gossamer.core.shifts import LaneHealth, RosterView, WorkerInfo
from gossamer.observe.sentences import formatter_at
from gossamer.policy.sentences.fleet import judge_clock
from gossamer.policy.sentences.words import Saying
from gossamer.wiring.backends import Backends

ROWS = 10_000
"""Workers, shifts and ends of shifts that are read, of each, unless fewer are asked for."""


class WorkerStatus(Record, frozen=True, kw_only=True):
    """A worker and its shift."""

    worker: WorkerInfo
    busy: int  # shifts that it works on
    unseen_s: float  # since its latest beat
    is_silent: bool  # its beats stay away
    clock: Saying | None  # how its machine's clock is wrong; None: it is right, or not known


class FleetStatus(Record, frozen=True, kw_only=True):
    """A fleet at one time."""

    view: RosterView  # as the roster has it
    workers: tuple[WorkerStatus, ...]
    troubles: tuple[LaneHealth, ...]  # jobs whose shifts do not do well, with the latest trouble
    has_more: bool = False  # than are in the view


async def read_fleet(backends: Backends, *, limit: int = ROWS) -> FleetStatus:
    """Return the supervisor, workers and shifts, at most ``limit`` of each kind.

    Raises ``SettingError`` if the requests are in a place that a fleet cannot share.
    """
    whole = await backends.require_fleet().roster.read_roster(history=True)
    view = replace(whole, workers=whole.workers[:limit], shifts=whole.shifts[:limit], ends=whole.ends[:limit])
    return FleetStatus(
        view=view,
        workers=tuple(_status_of(worker, whole) for worker in view.workers),
        troubles=tuple(health for health in whole.standings if health.detail),
        has_more=max(map(len, (whole.workers, whole.shifts, whole.ends))) > limit,
    )


def _status_of(worker: WorkerInfo, view: RosterView) -> WorkerStatus:
    return WorkerStatus(
        worker=worker,
        busy=sum(shift.worker == worker.id for shift in view.shifts),
        unseen_s=max(view.at - worker.beat_at, 0.0),
        is_silent=worker.is_silent(view.at),
        clock=None if worker.ahead_s is None else judge_clock(worker.ahead_s, formatter_at(view.at)),
    )
