"""Budgets of a job's URL patterns and hosts: amounts spent, and requests held back."""

from __future__ import annotations

from gossamer.core.jobs import Job
from gossamer.core.record import Record
from gossamer.core.text import format_count
from gossamer.policy.budget_status import BudgetStatus
from gossamer.policy.budgets import OverrunRule
from gossamer.policy.patterns import compile_pattern
from gossamer.wiring.backends import Backends
from gossamer.wiring.budgets import read_budget_statuses


class BudgetReport(Record, frozen=True, kw_only=True):
    """The budgets of a job."""

    job: str  # its id
    budgets: tuple[BudgetStatus, ...]
    refused: int  # requests and links that all of them held back


async def read_budgets(backends: Backends, job: Job) -> tuple[BudgetStatus, ...]:
    """The budgets of a job's patterns, and those of its hosts that are over theirs."""
    return await read_budget_statuses(backends.requests.shared, job)


async def report_budgets(backends: Backends, job: Job) -> BudgetReport:
    """The budgets of a job, those first that held back most."""
    known = sorted(await read_budgets(backends, job), key=lambda status: (-status.refused, status.budget))
    return BudgetReport(job=job.id, budgets=tuple(known), refused=sum(status.refused for status in known))


def describe_report(found: BudgetReport) -> str:
    """Summarise the report in one sentence."""
    if not found.budgets:
        return "no URL pattern has a budget, and no host is over its budget"
    spent = format_count(sum(bool(status.spent) for status in found.budgets), "budget")
    return f"{spent} spent; {format_count(found.refused, 'request')} refused or put last"


async def find_spent_budget(backends: Backends, job: Job, url: str) -> BudgetStatus | None:
    """The budget for which links to a URL may not be taken; ``None``: there is none."""
    covering = [
        status
        for status in await read_budgets(backends, job)
        if status.pattern and compile_pattern(status.pattern).search(url)
    ]
    covering.sort(key=lambda status: status.over == OverrunRule.LAST)  # what stops it decides
    return next(
        (status for status in covering if status.spent),
        next((status for status in covering if "depth" in status.limits and status.refused), None),
    )
