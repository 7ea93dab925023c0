"""Every metric: its name, kind, labels and meaning, in one place.

Names and units follow the conventions of Prometheus. Labels are bounded: a limited number of hosts, reasons
and jobs have their own values. The reference in the documentation is made from this table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from gossamer.core.errors import LedgerReason
from gossamer.core.jobs import FrontierStats
from gossamer.core.lifecycle import RequestState
from gossamer.core.redaction import hide_userinfo
from gossamer.observe.text import one_line
from gossamer.policy.faults import FAULTS, FaultKind
from gossamer.policy.secret_names import hide_parameters

OTHER = "other"
"""The value of a label for everything beyond its bound."""
DROP_TEXT = 80
"""Maximum characters of the reason of a drop."""
NO_ANSWER = "none"
"""The class of the status without an answer."""


class MetricKind(StrEnum):
    """The kind of a metric."""

    COUNTER = "counter"  # only grows; read its rate
    GAUGE = "gauge"  # the current value
    HISTOGRAM = "histogram"  # counts by upper bounds, and their sum
    INFO = "info"  # always 1; read its labels


class MetricSource(StrEnum):
    """The source of a metric."""

    PROCESS = "process"  # `--metrics-port` of a crawl, a worker or a supervisor: the work of this process
    FLEET = "fleet"  # the dashboard: store, frontier and roster, for all processes


class Metric(NamedTuple):
    """One metric, as it is exposed."""

    name: str
    kind: MetricKind
    meaning: str
    labels: tuple[str, ...] = ()
    sources: tuple[MetricSource, ...] = (MetricSource.PROCESS, MetricSource.FLEET)


_COUNTER, _GAUGE = MetricKind.COUNTER, MetricKind.GAUGE
_PROCESS, _FLEET = (MetricSource.PROCESS,), (MetricSource.FLEET,)

BUILD_INFO = Metric("gossamer_build_info", MetricKind.INFO, "The version of Gossamer.", ("version",))
JOB_INFO = Metric("gossamer_job_info", MetricKind.INFO, "The state of a job.", ("job", "state"))
PAGES = Metric("gossamer_pages_total", _COUNTER, "Pages that were fetched and parsed.", ("job",))
ATTEMPTS = Metric(
    "gossamer_attempts_total",
    _COUNTER,
    "Attempts, by verdict and rung (empty: none was used); without those that robots.txt forbids.",
    ("job", "outcome", "rung"),
)
RESPONSES = Metric(
    "gossamer_responses_total",
    _COUNTER,
    "Answers to attempts, by the class of their status (none: without an answer).",
    ("job", "code"),
)
FAILURES = Metric(
    "gossamer_failures_total",
    _COUNTER,
    "Failed attempts, by the fault; without requests skipped on purpose (robots.txt, scope, 404).",
    ("job", "reason"),
)
FETCH_DURATION = Metric(
    "gossamer_fetch_duration_seconds",
    MetricKind.HISTOGRAM,
    "Seconds from the start of a fetch to the end of its body, of those that were answered.",
    ("job",),
)
RECEIVED_BYTES = Metric(
    "gossamer_received_bytes_total", _COUNTER, "Bytes of response bodies, decoded.", ("job",)
)
ITEMS = Metric(
    "gossamer_items_total",
    _COUNTER,
    "Items that passed the pipelines and were stored, those included that the job had already.",
    ("job",),
)
ITEM_DUPLICATES = Metric(
    "gossamer_item_duplicates_total",
    _COUNTER,
    "Items that were stored although the job had them already.",
    ("job",),
    _FLEET,
)
ITEMS_DROPPED = Metric(
    "gossamer_items_dropped_total", _COUNTER, "Items that were dropped, by the reason.", ("job", "reason")
)
RETRIES = Metric("gossamer_retries_total", _COUNTER, "Attempts after which the request is retried.", ("job",))
HOST_ATTEMPTS = Metric(
    "gossamer_host_attempts_total",
    _COUNTER,
    "Attempts by host and verdict: of the twenty hosts with most, and of all others together.",
    ("job", "host", "outcome"),
    _PROCESS,
)
SPIDER_STAT = Metric(
    "gossamer_spider_stat",
    _GAUGE,
    "A spider's own counters (self.stats), by name: at most 100 names of a job.",
    ("job", "name"),
)
ITEM_QUALITY = Metric(
    "gossamer_item_quality",
    _GAUGE,
    "How good the items of a job were when it ended, from 0 to 1: the score of `gossamer report quality`.",
    ("job",),
    _FLEET,
)
DEAD_LETTERS = Metric("gossamer_dead_letters", _GAUGE, "Requests that were given up.", ("job",))
FRONTIER_REQUESTS = Metric("gossamer_frontier_requests", _GAUGE, "Requests in each state.", ("job", "state"))
DUE_REQUESTS = Metric(
    "gossamer_frontier_due_requests",
    _GAUGE,
    "Requests that may start now, by lane; a lower bound if very many hosts wait.",
    ("job", "lane"),
    _FLEET,
)
OLDEST_WAITING = Metric(
    "gossamer_frontier_oldest_waiting_seconds",
    _GAUGE,
    "For how long the first of the requests that may start now could have started.",
    ("job",),
    _FLEET,
)
SHIFTS = Metric(
    "gossamer_shifts", _GAUGE, "Shifts that were asked for or are at work.", ("job", "lane", "state"), _FLEET
)
WORKERS = Metric(
    "gossamer_workers",
    _GAUGE,
    "Workers of the fleet, by state (silent: without a recent sign of life).",
    ("state",),
    _FLEET,
)
PROXIES = Metric(
    "gossamer_proxies",
    _GAUGE,
    "Proxies of each provider (empty: of no section), in use or quarantined.",
    ("pool", "state"),
    _FLEET,
)
STORE_LAG = Metric(
    "gossamer_store_lag_seconds",
    _GAUGE,
    "How long the latest commit of results took, or the oldest one under way has taken so far; of a fleet, "
    "how long the store takes to answer its supervisor.",
)
ALERT_ACTIVE = Metric(
    "gossamer_alert_active",
    _GAUGE,
    "An alert of Gossamer's own that lasts (1), with the job and whatever else it is about.",
    ("alert", "job", "who"),
    _FLEET,
)
LOOP_LAG = Metric(
    "gossamer_event_loop_lag_seconds",
    _GAUGE,
    "By how much the event loop was late, at most, in the last 15 seconds.",
    (),
    _PROCESS,
)
IN_FLIGHT = Metric(
    "gossamer_in_flight_requests", _GAUGE, "Requests in the hands of this process.", (), _PROCESS
)
SHIFT_ENDS = Metric(
    "gossamer_shift_ends_total", _COUNTER, "Shifts of this worker that ended, by why.", ("why",), _PROCESS
)
WORKER_SLOTS = Metric(
    "gossamer_worker_slots", _GAUGE, "Shifts that workers can work on at once, by lane.", ("lane",)
)
SCRAPE_DURATION = Metric(
    "gossamer_scrape_duration_seconds", _GAUGE, "Seconds that it took to read these metrics."
)

METRICS = {metric.name: metric for metric in tuple(globals().values()) if isinstance(metric, Metric)}
"""All metrics by name, in order."""


def state_samples(stats: FrontierStats, shown: str) -> Iterator[MetricSample]:
    """Yield the samples of a frontier, without the job's label; ``shown`` is the job's state."""
    yield MetricSample(JOB_INFO, 1, (shown,))
    yield MetricSample(DEAD_LETTERS, stats.dead)
    for state in RequestState:
        yield MetricSample(FRONTIER_REQUESTS, getattr(stats, state.value), (state.value,))


def spider_samples(values: Mapping[str, float]) -> Iterator[MetricSample]:
    """Yield a spider's own counters, without the job's label."""
    for name, value in values.items():
        yield MetricSample(SPIDER_STAT, value, (name,))


_FAILURES = frozenset(fault.value for fault, row in FAULTS.items() if row.kind is not FaultKind.SETTLED)
_NO_FAILURES = frozenset({"", *(fault.value for fault in FAULTS), *(reason.value for reason in LedgerReason)})


def failure_of(reason: str) -> str:
    """Return the label of a failed attempt's reason; empty for a request skipped on purpose."""
    if reason in _FAILURES:
        return reason
    return "" if reason in _NO_FAILURES else OTHER


def drop_label(reason: str) -> str:
    """Return the label of the reason of a drop by users' code: short, and without secrets of URLs."""
    return one_line(hide_parameters(hide_userinfo(reason[:1000])), DROP_TEXT)


def code_of(digit: int) -> str:
    """Return the label of a status's first digit, as ``2xx``; ``none`` for 0: without an answer."""
    return f"{digit}xx" if digit else NO_ANSWER


class LatencyCounts(NamedTuple):
    """Counts of times by upper bounds."""

    counts: tuple[int, ...]  # of each bound alone; the last one counts longer times
    total_s: float


class MetricSample(NamedTuple):
    """One value of a metric."""

    metric: Metric
    value: float | LatencyCounts
    labels: tuple[str, ...] = ()
