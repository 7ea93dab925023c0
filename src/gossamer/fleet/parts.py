"""The dependencies of a fleet's supervisor, and the times of jobs that it keeps in shared state."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from gossamer.core.jobs import Job
from gossamer.core.shifts import PAGE_LANE, Shift
from gossamer.core.steering import SettingChange
from gossamer.observe.multi_sink import MultiSink
from gossamer.policy.job_life import EndFinder
from gossamer.policy.shifts import ShiftLimits
from gossamer.ports.clock import Clock
from gossamer.ports.fleet_frontier import FleetFrontier
from gossamer.ports.job_store import JobStore
from gossamer.ports.roster import Roster
from gossamer.ports.series import Series
from gossamer.ports.shared_state import SharedState
from gossamer.ports.sink import Sink
from gossamer.ports.store import Store

log = logging.getLogger("gossamer.fleet")


@dataclass(frozen=True)
class MonitoredJob:
    """A job as the supervisor sees it."""

    frontier: FleetFrontier
    per_host: int = 1
    max_time_s: float | None = None
    find_end: EndFinder | None = None
    lanes: tuple[str, ...] = (PAGE_LANE,)  # of its requests
    make_frontier: Callable[[], Awaitable[None]] | None = None  # anew, where there is none


@dataclass(frozen=True)
class FleetParts:
    """Everything a supervisor works with; all state is in here, and none in the supervisor."""

    book: JobStore
    store: Store
    roster: Roster
    shared: SharedState
    clock: Clock
    watched: Callable[
        [Job, Sequence[SettingChange]], MonitoredJob
    ]  # as it was changed; raises OperatorError for a job that it cannot make out
    publish: Callable[[Sequence[Shift]], Awaitable[None]]  # messages to workers; may be lost
    join: Callable[[], Awaitable[None]] | None = (
        None  # enters the store; raises OperatorError for another one
    )
    series: Series | None = None  # None: no history of jobs is needed
    sink: Sink = field(default_factory=lambda: MultiSink(()))  # told of lost leases, progress and ends


@dataclass(frozen=True)
class FleetOptions:
    """How a supervisor goes about it."""

    limits: ShiftLimits = field(default_factory=ShiftLimits)
    look_every_s: float = 1.0
    breath_s: float = 0.02  # between two looks, however often the bell rings
    lead_ttl_s: float = 5.0  # how long a silent leader keeps the lead
    expires_s: float = 5.0  # a shift that has not begun within this time is requested again
    patience_s: float = 10.0  # for any one answer of a server
    sample_every_s: float = 2.0
    first_pause_s: float = 1.0  # after trouble with a server; twice as long each time
    longest_pause_s: float = 15.0
    side_by_side: int = 16  # jobs that are looked at side by side
