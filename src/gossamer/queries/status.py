"""How one job stands: its queue, its totals, its pace, its busiest hosts."""

from __future__ import annotations

from typing import Annotated

from msgspec.structs import asdict, replace

from gossamer.core.dedup import DedupReport
from gossamer.core.jobs import Job, JobTotals
from gossamer.core.record import FieldMeaning, Record, Time
from gossamer.core.steering import SettingChange
from gossamer.policy.budget_status import BudgetStatus
from gossamer.policy.sentences.time_left import describe_left
from gossamer.policy.spider_stats import read_spider_stats
from gossamer.policy.spider_switches import SpiderChange, find_switches
from gossamer.policy.troubles import Severity, Trouble
from gossamer.queries.budgets import read_budgets
from gossamer.queries.explain.hold import find_hold
from gossamer.queries.fleet_troubles import troubles_alone
from gossamer.queries.hosts import HostStatus, list_hosts
from gossamer.queries.jobs import JobSummary, summarise_job
from gossamer.queries.observed_jobs import observe_closely, say_of
from gossamer.wiring.backends import Backends, refresh_job
from gossamer.wiring.trap_warnings import read_trap_warnings

HOSTS = 10
"""Hosts that a status has, unless more or fewer are asked for."""


class QueueCounts(Record, frozen=True, kw_only=True):
    """The requests that still have to be done."""

    pending: int
    delayed: int
    leased: int


ACTIONS = 200
"""The latest actions on a job, among which its switches to other versions of its spider are looked for."""


class DedupStatus(Record, frozen=True, kw_only=True):
    """How surely URLs are known again."""

    kind: str  # ``exact`` or ``bloom``
    known: int
    error_rate: float  # of new URLs that are taken for known ones


class JobStatus(JobSummary, frozen=True, kw_only=True):
    """The state of a job. ``None`` means no longer known."""

    say: tuple[str, ...] = ()  # how it does, in two sentences: the answer, and why
    shifts: int = 0  # of the fleet, at work
    pages_per_second: float | None = None  # in the last minutes, while it runs
    eta_seconds: float | None = None  # the middle of the range, by factors; None: not known
    eta_least_seconds: float | None = None
    eta_most_seconds: float | None = None
    left: str = ""  # the time left in words, or why that is not known
    trouble: str = ""  # the latest, of a job of the fleet
    alerts: tuple[Trouble, ...] = ()  # its problems, the worst first
    forgotten: bool = False  # it ended, and its requests are no longer kept
    queue: QueueCounts | None = None
    done: int | None = None
    dedup: DedupStatus | None = None  # None: deduplication is exact in such a place
    stats: dict[str, float] = {}  # the spider's own counters (``self.stats``), by name
    attempts: int
    retries: int
    duplicates: int  # items that the job had already
    bytes: int
    cost: float = 0.0  # cost of paid pages, in the currency of the prices
    by_rung: dict[str, int] = {}  # attempts by another rung than plain HTTP
    cost_by_rung: dict[str, float] = {}  # what those cost
    by_status: dict[str, int]
    by_reason: dict[str, int]
    dropped: dict[str, int]
    budgets: tuple[BudgetStatus, ...] = ()  # of URL patterns, and of hosts that are over theirs
    warnings: tuple[str, ...] = ()  # data that may be missing, and the command that fetches it
    next_at: Time | None = None
    hosts: tuple[HostStatus, ...] = ()
    changes: tuple[SettingChange, ...] = ()  # settings that a person changed while it ran
    switches: tuple[SpiderChange, ...] = ()  # to other versions of its spider, the latest first
    refused: Annotated[int, FieldMeaning.ASIDE] = 0  # requests that were known already
    is_fleet: Annotated[bool, FieldMeaning.ASIDE] = False
    silent: Annotated[str, FieldMeaning.ASIDE] = ""  # which of the hosts does not answer


async def read_status(backends: Backends, job: Job, *, hosts: int = HOSTS) -> JobStatus:
    """Return the status of a job with its ``hosts`` busiest hosts.

    Raises ``LostRequestsError`` if an open job's requests are gone.
    """
    known = await observe_closely(backends, job)
    job, totals, stats = known.job, known.totals, known.stats
    if known.unreadable:
        stats = await backends.read_stats(job)  # says why
    status = replace(
        _from_totals(summarise_job(job, totals, stats), totals),
        changes=await backends.book.read_changes(job),
        switches=find_switches(await backends.actions.list_actions(ACTIONS, job=job.id)),
        budgets=await read_budgets(backends, job),
        warnings=await read_trap_warnings(backends, job, totals),
        is_fleet=job.is_fleet,
    )
    if stats is None:
        return replace(status, forgotten=True)
    busiest = await list_hosts(backends, job, hosts)
    said = say_of(known)
    return replace(
        status,
        say=(said.answer, said.reason),
        alerts=tuple(one for one in troubles_alone(known) if one.severity is Severity.NEEDS_YOU),
        shifts=known.shifts,
        pages_per_second=known.pages_per_s,
        eta_seconds=known.left.seconds,
        eta_least_seconds=known.left.least_s,
        eta_most_seconds=known.left.most_s,
        left=describe_left(known.left),
        trouble=known.workers.trouble if known.workers else "",
        queue=QueueCounts(pending=stats.pending, delayed=stats.delayed, leased=stats.leased),
        done=stats.done,
        refused=stats.duplicates,
        dedup=_dedup_of(await backends.requests.dedup_report(job)),
        next_at=stats.next_at,
        hosts=busiest.hosts,
        silent=busiest.silent,
    )


async def read_hold(backends: Backends, job: Job) -> str:
    """Return why a job's waiting requests are not fetched now, in a sentence; empty if they are."""
    job = await refresh_job(backends, job)
    stats = await backends.read_stats(job)
    if stats is None or not stats.waiting:
        return ""
    rules = await backends.read_rules(job)
    is_at_work = await backends.at_work(job) is not None
    hold = find_hold(job, stats, rules, is_at_work=is_at_work)
    return hold.line if hold else ""


def _from_totals(summary: JobSummary, totals: JobTotals) -> JobStatus:
    return JobStatus(
        **asdict(summary),
        stats=read_spider_stats(totals),
        attempts=totals.attempts,
        retries=totals.retries,
        duplicates=totals.duplicates,
        bytes=totals.bytes,
        cost=totals.cost,
        by_rung=totals.by_rung,
        cost_by_rung=totals.cost_by_rung,
        by_status=totals.by_status,
        by_reason=totals.by_reason,
        dropped=totals.dropped,
    )


def _dedup_of(report: DedupReport | None) -> DedupStatus | None:
    if report is None:
        return None
    return DedupStatus(kind=report.dedup, known=report.known, error_rate=report.error_rate)
