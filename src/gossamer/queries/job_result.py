"""The result of a job over all its runs, as ``wait`` shows it."""

from __future__ import annotations

from typing import Annotated

from gossamer.core.drops import DropKind
from gossamer.core.errors import Fault, LedgerReason
from gossamer.core.jobs import FrontierStats, Job, JobTotals
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.notes import CrawlNote
from gossamer.core.record import FieldMeaning, Record
from gossamer.core.shifts import EXTRACT_LANE
from gossamer.policy.budget_status import BudgetStatus
from gossamer.policy.goals import ListingGoal, read_goals
from gossamer.policy.sentences.item_notes import callback_notes, item_notes
from gossamer.policy.spider_stats import read_spider_stats
from gossamer.queries.budgets import read_budgets
from gossamer.queries.quality import read_quality_notes
from gossamer.wiring.backends import Backends
from gossamer.wiring.code_warnings import read_code_warnings
from gossamer.wiring.rules import lanes_of_job
from gossamer.wiring.trap_warnings import read_trap_warnings

LEAST_S = 1e-6
"""A job takes at least this long: rates are divided by it."""


class JobResult(Record, frozen=True, kw_only=True):
    """The result of a job, with the counts of ``crawl --json``; times cover the whole job."""

    job: str  # its id
    spider: str
    finish_reason: str
    pages: int
    items: int
    attempts: int
    retries: int
    dead: int
    dropped: int  # items not taken
    duplicates: int  # items seen again
    bytes: int
    seconds: float
    pages_per_second: float
    cost: float = 0.0  # cost of paid pages, in the currency of the prices
    by_rung: dict[str, int] = {}  # requests made by another rung than plain HTTP
    cost_by_rung: dict[str, float] = {}  # what those cost
    by_status: dict[str, int]
    goals: tuple[ListingGoal, ...] = ()  # how many of something the site announces, and how many there are
    stats: dict[str, float] = {}  # the spider's own counters (``self.stats``), by name
    budgets: tuple[BudgetStatus, ...] = ()  # of URL patterns, and of hosts that are over theirs
    left_out: dict[str, int] = {}  # items and links not taken, by reason
    notes: tuple[CrawlNote, ...] = ()  # remarks about its items: sentences with kinds
    warnings: tuple[str, ...] = ()  # data that may be missing, and the command that fetches it
    redirects_to_known: int
    error: Annotated[str, FieldMeaning.ASIDE] = ""  # the message of the error that ended it
    is_forgotten: Annotated[bool, FieldMeaning.ASIDE] = False  # its requests are no longer kept
    is_early: Annotated[bool, FieldMeaning.ASIDE] = False  # unfinished, with pages and time left to it
    lost: Annotated[int, FieldMeaning.ASIDE] = 0  # dead letters of hosts that did not come back
    fetched: Annotated[int, FieldMeaning.ASIDE] = 0  # dead letters of pages that counted as successes before
    failed_steps: Annotated[int, FieldMeaning.ASIDE] = 0  # dead letters of steps of a pipeline that failed
    totals: Annotated[JobTotals, FieldMeaning.ASIDE] = JobTotals()


async def read_result(backends: Backends, job: Job) -> JobResult:
    """Return the job's result so far. Raises ``LostRequestsError``."""
    stats = await backends.read_stats(job)
    totals = await backends.store.read_totals(job)
    lost = await backends.count_letters(job, totals, Fault.HOST_LOST)
    known = stats or FrontierStats(state=job.state)
    warnings = await read_code_warnings(backends, job, totals, known.dead)
    took_s = max((job.finished_at or backends.clock.now()) - job.created_at, LEAST_S)
    return JobResult(
        job=job.id,
        spider=job.name,
        finish_reason=job.finish_reason or job.state.value,
        pages=totals.pages,
        items=totals.items,
        attempts=totals.attempts,
        retries=totals.retries,
        dead=known.dead,
        dropped=DropKind.ITEM.count_in(totals.dropped),
        duplicates=totals.duplicates,
        bytes=totals.bytes,
        seconds=round(took_s, 3),
        pages_per_second=round(totals.pages / took_s, 1),
        cost=totals.cost,
        by_rung=totals.by_rung,
        cost_by_rung=totals.cost_by_rung,
        by_status=totals.by_status,
        goals=read_goals(totals),
        stats=read_spider_stats(totals),
        budgets=await read_budgets(backends, job),
        left_out=totals.dropped,
        notes=await _read_notes(backends, job, totals),
        warnings=warnings + await read_trap_warnings(backends, job, totals),
        redirects_to_known=totals.by_reason.get(LedgerReason.KNOWN_TARGET, 0),
        error=job.end_error if job.end_reason is FinishReason.ERROR else "",
        is_forgotten=stats is None,
        is_early=job.state is not JobState.FINISHED and (job.end_reason is None or job.end_reason.is_early),
        lost=lost,
        fetched=await _count_fetched(backends, job, totals),
        failed_steps=await backends.count_letters(job, totals, Fault.PIPELINE),
        totals=totals,
    )


async def _read_notes(backends: Backends, job: Job, totals: JobTotals) -> tuple[CrawlNote, ...]:
    """Return remarks about the items of an ended job that has pages."""
    if job.finished_at is None or not totals.pages:
        return ()
    said = (*item_notes(job.id, totals), *callback_notes(totals))
    return (*said, *await read_quality_notes(backends, job))


async def _count_fetched(backends: Backends, job: Job, totals: JobTotals) -> int:
    """The dead letters of pages that were fetched well, and that another worker could not extract."""
    if EXTRACT_LANE not in lanes_of_job(job, backends.settings):
        return 0
    faults = (Fault.CALLBACK, Fault.CALLBACK_TIMEOUT, Fault.PIPELINE)
    return sum([await backends.count_letters(job, totals, fault) for fault in faults])
