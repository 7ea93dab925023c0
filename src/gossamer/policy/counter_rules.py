"""Rules that merge two values of a job's counter, by its name: most are added up. Pure.

Every store follows them: batches are merged here, and into a database by its SQL for the same rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

EXPECTED = "expected:"
"""Prefix of counters that hold the largest announced number."""
STAT = "stat:"
"""How the names of a spider's own counters begin; a :class:`MergeRule`, a colon and a name follow."""


class MergeRule(StrEnum):
    """The merge of two values. The member's value is its name in a spider's own counters."""

    SUM = "inc"  # both, added up
    LARGEST = "max"
    SMALLEST = "min"
    LATEST = "set"  # the one that is stored later


_RULES = {rule.value: rule for rule in MergeRule}


def rule_of(counter: str) -> MergeRule:
    """The rule of a counter, by its whole name."""
    if counter.startswith(STAT):
        return _RULES.get(counter.split(":", 2)[1], MergeRule.SUM)
    return MergeRule.LARGEST if counter.startswith(EXPECTED) else MergeRule.SUM


def merge_count(into: dict[str, int], counter: str, value: int) -> None:
    """Take one value up; the later one."""
    if counter not in into:
        into[counter] = value
        return
    rule, known = rule_of(counter), into[counter]
    if rule is MergeRule.SUM:
        into[counter] = known + value
    elif rule is MergeRule.LATEST:
        into[counter] = value
    else:
        into[counter] = max(known, value) if rule is MergeRule.LARGEST else min(known, value)


def merge_counts(into: dict[str, int], counted: Mapping[str, int]) -> None:
    """Take the values of many counters up."""
    for counter, value in counted.items():
        merge_count(into, counter, value)
