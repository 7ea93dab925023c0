"""A spider's own counters: allowed values, stored form and reading. Pure.

A value is stored as a whole number of thousandths, under ``stat:RULE:NAME`` among the totals of its job.
"""

from __future__ import annotations

from collections.abc import Mapping

from gossamer.core.errors import UsageError
from gossamer.core.jobs import JobTotals
from gossamer.policy.counter_rules import STAT, MergeRule

UNITS = 1000
"""Values are kept to three decimals."""
MAX_NAMES = 100
"""Names of a job that count; each is a row of every listing, and a series of the metrics."""
LONGEST_NAME = 60
MOST_AT_ONCE = 10**9
"""Maximum step of one ``inc``: nine million such steps fit into a database's number."""
LARGEST = 10**15


def check_name(name: object) -> str:
    """Return the name of a counter. Raises ``UsageError`` if it is invalid."""
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        raise UsageError(
            f"{name!r:.80} is not the name of a statistic: give a text of 1 to {LONGEST_NAME} characters"
        )
    return name


def units_of(value: object, rule: MergeRule, name: str) -> int:
    """Return a value in its stored form. Raises ``UsageError`` unless it is a number within limits."""
    limit = MOST_AT_ONCE if rule is MergeRule.SUM else LARGEST
    number = value if isinstance(value, int | float) else _read_number(value)
    if isinstance(value, bool) or number is None or not -limit <= number <= limit:
        raise UsageError(f"stats.{rule}({name!r}, {value!r:.80}): give a number from -{limit:,} to {limit:,}")
    return round(number * UNITS)


def _read_number(value: object) -> float | None:
    """Return a number of another type (``Decimal``, numpy's) as a float; ``None`` for other values."""
    try:
        return float(value) if hasattr(value, "__float__") else None
    except (TypeError, ValueError, OverflowError):  # a NaN that signals, an array
        return None


def value_of(units: int) -> float:
    """A stored value as a number: a whole one where it is one."""
    return units // UNITS if units % UNITS == 0 else units / UNITS


def counter_of(rule: MergeRule, name: str) -> str:
    """The name of the counter among the totals of a job."""
    return f"{STAT}{rule.value}:{name}"


def read_counts(counted: Mapping[str, int]) -> dict[str, float]:
    """The values by their names, in order, from counters without their ``stat:``: at most ``MAX_NAMES``."""
    found: dict[str, float] = {}
    for counter in sorted(counted, key=lambda counter: counter.partition(":")[::-1]):
        name = counter.partition(":")[2]
        if name not in found and len(found) < MAX_NAMES:
            found[name] = value_of(counted[counter])
    return found


def read_counters(counters: Mapping[str, int]) -> dict[str, float]:
    """The same from whole names of counters."""
    return read_counts({counter.removeprefix(STAT): units for counter, units in counters.items()})


def read_spider_stats(totals: JobTotals) -> dict[str, float]:
    """Return the counters of a job's spider by name."""
    return read_counts(totals.stats)
