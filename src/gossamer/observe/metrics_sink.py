"""Counts of one process for metrics: cheap for every page, and bounded for every crawl.

Events come from the thread of the event loop; another thread may read the samples. It reads copies, so a
sample may be one page older than another.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from gossamer.core.drops import DropKind
from gossamer.core.events import Event, JobFinishedEvent, PageDoneEvent, ProgressEvent, ShiftEndedEvent
from gossamer.core.jobs import FrontierStats
from gossamer.core.results import Verdict
from gossamer.core.series import LATENCY_BOUNDS_MS
from gossamer.observe import metrics
from gossamer.observe.host_counts import HostCounts
from gossamer.observe.metrics import OTHER, LatencyCounts, Metric, MetricSample, drop_label, failure_of
from gossamer.observe.text import one_line
from gossamer.policy.counter_rules import merge_counts
from gossamer.policy.job_life import state_after
from gossamer.policy.spider_stats import read_counters
from gossamer.version import __version__

JOBS = 50
"""Maximum jobs with their own counts; the one with the oldest event makes room."""
DROPS = 50
"""Maximum reasons of drops by users' code with their own counts."""

AttemptKey = tuple[Verdict, str, int, str]
"""Verdict, rung, first digit of the status, label of the failure."""


class MetricsSink:
    """Port ``Sink``, and a ``WorkWatcher``: what this process did, as samples.

    ``monotonic`` tells the time for what takes long. ``loop_lag`` says by how much the event loop is late.
    """

    def __init__(
        self,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        loop_lag: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._monotonic = monotonic
        self._loop_lag = loop_lag
        self._jobs: dict[str, JobCounts] = {}
        self._shift_ends: dict[str, int] = {}
        self._load: Callable[[], int] | None = None
        self._slots: dict[str, int] = {}
        self._commits: dict[int, float] = {}  # under way: since when
        self._latest_commit_s: float | None = None
        self._next_commit = 0

    # ------------------------------------------------------------------ what happens

    def emit(self, event: Event) -> None:
        """Count one event."""
        if isinstance(event, PageDoneEvent):
            (self._jobs.get(event.job) or self._open_job(event.job)).count_page(event)
        elif isinstance(event, ProgressEvent):
            (self._jobs.get(event.job) or self._open_job(event.job)).count_requests(event)
        elif isinstance(event, JobFinishedEvent) and event.job in self._jobs:
            self._jobs[event.job].reason = event.reason
        elif isinstance(event, ShiftEndedEvent):
            self._shift_ends[event.why] = self._shift_ends.get(event.why, 0) + 1

    def watch_work(self, load: Callable[[], int], slots: dict[str, int]) -> None:
        """See :class:`~gossamer.ports.work_watcher.WorkWatcher`."""
        self._load, self._slots = load, slots

    def begin_commit(self) -> int:
        """See :class:`~gossamer.ports.work_watcher.WorkWatcher`."""
        self._next_commit += 1
        self._commits[self._next_commit] = self._monotonic()
        return self._next_commit

    def end_commit(self, number: int) -> None:
        """See :class:`~gossamer.ports.work_watcher.WorkWatcher`."""
        self._latest_commit_s = self._monotonic() - self._commits.pop(number)

    def _open_job(self, job: str) -> JobCounts:
        if len(self._jobs) >= JOBS:
            del self._jobs[min(self._jobs, key=lambda known: self._jobs[known].heard_at)]
        found = self._jobs[job] = JobCounts()
        return found

    # ------------------------------------------------------------------ events

    def read_samples(self) -> Iterator[MetricSample]:
        """Yield all current samples; the last one is the time that this took."""
        began = self._monotonic()
        yield MetricSample(metrics.BUILD_INFO, 1, (__version__,))
        for job, counts in self._jobs.copy().items():
            for sample in counts.read_samples():
                yield sample._replace(labels=(one_line(job, 100), *sample.labels))
        for why, number in self._shift_ends.copy().items():
            yield MetricSample(metrics.SHIFT_ENDS, number, (why,))
        if self._load is not None:
            yield MetricSample(metrics.IN_FLIGHT, self._load())
        for lane, slots in self._slots.items():
            yield MetricSample(metrics.WORKER_SLOTS, slots, (lane,))
        yield MetricSample(metrics.LOOP_LAG, self._loop_lag())
        if (lag_s := self._store_lag_s()) is not None:
            yield MetricSample(metrics.STORE_LAG, lag_s)
        yield MetricSample(metrics.SCRAPE_DURATION, self._monotonic() - began)

    def _store_lag_s(self) -> float | None:
        now = self._monotonic()
        under_way = [now - since for since in self._commits.copy().values()]
        latest = [] if self._latest_commit_s is None else [self._latest_commit_s]
        return max((*under_way, *latest), default=None)


class JobCounts:
    """The work of this process for one job."""

    __slots__ = (
        "attempts", "bytes", "counted", "dropped", "heard_at", "hosts", "items", "latencies", "latency_ms",
        "pages", "reason", "stats",
    )  # fmt: skip

    def __init__(self) -> None:
        self.heard_at = 0.0  # by the latest event
        self.reason = ""  # for which its latest run ended; empty while it runs
        self.pages = self.items = self.bytes = 0
        self.attempts: defaultdict[AttemptKey, int] = defaultdict(int)
        self.latencies = [0] * (len(LATENCY_BOUNDS_MS) + 1)
        self.latency_ms = 0.0
        self.dropped: dict[str, int] = {}
        self.hosts = HostCounts()
        self.counted: dict[str, int] = {}  # by the spider itself
        self.stats: FrontierStats | None = None

    def count_page(self, event: PageDoneEvent) -> None:
        """Count one attempt."""
        attempt = event.attempt
        status, verdict = attempt.status, attempt.verdict
        self.heard_at = event.at
        self.pages += event.is_page
        self.items += event.items
        if event.dropped:
            self._count_drops(event.dropped)
        if event.stats:
            merge_counts(self.counted, event.stats)
        if status:
            self.bytes += attempt.size_bytes
            self.latency_ms += attempt.elapsed_ms
            self.latencies[bisect_left(LATENCY_BOUNDS_MS, attempt.elapsed_ms)] += 1
        elif verdict is Verdict.SKIPPED:  # without a request
            return
        failure = failure_of(attempt.reason) if attempt.reason else ""
        self.attempts[verdict, attempt.rung, status // 100, failure] += 1
        self.hosts.count_attempt(event.host, verdict)

    def count_requests(self, event: ProgressEvent) -> None:
        """Note the state of the frontier."""
        self.heard_at, self.stats, self.reason = event.at, event.stats, ""

    def _count_drops(self, dropped: Mapping[str, int]) -> None:
        for text, number in DropKind.ITEM.select_from(dropped).items():
            reason = drop_label(text)
            reason = reason if reason in self.dropped or len(self.dropped) < DROPS else OTHER
            self.dropped[reason] = self.dropped.get(reason, 0) + number

    def read_samples(self) -> Iterator[MetricSample]:
        """Yield the samples, without the job's label."""
        latencies = LatencyCounts(tuple(self.latencies), self.latency_ms / 1000)
        attempts = self.attempts.copy()
        yield MetricSample(metrics.PAGES, self.pages)
        yield from _sum_samples(metrics.ATTEMPTS, attempts, lambda key: (key[0].value, key[1]))
        yield from _sum_samples(metrics.RESPONSES, attempts, lambda key: (metrics.code_of(key[2]),))
        yield from _sum_samples(metrics.FAILURES, attempts, lambda key: (key[3],) if key[3] else None)
        retries = sum(number for key, number in attempts.items() if key[0] is Verdict.RETRY)
        yield MetricSample(metrics.RETRIES, retries)
        yield MetricSample(metrics.FETCH_DURATION, latencies)
        yield MetricSample(metrics.RECEIVED_BYTES, self.bytes)
        yield MetricSample(metrics.ITEMS, self.items)
        for reason, number in self.dropped.copy().items():
            yield MetricSample(metrics.ITEMS_DROPPED, number, (reason,))
        for host, outcome, number in self.hosts.read_counts():
            yield MetricSample(metrics.HOST_ATTEMPTS, number, (host, outcome))
        yield from metrics.spider_samples(read_counters(self.counted.copy()))
        if self.stats is not None:
            yield from metrics.state_samples(self.stats, state_after(self.stats.state, self.reason))


def _sum_samples(
    metric: Metric,
    counts: Mapping[AttemptKey, int],
    label: Callable[[AttemptKey], tuple[str, ...] | None],
) -> Iterator[MetricSample]:
    """Yield the sums of counts by labels; counts without labels (``None``) are left out."""
    sums: defaultdict[tuple[str, ...], int] = defaultdict(int)
    for key, number in counts.items():
        if (labels := label(key)) is not None:
            sums[labels] += number
    for labels, number in sums.items():
        yield MetricSample(metric, number, labels)
