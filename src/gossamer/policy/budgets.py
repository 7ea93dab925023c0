"""Budgets of money, bytes and browser seconds: what was spent, what that forbids, when a job is over. Pure.

Every rung of the network spends bytes. Browsers spend browser seconds; gateways, and what goes through a
proxy of a named kind, spend money.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from gossamer.core.record import Record
from gossamer.core.rungs import BROWSER_WAY, way_of

ROUNDING = 1e-9
"""Ten pages at 0.05 cost 0.5, although the sum of such numbers is a little less."""
BATCHES = 50
"""A worker saves what it has spent at the latest when that is a fiftieth of a budget."""


class BudgetKind(StrEnum):
    """What there is a budget of."""

    COST = "cost"
    BYTES = "bytes"
    BROWSER_SECONDS = "browser_seconds"


class Spending(Record, frozen=True, kw_only=True):
    """What was spent, by a job or on one of its hosts."""

    cost: float = 0.0
    bytes: int = 0
    browser_s: float = 0.0
    stuck: tuple[BudgetKind, ...] = ()  # of a job: budgets that left some request without any rung

    def __add__(self, other: Spending) -> Spending:
        return Spending(
            cost=self.cost + other.cost,
            bytes=self.bytes + other.bytes,
            browser_s=self.browser_s + other.browser_s,
            stuck=tuple(sorted({*self.stuck, *other.stuck})),
        )

    def __sub__(self, other: Spending) -> Spending:
        return Spending(
            cost=self.cost - other.cost,
            bytes=self.bytes - other.bytes,
            browser_s=self.browser_s - other.browser_s,
            stuck=tuple(kind for kind in self.stuck if kind not in other.stuck),
        )


NOTHING = Spending()


class BudgetLimits(Record, frozen=True, kw_only=True):
    """How much may be spent; ``None``: as much as it takes."""

    cost: float | None = None
    bytes: int | None = None
    browser_s: float | None = None

    def find_reached(self, spent: Spending) -> frozenset[BudgetKind]:
        """The budgets that are spent."""
        pairs = (
            (BudgetKind.COST, self.cost, spent.cost),
            (BudgetKind.BYTES, self.bytes, spent.bytes),
            (BudgetKind.BROWSER_SECONDS, self.browser_s, spent.browser_s),
        )
        return frozenset(
            kind for kind, limit, amount in pairs if limit is not None and amount >= limit * (1 - ROUNDING)
        )

    def fills_a_batch(self, unsaved: Spending) -> bool:
        """Whether so much should not stay unknown to other workers."""
        pairs = ((self.cost, unsaved.cost), (self.bytes, unsaved.bytes), (self.browser_s, unsaved.browser_s))
        return any(limit is not None and amount * BATCHES >= limit for limit, amount in pairs)


class BudgetRules(Record, frozen=True, kw_only=True):
    """The budgets of a job, and what is done when one is spent."""

    job: BudgetLimits = BudgetLimits()
    host: BudgetLimits = BudgetLimits()
    downgrades: bool = False  # whether rungs that spend nothing of it may still be used

    @property
    def limits_hosts(self) -> bool:
        """Whether hosts have budgets of their own."""
        return self.host != BudgetLimits()


def kinds_of(rung: str) -> frozenset[BudgetKind]:
    """What a rung spends."""
    way, is_paid = way_of(rung), "+" in rung
    found = {BudgetKind.BYTES}
    if way == BROWSER_WAY:
        found.add(BudgetKind.BROWSER_SECONDS)
    if is_paid or way.partition(":")[0] == "gateway":
        found.add(BudgetKind.COST)
    return frozenset(found)


def forbidden_by(
    rung: str, rules: BudgetRules, job: Spending, host: Spending
) -> tuple[frozenset[BudgetKind], frozenset[BudgetKind]]:
    """The spent budgets of the job and of the host that forbid a rung; both empty: it may be used."""
    of_job, of_host = rules.job.find_reached(job), rules.host.find_reached(host)
    if rules.downgrades:
        spends = kinds_of(rung)
        return of_job & spends, of_host & spends
    return of_job, of_host


def allowed_rungs(rungs: Sequence[str], rules: BudgetRules, job: Spending, host: Spending) -> tuple[str, ...]:
    """Those of the rungs that may still be used, in their order."""
    return tuple(rung for rung in rungs if not any(forbidden_by(rung, rules, job, host)))


def find_ending(rules: BudgetRules, job: Spending) -> frozenset[BudgetKind]:
    """The spent budgets for which a job is over; empty: it goes on.

    One that downgrades continues until a request is left without any rung; a larger budget frees it.
    """
    reached = rules.job.find_reached(job)
    return reached & {*job.stuck, BudgetKind.BYTES} if rules.downgrades else reached
