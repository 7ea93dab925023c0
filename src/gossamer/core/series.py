"""How the counters of a job grew over time, as stores keep it: in buckets of 20 seconds, and by the hour."""

from __future__ import annotations

from enum import StrEnum

from gossamer.core.record import Record, Time

BUCKET_S = 20
"""Seconds of a bucket; each begins at a multiple of them since the epoch."""
HOUR_S = 3600
FINE_S = 24 * HOUR_S
"""Age at which buckets are merged into hours, in seconds."""
NAMED_S = 48 * HOUR_S
"""Age at which hourly figures by host and proxy are deleted, in seconds."""

LATENCY_BOUNDS_MS = (10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000)
"""Where the buckets of response times end, the ends included; what took longer is in one more."""
OVER = "inf"
"""How that one is called."""

LATENCIES = tuple(f"lat:{bound}" for bound in (*LATENCY_BOUNDS_MS, OVER))
"""The names of these buckets."""
CLASSES = tuple(f"class:{digit}" for digit in range(6))
"""Attempts by the first digit of their status; 0: no response; 5 includes all above."""
COUNTERS = (
    *("pages", "attempts", "items", "bytes", "retries", "failed", "dead"),
    *CLASSES,
    "lat_sum",
    *LATENCIES,
)
"""The counters of a time series."""
COLUMNS = tuple(name.replace(":", "_") for name in COUNTERS)
"""How databases call them."""

GAUGE = "now:"
"""How the names of gauges begin. They are set, and not added up: ``now:pending``."""
ALLOWED = "allowed_m"
"""The gauge of the rate that all hosts of a job allow, in thousandths of a request per second."""
EVERYBODY = ""
"""Under this name stands what all hosts, or all proxies, did together."""
ATTEMPTS = ""
"""The label of attempts; the others are the reasons for which some of them failed."""
OTHER = "other"
"""The label of reasons that are not of a fixed set, such as free text."""


class HourlyKind(StrEnum):
    """Whose counts by the hour."""

    HOST = "host"  # who: a politeness key; label: ``ATTEMPTS``, or why some failed
    PROXY = "proxy"  # who: a proxy, without credentials; the labels are the same
    RUNG = "rung"  # who: a way to fetch; the labels are the same
    REASON = "reason"  # who: a reason of the ledger; label: what came of the attempt, as its verdict


class SeriesStep(Record, frozen=True, kw_only=True):
    """Counts and gauges of one step of time."""

    at: Time  # when the step begins
    covered_s: int  # seconds of the step with records; no process worked before and after
    values: dict[str, int]  # by name; of gauges their mean


class HourlyRow(Record, frozen=True, kw_only=True):
    """A count of one hour."""

    hour: Time  # when the hour begins
    who: str
    label: str
    value: int


class ChartRange(StrEnum):
    """How far back a chart goes."""

    QUARTER = "15m"
    HOUR = "1h"
    SIX_HOURS = "6h"
    DAY = "24h"
    ALL = "all"  # the whole job

    @property
    def seconds(self) -> float:
        """How long it is; the whole job has no bound."""
        return _SECONDS[self]


_SECONDS = {
    ChartRange.QUARTER: 900.0,
    ChartRange.HOUR: float(HOUR_S),
    ChartRange.SIX_HOURS: 6.0 * HOUR_S,
    ChartRange.DAY: 24.0 * HOUR_S,
    ChartRange.ALL: float("inf"),
}
