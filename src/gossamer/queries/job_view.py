"""One job: does it go well, how fast, when is it done, what holds it back?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import asdict, replace

from gossamer.config.settings import Settings
from gossamer.core.access import LoggedAction
from gossamer.core.errors import LedgerReason
from gossamer.core.jobs import Job
from gossamer.core.record import Record, Time
from gossamer.observe.sentences import formatter_at
from gossamer.policy.alert_readings import BudgetUse
from gossamer.policy.faults import FAULTS, FaultKind
from gossamer.policy.host_sums import HostSums
from gossamer.policy.sentences.actions import describe_action, describe_actor
from gossamer.policy.sentences.errors import words_for
from gossamer.policy.spider_stats import read_spider_stats
from gossamer.policy.troubles import SHOWN, Trouble
from gossamer.policy.undo import find_failed_undos
from gossamer.queries.fleet_troubles import troubles_alone
from gossamer.queries.last_hour import read_last_hour
from gossamer.queries.observed_jobs import ObservedJob, observe_closely, say_of
from gossamer.queries.overview import JobRow, make_row
from gossamer.wiring.backends import Backends
from gossamer.wiring.budgets import read_budgets

REASONS = 5
"""Reasons of failures that a view has."""
CHANGES = 20
"""Changes that a view has."""
HORIZON_WORDS = ("now", "within 1 min", "within 10 min", "within 1 h")
LATER = "later"
NO_FAILURES = {
    *(fault.value for fault, row in FAULTS.items() if row.kind is FaultKind.SETTLED),
    *(reason.value for reason in LedgerReason),
}
"""Reasons that do not count as failures."""
BUDGETS = {
    "pages": ("Pages", "max_pages"),
    "cost": ("Money", "budgets.cost"),
    "bytes": ("Bytes", "budgets.bytes"),
    "browser_seconds": ("Browser time", "budgets.browser_seconds"),
}
"""The sentence about each budget, and its setting."""


class BudgetView(Record, frozen=True, kw_only=True):
    """How much of one budget is spent."""

    name: str  # for people
    setting: str  # that holds it: ``max_pages``, ``budgets.cost``
    used: float
    limit: float
    note: str  # when it is spent at this pace


class ReasonRow(Record, frozen=True, kw_only=True):
    """How often attempts failed for one reason."""

    reason: str
    text: str
    count: int


class SlowHostView(Record, frozen=True, kw_only=True):
    """A host that decides when a job is done."""

    host: str
    pending: int
    delay_s: float
    why: str
    empties_s: float


class ChangeView(Record, frozen=True, kw_only=True):
    """A person's action on a job."""

    id: int
    at: Time
    who: str
    what: str
    undo_until: Time | None
    undone_at: Time | None


class JobView(JobRow, frozen=True, kw_only=True):
    """One job at one time, with all that its view shows."""

    at: Time
    say: tuple[str, str]
    troubles: tuple[Trouble, ...]
    more_troubles: int
    attempts: int
    retries: int
    bytes: int
    cost: float
    hosts: int  # for which requests wait
    next_at: Time | None  # when the next request may start
    limit_since: Time | None  # since when the pace is decided by that
    shifts: int | None  # running shifts; None: no fleet works on it
    more_workers: int  # shifts that would have something to do
    store_lag_s: float | None  # None: not measured
    due: tuple[tuple[str, int], ...]  # start times of the waiting requests
    budgets: tuple[BudgetView, ...]
    errors: tuple[ReasonRow, ...]
    slowest: tuple[SlowHostView, ...]
    changes: tuple[ChangeView, ...]
    stats: dict[str, float]  # the spider's own counters, by name


async def read_job_view(backends: Backends, settings: Settings, job: Job) -> JobView:
    """All that is shown of a job. Raises ``StorageError``."""
    known = await observe_closely(backends, job)
    place = known.place
    lag_s = place.look.store_lag_s if place.is_fresh(known.at) else None
    hour = await read_last_hour(backends, job, known.at) if known.is_running else None
    troubles, said = troubles_alone(known), say_of(known)
    totals = known.totals
    return JobView(
        **asdict(make_row(known, hour)),
        at=known.at,
        say=(said.answer, said.reason),
        troubles=tuple(troubles[:SHOWN]),
        more_troubles=max(len(troubles) - SHOWN, 0),
        attempts=totals.attempts,
        retries=totals.retries,
        bytes=totals.bytes,
        cost=totals.cost,
        hosts=known.stats.hosts if known.stats else 0,
        next_at=known.stats.next_at if known.stats else None,
        limit_since=known.memory.pace.since or None,
        shifts=known.shifts if job.is_fleet else None,
        more_workers=known.more_workers,
        store_lag_s=lag_s,
        due=_due(known),
        budgets=await _budgets(backends, settings, known),
        errors=_errors(totals.by_reason),
        slowest=_slowest(known.hosts) if known.is_running else (),
        stats=read_spider_stats(totals),
        changes=view_changes(await backends.actions.list_actions(CHANGES, job=job.id), known.at),
    )


def _due(known: ObservedJob) -> tuple[tuple[str, int], ...]:
    """Return start times of waiting requests by host; requests with times of their own are the rest."""
    stats, hosts = known.stats, known.hosts
    if stats is None or not known.is_running or not stats.pending + stats.delayed:
        return ()
    share = stats.pending / hosts.pending if hosts.pending else 0.0
    counts = [min(round(count * share), stats.pending) for count in hosts.starts]
    counts = counts or [0] * len(HORIZON_WORDS)
    steps = [counts[0], *(after - before for before, after in pairwise(counts))]
    rest = max(stats.pending + stats.delayed - counts[-1], 0)
    return (*zip(HORIZON_WORDS, steps, strict=True), (LATER, rest))


async def _budgets(backends: Backends, settings: Settings, known: ObservedJob) -> tuple[BudgetView, ...]:
    uses = list(await read_budgets(settings, backends.requests.shared, known.job))
    if known.rules.max_pages is not None and known.stats is not None:
        uses.insert(0, BudgetUse(kind="pages", used=known.stats.pages, limit=known.rules.max_pages))
    return tuple(
        BudgetView(name=name, setting=setting, used=use.used, limit=use.limit, note=_note(use, known))
        for use in uses
        for name, setting in (BUDGETS[use.kind],)
    )


def _note(use: BudgetUse, known: ObservedJob) -> str:
    """When a budget of pages is spent at this pace."""
    pace = known.pages_per_s
    if use.kind != "pages" or not pace or not known.is_running:
        return ""
    left_s = max(use.limit - use.used, 0.0) / pace
    end = ", after the end" if known.left.most_s is not None and known.left.most_s < left_s else ""
    return f"At this pace spent at {formatter_at(known.at).time(known.at + left_s)}{end}."


def _errors(by_reason: dict[str, int]) -> tuple[ReasonRow, ...]:
    """The commonest reasons of failures, those that were left out on purpose not among them."""
    failed = [(count, reason) for reason, count in by_reason.items() if reason not in NO_FAILURES]
    worst = sorted(failed, key=lambda found: (-found[0], found[1]))[:REASONS]
    return tuple(ReasonRow(reason=reason, text=words_for(reason), count=count) for count, reason in worst)


def _slowest(hosts: HostSums) -> tuple[SlowHostView, ...]:
    return tuple(
        SlowHostView(
            host=host.host,
            pending=host.pending,
            delay_s=host.delay_s,
            why=host.why,
            empties_s=host.empties_s,
        )
        for host in hosts.latest[:5]
    )


def view_changes(actions: Sequence[LoggedAction], now: float) -> tuple[ChangeView, ...]:
    """Actions on a job as they are shown; one whose undo has failed can be undone again."""
    failed = find_failed_undos(actions, now)
    return tuple(
        view_change(replace(one, undone_at=None) if one.id in failed else one, now) for one in actions
    )


def view_change(action: LoggedAction, now: float) -> ChangeView:
    """An action as it is shown."""
    return ChangeView(
        id=action.id,
        at=action.at,
        who=describe_actor(action),
        what=describe_action(action, formatter_at(now)),
        undo_until=None if action.is_refused else action.undo_until,
        undone_at=action.undone_at,
    )
