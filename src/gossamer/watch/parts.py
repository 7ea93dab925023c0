"""The dependencies of a watch."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from gossamer.core.jobs import FrontierStats, Job
from gossamer.core.shifts import PAGE_LANE, RosterView
from gossamer.policy.alert_readings import BudgetUse, ProxyPoolState
from gossamer.policy.alerts import AlertRules
from gossamer.policy.drift import DriftFinding
from gossamer.policy.sentences.words import SentenceFormatter
from gossamer.policy.time_left import TimeEstimate
from gossamer.policy.troubles import Severity
from gossamer.ports.alert_target import AlertTarget
from gossamer.ports.clock import Clock
from gossamer.ports.job_frontier import JobFrontier
from gossamer.ports.series import Series
from gossamer.ports.shared_state import SharedState
from gossamer.ports.store import Store

log = logging.getLogger("gossamer.alerts")


@dataclass(frozen=True)
class WatchedJob:
    """A watched job."""

    job: Job
    frontier: JobFrontier
    lanes: tuple[str, ...] = (PAGE_LANE,)  # of its requests
    concurrency: int | None = (
        None  # requests that may be in hand at once; None: as many as the fleet's slots take
    )
    read_budgets: Callable[[], Awaitable[Sequence[BudgetUse]]] | None = None  # of money, bytes, browser time
    is_seeded: Callable[[FrontierStats], bool] = attrgetter("seeded")  # whether its start gives no more


@dataclass(frozen=True)
class WatchParts:
    """The places that are looked at, and how."""

    name: str  # of the place, by which its memory is kept: the fleet's, or the job's id
    title: str  # what its alerts call it
    shared: SharedState
    store: Store
    series: Series
    clock: Clock
    list_jobs: Callable[[], Awaitable[Sequence[Job]]]  # that are to be watched
    list_all: Callable[[], Awaitable[Sequence[Job]]] | None  # also those that ended; None: there is one job
    refresh: Callable[[Job], Awaitable[Job | None]]  # a job as it is now
    open_job: Callable[[Job], WatchedJob]  # raises OperatorError for a job that it cannot make out
    show: Callable[[float], SentenceFormatter]  # how numbers are written at this time
    rules: AlertRules = field(default_factory=AlertRules)
    read_roster: Callable[[], Awaitable[RosterView]] | None = None  # None: no fleet
    read_memory: Callable[[], Awaitable[tuple[int, int]]] | None = None  # bytes that Redis has, and may have
    try_writing: Callable[[], Awaitable[None]] | None = (
        None  # raises where the fleet's server takes no changes
    )
    read_pools: Callable[[], Awaitable[Sequence[ProxyPoolState]]] | None = None  # None: without proxies
    find_findings: Callable[[Job], Awaitable[Sequence[DriftFinding]]] | None = None  # of its items
    is_left: Callable[[str], Awaitable[bool]] | None = None  # whether all processes have left a place
    requests_name: str = "the frontier"  # what people call the two places
    store_name: str = "the store"
    targets: Sequence[AlertTarget] = ()
    report_left: Callable[[Job, TimeEstimate], None] | None = None  # after each look
    wanted: Mapping[str, frozenset[Severity]] = field(default_factory=dict)  # severities by target
