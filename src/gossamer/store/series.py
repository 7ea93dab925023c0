"""What every store does with counters over time once their rows are read. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from gossamer.core.series import BUCKET_S, COVERED, FINE_S, GAUGE, HOUR_S, NAMED_S, SeriesStep


def steps_of(rows: Iterable[tuple[int, str, int, int]], covered: Mapping[int, int]) -> list[SeriesStep]:
    """Steps in their order, from the sum and the number of rows of each name at each time.

    ``covered``: seconds of buckets that are not folded, by step.
    """
    values: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for at, name, total, number in rows:
        values[at][name] = round(total / number) if name.startswith(GAUGE) else int(total)
    return [
        SeriesStep(at=at, covered_s=covered.get(at, 0) + named.pop(COVERED, 0), values=named)
        for at, named in sorted(values.items())
    ]


def bucket_of(at: float) -> int:
    """When the bucket of a time begins."""
    return int(at // BUCKET_S) * BUCKET_S


def hours_between(since: int, until: int) -> list[int]:
    """The hours that begin in that time."""
    return list(range(-(-since // HOUR_S) * HOUR_S, until, HOUR_S))


def fold_limits(now: float) -> tuple[int, int]:
    """Before which time buckets are folded, and single hosts forgotten: whole hours."""
    return int((now - FINE_S) // HOUR_S) * HOUR_S, int((now - NAMED_S) // HOUR_S) * HOUR_S


def worst_of(found: Iterable[tuple[str, int]], limit: int) -> list[str]:
    """The names with the highest sums, the highest first."""
    sums: Counter[str] = Counter()
    for who, value in found:
        sums[who] += value
    return [who for who, _ in sorted(sums.items(), key=lambda item: (-item[1], item[0]))[:limit]]
