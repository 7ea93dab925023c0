"""How much of the budgets of hosts and of URL patterns is spent, and what that held back. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from gossamer.core.record import Record
from gossamer.core.text import format_count
from gossamer.policy.budgets import PATTERN, BudgetLimits, BudgetRules, OverrunRule, PatternBudget, Spending


class BudgetStatus(Record, frozen=True, kw_only=True):
    """How much of one budget is spent."""

    budget: str  # the name of a pattern's budget, or a host
    pattern: str = ""  # of its URLs; empty: they are those of the host
    used: dict[str, float]  # how much of what there is a budget of: ``pages``, ``bytes``
    limits: dict[str, float]  # how much of it there is; ``depth``: links from a start URL
    spent: tuple[str, ...] = ()  # what of it is spent
    over: str = "stop"  # what becomes of requests over it: ``stop``, ``last``, ``downgrade``
    refused: int = 0  # requests that were skipped or put last, and links that were not taken

    def to_text(self) -> str:
        """``products: 20 of 20 pages, 380 requests refused``."""
        verb = "put last" if self.over == OverrunRule.LAST else "refused"
        refused = f", {format_count(self.refused, 'request')} {verb}" if self.refused else ""
        return f"{self.budget}: {self.uses}{refused}"

    @property
    def uses(self) -> str:
        """``20 of 20 pages, at most 3 links deep``."""
        uses = [f"{_show(used)} of {_show(self.limits[kind])} {kind}" for kind, used in self.used.items()]
        if "depth" in self.limits:
            uses.append(f"at most {format_count(int(self.limits['depth']), 'link')} deep")
        return ", ".join(uses).replace("_", " ")


def _show(amount: float) -> str:
    return f"{amount:,.6f}".rstrip("0").removesuffix(".")


def place_of(budget: PatternBudget) -> str:
    """Return the name of a pattern in the place of a host."""
    return f"{PATTERN}{budget.name}"


def list_statuses(
    rules: BudgetRules, refused: Mapping[str, int], spent: Mapping[str, Spending]
) -> tuple[BudgetStatus, ...]:
    """All budgets of patterns, and those of hosts that held something back.

    ``refused`` counts that by place, ``spent`` has what places have spent.
    """
    patterns = [
        _make_status(
            budget.name,
            budget.limits,
            spent.get(place, Spending()),
            refused.get(place, 0),
            pattern=budget.pattern,
            depth=budget.depth,
            over=budget.over,
        )
        for budget in rules.patterns
        for place in (place_of(budget),)
    ]
    hosts = [
        _make_status(host, rules.host, spent.get(host, Spending()), count, over=rules.over)
        for host, count in refused.items()
        if not host.startswith(PATTERN)
    ]
    return (*patterns, *hosts)


def _make_status(
    budget: str,
    limits: BudgetLimits,
    spent: Spending,
    refused: int,
    *,
    over: OverrunRule,
    pattern: str = "",
    depth: int | None = None,
) -> BudgetStatus:
    uses = limits.list_uses(spent)
    return BudgetStatus(
        budget=budget,
        pattern=pattern,
        used={kind.value: round(used, 3) for kind, used, _ in uses},
        limits={kind.value: limit for kind, _, limit in uses} | ({} if depth is None else {"depth": depth}),
        spent=tuple(sorted(limits.find_reached(spent))),
        over=over.value,
        refused=refused,
    )
