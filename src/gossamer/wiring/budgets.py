"""The budgets of a job: from the settings to what counts, and what sees that they are spent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from gossamer.config.settings import Settings
from gossamer.core.jobs import Job, tag_of
from gossamer.fetch.routing.spending import SpendingMeter, is_over_budget
from gossamer.policy.budgets import BudgetLimits, BudgetRules
from gossamer.ports.clock import Clock
from gossamer.ports.shared_state import SharedState


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


def budget_check_of(
    settings: Settings, shared: SharedState, job: Job
) -> Callable[[], Awaitable[bool]] | None:
    """What a supervisor asks at each look: whether the job is over its budget; ``None``: it has none."""
    rules = budget_rules_of(settings)
    if rules is None or rules.job == BudgetLimits():
        return None
    return partial(is_over_budget, shared, tag_of(job), rules)
