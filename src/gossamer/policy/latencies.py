"""Percentiles of response times, of single ones and of those that were counted in buckets. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping

from gossamer.core.record import Record
from gossamer.core.results import Attempt
from gossamer.core.series import LATENCY_BOUNDS_MS, OVER
from gossamer.policy import urls

LEAST_ANSWERS = 5
"""Fewest answers for a usual response time."""


class LatencyFacts(Record, frozen=True, kw_only=True):
    """How long answers take: in the middle, and all but the slowest twentieth. Seconds."""

    p50_s: float
    p95_s: float


def times_by_host(attempts: Iterable[Attempt]) -> dict[str, LatencyFacts]:
    """The response times of the hosts of some attempts that have answered often enough."""
    found: dict[str, list[float]] = defaultdict(list)
    for attempt in attempts:
        if attempt.status and attempt.elapsed_ms:
            found[urls.host_key(attempt.url)].append(attempt.elapsed_ms / 1000)
    return {
        host: LatencyFacts(p50_s=_rank(sorted(times), 0.5), p95_s=_rank(sorted(times), 0.95))
        for host, times in found.items()
        if len(times) >= LEAST_ANSWERS
    }


def _rank(times: list[float], share: float) -> float:
    """The time within which this share of them lies."""
    return round(times[math.ceil(share * len(times)) - 1], 4)


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
