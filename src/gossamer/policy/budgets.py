"""Budgets of money, bytes, time, pages, items and errors: amounts spent, and their consequences. Pure.

Every rung of the network spends bytes. Browsers spend browser seconds; gateways and proxies of a named kind
spend money. Pages, items, errors and seconds are spent on every rung.

The pages of a pattern never exceed its budget, with any number of workers: each worker claims pages in shared
state (:class:`PageClaim`) before it fetches them. Other budgets may be exceeded by the requests in flight
when they are spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.core.record import Record, Time
from gossamer.core.rungs import BROWSER_WAY, way_of
from gossamer.policy.patterns import compile_pattern

ROUNDING = 1e-9
"""Ten pages at 0.05 cost 0.5, although the sum of such numbers is a little less."""
BATCHES = 50
"""A worker saves its spending at the latest when it reaches this part of a budget: a fiftieth."""
HOLD_S = 60.0
"""So long others leave a worker the pages that it has claimed, in seconds; it renews them."""
MAX_REFUSING = 200
"""Budgets of a job of which is known how many requests they refused: those of patterns, and those of hosts
that refused most."""
PATTERN = "*"
"""Prefix of a pattern's name in the place of a host; no host name begins with it."""


class BudgetKind(StrEnum):
    """The unit of a budget."""

    COST = "cost"
    BYTES = "bytes"
    BROWSER_SECONDS = "browser_seconds"
    PAGES = "pages"
    ITEMS = "items"
    ERRORS = "errors"
    SECONDS = "seconds"


AMOUNTS = {
    BudgetKind.COST: "cost",
    BudgetKind.BYTES: "bytes",
    BudgetKind.BROWSER_SECONDS: "browser_s",
    BudgetKind.PAGES: "pages",
    BudgetKind.ITEMS: "items",
    BudgetKind.ERRORS: "errors",
    BudgetKind.SECONDS: "busy_s",
}
"""The fields of amounts spent, and of their limits."""
_ON_EVERY_RUNG = frozenset({
    BudgetKind.BYTES, BudgetKind.PAGES, BudgetKind.ITEMS, BudgetKind.ERRORS, BudgetKind.SECONDS,
})  # fmt: skip


class OverrunRule(StrEnum):
    """The rule for requests over a spent budget."""

    STOP = "stop"  # they are skipped, and links to URLs of a spent pattern are not taken
    DOWNGRADE = "downgrade"  # they continue with rungs that spend nothing of it
    LAST = "last"  # they wait behind everything else


class PageClaim(Record, frozen=True, kw_only=True):
    """Pages of a budget that a worker has claimed, and has not counted yet."""

    pages: int
    until: Time  # so long they are its own


class Spending(Record, frozen=True, kw_only=True):
    """Amounts spent by a job, on one of its hosts, or on one of its patterns."""

    cost: float = 0.0
    bytes: int = 0
    browser_s: float = 0.0
    pages: int = 0  # of patterns only: a frontier counts those of jobs and hosts
    items: int = 0
    errors: int = 0  # dead letters
    busy_s: float = 0.0  # for which requests were under way, all of them together
    stuck: tuple[BudgetKind, ...] = ()  # of a job: budgets that left some request without any rung
    refused: dict[str, int] = {}  # of a job: requests that budgets of its places held back, by place
    holds: dict[str, PageClaim] = {}  # of a pattern: pages that are under way, by worker

    def __add__(self, other: Spending) -> Spending:
        return Spending(
            cost=self.cost + other.cost,
            bytes=self.bytes + other.bytes,
            browser_s=self.browser_s + other.browser_s,
            pages=self.pages + other.pages,
            items=self.items + other.items,
            errors=self.errors + other.errors,
            busy_s=self.busy_s + other.busy_s,
            stuck=tuple(sorted({*self.stuck, *other.stuck})),
            refused=_add_counts(self.refused, other.refused),
            holds={**self.holds, **other.holds},
        )

    def __sub__(self, other: Spending) -> Spending:
        less = {place: -count for place, count in other.refused.items()}
        return Spending(
            cost=self.cost - other.cost,
            bytes=self.bytes - other.bytes,
            browser_s=self.browser_s - other.browser_s,
            pages=self.pages - other.pages,
            items=self.items - other.items,
            errors=self.errors - other.errors,
            busy_s=self.busy_s - other.busy_s,
            stuck=tuple(kind for kind in self.stuck if kind not in other.stuck),
            refused=_add_counts(self.refused, less),
            holds={worker: hold for worker, hold in self.holds.items() if worker not in other.holds},
        )


NOTHING = Spending()


def _add_counts(counts: dict[str, int], more: dict[str, int]) -> dict[str, int]:
    """Add two tables of counts without zeros; of very many, keep those of patterns and the largest."""
    if not more:
        return counts
    summed = {place: counts.get(place, 0) + more.get(place, 0) for place in {**counts, **more}}
    kept = sorted(
        (place for place in summed if summed[place]),
        key=lambda place: (not place.startswith(PATTERN), -summed[place], place),
    )
    return {place: summed[place] for place in kept[:MAX_REFUSING]}


class BudgetLimits(Record, frozen=True, kw_only=True):
    """How much may be spent; ``None``: as much as it takes. The fields mean what those of spending do."""

    cost: float | None = None
    bytes: int | None = None
    browser_s: float | None = None
    pages: int | None = None
    items: int | None = None
    errors: int | None = None
    busy_s: float | None = None

    def list_uses(self, spent: Spending) -> list[tuple[BudgetKind, float, float]]:
        """Return each budgeted unit with the amount spent and the limit."""
        found = ((kind, getattr(spent, name), getattr(self, name)) for kind, name in AMOUNTS.items())
        return [(kind, used, limit) for kind, used, limit in found if limit is not None]

    def find_reached(self, spent: Spending) -> frozenset[BudgetKind]:
        """The budgets that are spent."""
        uses = self.list_uses(spent)
        return frozenset(kind for kind, used, limit in uses if used >= limit * (1 - ROUNDING))

    def fills_a_batch(self, unsaved: Spending) -> bool:
        """Whether so much should not stay unknown to other workers."""
        return any(used and used * BATCHES >= limit for _, used, limit in self.list_uses(unsaved))


UNLIMITED = BudgetLimits()


class PatternBudget(Record, frozen=True, kw_only=True):
    """The budget of all URLs of one pattern."""

    name: str  # by which the settings, and reports, call it
    pattern: str  # a regular expression that is searched in URLs
    limits: BudgetLimits = UNLIMITED
    depth: int | None = None  # how many hops from a seed its URLs may be; further ones are over the budget
    over: OverrunRule = OverrunRule.STOP  # STOP or LAST

    @property
    def claimed_pages(self) -> int | None:
        """Limit of pages that is never exceeded; ``None`` without one, or if more may be fetched last."""
        return self.limits.pages if self.over is OverrunRule.STOP else None

    def covers_url(self, url: str) -> bool:
        """Whether a URL spends of it."""
        return bool(compile_pattern(self.pattern).search(url))

    def explain_overrun(self, depth: int, spent: Spending, *, is_file: bool = False) -> str:
        """Explain which part of the budget is spent for a URL at this depth; empty if none is.

        A file does not count as a page: the last pages of a budget still get their files.
        """
        if self.depth is not None and depth > self.depth:
            return f"depth ({depth} of {self.depth} hops from a start URL)"
        reached = self.limits.find_reached(spent)
        return ", ".join(sorted(reached - {BudgetKind.PAGES} if is_file else reached))


class BudgetOverrun(NamedTuple):
    """That a URL is over a budget."""

    place: str  # of the host or the pattern whose budget it is
    name: str  # for people
    why: str  # what of it is spent
    is_last: bool  # it waits behind everything else; else it is not fetched


class BudgetRules(Record, frozen=True, kw_only=True):
    """The budgets of a job, and the rule for spent ones."""

    job: BudgetLimits = UNLIMITED
    host: BudgetLimits = UNLIMITED
    patterns: tuple[PatternBudget, ...] = ()
    over: OverrunRule = OverrunRule.STOP  # of the job and its hosts; LAST ends a job over its own

    @property
    def limits_hosts(self) -> bool:
        """Whether hosts have budgets of their own."""
        return self.host != UNLIMITED

    @property
    def limits_pages(self) -> bool:
        """Whether a pattern has a budget of pages, so that pages are claimed before they are fetched."""
        return any(budget.claimed_pages is not None for budget in self.patterns)

    @property
    def judges_links(self) -> bool:
        """Whether links are held back before they wait."""
        return bool(self.patterns) or self.goes_last

    @property
    def goes_last(self) -> bool:
        """Whether requests over a budget of their host wait behind everything else."""
        return self.over is OverrunRule.LAST and self.limits_hosts


def kinds_of(rung: str) -> frozenset[BudgetKind]:
    """Return the units that a rung spends."""
    way, is_paid = way_of(rung), "+" in rung
    found = set(_ON_EVERY_RUNG)
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
    if rules.over is OverrunRule.DOWNGRADE:
        spends = kinds_of(rung)
        return of_job & spends, of_host & spends
    return of_job, frozenset() if rules.over is OverrunRule.LAST else of_host


def allowed_rungs(rungs: Sequence[str], rules: BudgetRules, job: Spending, host: Spending) -> tuple[str, ...]:
    """Those of the rungs that may still be used, in their order."""
    return tuple(rung for rung in rungs if not any(forbidden_by(rung, rules, job, host)))


def find_ending(rules: BudgetRules, job: Spending) -> frozenset[BudgetKind]:
    """Return the spent budgets that end a job; empty if it continues.

    One that downgrades continues until a request is left without any rung; a larger budget frees it.
    """
    reached = rules.job.find_reached(job)
    return reached & {*job.stuck, *_ON_EVERY_RUNG} if rules.over is OverrunRule.DOWNGRADE else reached


def claim_pages(known: Spending, limit: int, worker: str, wanted: int, now: float) -> Spending:
    """Return the spending of a pattern after a worker has claimed up to ``wanted`` of its remaining pages.

    Its earlier claim is returned; expired claims are removed.
    """
    holds = {who: hold for who, hold in known.holds.items() if who != worker and hold.until > now}
    free = limit - known.pages - sum(hold.pages for hold in holds.values())
    mine = max(min(wanted, free), 0)
    if mine:
        holds[worker] = PageClaim(pages=mine, until=now + HOLD_S)
    return replace(known, holds=holds)


def batch_of_pages(known: Spending, limit: int) -> int:
    """Return the number of pages that a worker claims at once: a fiftieth of the remaining ones."""
    return max((limit - known.pages - sum(hold.pages for hold in known.holds.values())) // BATCHES, 1)
