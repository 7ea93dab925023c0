"""The budgets of a job: from the settings to what counts, and what sees that they are spent."""

from __future__ import annotations

from gossamer.config.settings import Settings
from gossamer.core.jobs import FrontierStats, Job, tag_of
from gossamer.core.lifecycle import FinishReason
from gossamer.core.text import format_count
from gossamer.engine.job_stop import read_stop
from gossamer.fetch.routing.spending import SpendingMeter, read_ending
from gossamer.policy.budgets import BudgetLimits, BudgetRules
from gossamer.policy.job_life import EndFinder, JobEnd
from gossamer.ports.clock import Clock
from gossamer.ports.shared_state import SharedState
from gossamer.ports.store import Store


def budget_rules_of(settings: Settings) -> BudgetRules | None:
    """The budgets that the settings set; ``None``: there is none."""
    said = settings.budgets
    rules = BudgetRules(
        job=BudgetLimits(cost=said.cost, bytes=said.bytes, browser_s=said.browser_seconds),
        host=BudgetLimits(
            cost=said.cost_per_host, bytes=said.bytes_per_host, browser_s=said.browser_seconds_per_host
        ),
        downgrades=said.over == "downgrade",
    )
    return None if rules.job == rules.host == BudgetLimits() else rules


def open_meter(settings: Settings, shared: SharedState, clock: Clock, job: Job) -> SpendingMeter | None:
    """What counts what a job spends; ``None``: nobody asks."""
    rules = budget_rules_of(settings)
    return None if rules is None else SpendingMeter(shared, clock, tag_of(job), rules)


def end_finder_of(settings: Settings, shared: SharedState, store: Store, job: Job) -> EndFinder:
    """What a supervisor asks at each look: whether a budget or a callback ends the job."""
    rules, tag = budget_rules_of(settings), tag_of(job)
    limits = rules is not None and rules.job != BudgetLimits()

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
