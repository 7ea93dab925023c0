"""Computes counters over time from the rows of any store. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from gossamer.core.series import BUCKET_S, COLUMNS, COUNTERS, GAUGE, HOUR_S, SeriesStep


def steps_of(
    counted: Iterable[Sequence[int | None]], gauges: Iterable[tuple[int, str, float]]
) -> list[SeriesStep]:
    """Steps in their order.

    ``counted`` has when each begins, the seconds that it covers, and its ``COUNTERS``; ``gauges`` has means.
    """
    steps = {
        at: SeriesStep(
            at=at or 0,
            covered_s=int(covered_s or 0),
            values={name: int(value) for name, value in zip(COUNTERS, values, strict=True) if value},
        )
        for at, covered_s, *values in counted
    }
    for at, name, value in gauges:
        steps[at].values[f"{GAUGE}{name}"] = round(value)
    return [steps[at] for at in sorted(steps)]  # type: ignore[type-var]


def fill_columns(statements: Mapping[str, str]) -> dict[str, str]:
    """SQL with the counters in place of ``:columns``, ``:sums`` and, for a row that is there, ``:added``."""
    words = {
        ":columns": ", ".join(COLUMNS),
        ":sums": ", ".join(f"sum({name})" for name in COLUMNS),
        ":added": ", ".join(f"{name} = series.{name} + excluded.{name}" for name in COLUMNS),
    }
    filled = dict(statements)
    for word, text in words.items():
        filled = {name: statement.replace(word, text) for name, statement in filled.items()}
    return filled


def bucket_of(at: float) -> int:
    """When the bucket of a time begins."""
    return int(at // BUCKET_S) * BUCKET_S


def hours_between(since: int, until: int) -> list[int]:
    """Return the hours that begin in that time."""
    return list(range(-(-since // HOUR_S) * HOUR_S, until, HOUR_S))


def worst_of(found: Iterable[tuple[str, int]], limit: int) -> list[str]:
    """Return the names with the highest sums, the highest first."""
    sums: Counter[str] = Counter()
    for who, value in found:
        sums[who] += value
    return [who for who, _ in sorted(sums.items(), key=lambda item: (-item[1], item[0]))[:limit]]
