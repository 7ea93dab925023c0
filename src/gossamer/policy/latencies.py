"""Percentiles of response times that were counted in buckets. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from gossamer.core.series import LATENCY_BOUNDS_MS, OVER


def percentile_s(buckets: Mapping[str, int], share: float) -> float | None:
    """The time within which this share of the answers had arrived, in seconds; ``None``: there are none.

    ``buckets`` are counts by the upper bound in milliseconds, as a text; within a bucket times are taken for
    evenly spread, and what took longer than the last bound for that long.
    """
    total = sum(buckets.values())
    if not total:
        return None
    wanted, lower = share * total, 0
    for bound in LATENCY_BOUNDS_MS:
        count = buckets.get(str(bound), 0)
        if count and wanted <= count:
            return (lower + (bound - lower) * wanted / count) / 1000
        wanted -= count
        lower = bound
    return lower / 1000 if buckets.get(OVER, 0) or lower else None
