"""The budgets of a job: meters and checks, by the settings."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.config.budgets import PatternBudgetSettings
from gossamer.config.settings import Settings
from gossamer.core.jobs import FrontierStats, Job, tag_of
from gossamer.core.lifecycle import FinishReason
from gossamer.core.text import format_count
from gossamer.engine.job_stop import read_stop
from gossamer.fetch.routing.spending import SpendingMeter, read_ending, read_spending, read_statuses
from gossamer.policy.alert_readings import BudgetUse
from gossamer.policy.budget_status import BudgetStatus
from gossamer.policy.budgets import UNLIMITED, BudgetLimits, BudgetRules, OverrunRule, PatternBudget
from gossamer.policy.job_life import EndFinder, JobEnd
from gossamer.ports.clock import Clock
from gossamer.ports.shared_state import SharedState
from gossamer.ports.store import Store
from gossamer.targets.plan import plan_from, sections_under


def budget_rules_of(settings: Settings) -> BudgetRules | None:
    """Return the budgets of the settings; ``None`` without any. A replay spends nothing."""
    if settings.replay.job is not None:
        return None
    said = settings.budgets
    rules = BudgetRules(
        job=BudgetLimits(cost=said.cost, bytes=said.bytes, browser_s=said.browser_seconds),
        host=BudgetLimits(
            cost=said.cost_per_host,
            bytes=said.bytes_per_host,
            browser_s=said.browser_seconds_per_host,
            items=said.items_per_host,
            errors=said.errors_per_host,
            busy_s=said.seconds_per_host,
        ),
        patterns=tuple(_pattern_budget_of(name, budget) for name, budget in said.patterns.items()),
        over=OverrunRule(said.over),
    )
    return None if rules.job == rules.host == UNLIMITED and not rules.patterns else rules


def _pattern_budget_of(name: str, said: PatternBudgetSettings) -> PatternBudget:
    limits = BudgetLimits(
        cost=said.cost,
        bytes=said.bytes,
        pages=said.pages,
        items=said.items,
        errors=said.errors,
        busy_s=said.seconds,
    )
    return PatternBudget(
        name=name, pattern=said.pattern, limits=limits, depth=said.depth, over=OverrunRule(said.over)
    )


async def read_budgets(own: Settings, shared: SharedState, job: Job) -> Sequence[BudgetUse]:
    """Return the spent parts of a job's budgets of money, bytes and browser time. Raises ``OperatorError``.

    ``own`` are this machine's settings; a job of the fleet brings its budgets with its plan.
    """
    settings = sections_under(plan_from(job.plan), own, "budgets", "replay") if job.is_fleet else own
    rules = budget_rules_of(settings)
    if rules is None or rules.job == UNLIMITED:
        return ()
    spent = await read_spending(shared, tag_of(job))
    return tuple(
        BudgetUse(kind=kind.value, used=used, limit=limit) for kind, used, limit in rules.job.list_uses(spent)
    )


def open_meter(
    settings: Settings, shared: SharedState, clock: Clock, job: Job, worker: str
) -> SpendingMeter | None:
    """Open the meter of one worker's spending; ``None`` if the job has no budgets."""
    rules = budget_rules_of(settings)
    return None if rules is None else SpendingMeter(shared, clock, tag_of(job), rules, worker)


async def read_budget_statuses(shared: SharedState, job: Job) -> tuple[BudgetStatus, ...]:
    """Return the budgets of a job's patterns, and those of its hosts that are exceeded.

    Raises ``StorageError``.
    """
    return await read_statuses(shared, tag_of(job))


def end_finder_of(settings: Settings, shared: SharedState, store: Store, job: Job) -> EndFinder:
    """Return the check of a supervisor's look: whether a budget or a callback ends the job."""
    rules, tag = budget_rules_of(settings), tag_of(job)
    limits = rules is not None and rules.job != UNLIMITED

    async def find_end(stats: FrontierStats) -> JobEnd | None:
        if stop := await read_stop(shared, tag):
            return JobEnd(reason=FinishReason.STOPPED, detail=stop)
        if settings.max_errors is not None and stats.dead >= settings.max_errors:
            return JobEnd(reason=FinishReason.MAX_ERRORS, detail=format_count(stats.dead, "dead letter"))
        if settings.max_items is not None:
            items = (await store.read_totals(job)).items
            if items >= settings.max_items:
                return JobEnd(reason=FinishReason.MAX_ITEMS, detail=format_count(items, "item"))
        if rules is not None and limits and (reached := await read_ending(shared, tag, rules)):
            return JobEnd(reason=FinishReason.BUDGET, detail=", ".join(sorted(reached)))
        return None

    return find_end
