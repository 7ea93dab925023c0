"""From the settings to the rules of traps."""

from __future__ import annotations

from gossamer.config.settings import Settings
from gossamer.policy.trap_budgets import TrapBudgetRules
from gossamer.policy.traps import TrapRules


def trap_rules_of(settings: Settings) -> TrapRules:
    """Return the trap rules that each process applies on its own."""
    said = settings.traps
    return TrapRules(
        max_segments=said.max_segments,
        max_repeats=said.max_repeats,
        max_same_body=said.max_same_body,
        max_per_pattern=said.max_per_pattern,
        max_per_domain=said.max_per_domain,
    )


def trap_budgets_of(settings: Settings) -> TrapBudgetRules | None:
    """Return the budgets of URL patterns, which all workers share; ``None`` without any."""
    said = settings.traps
    rules = TrapBudgetRules(
        max_worthless=said.max_worthless,
        max_per_pattern=said.max_per_pattern,
        max_per_domain=said.max_per_domain,
    )
    return None if rules == TrapBudgetRules(max_worthless=None) else rules
