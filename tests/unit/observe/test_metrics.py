"""What a process counts for Prometheus: right, bounded, and by its conventions."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.errors import Fault, LedgerReason
from gossamer.core.events import JobFinishedEvent, PageDoneEvent, ProgressEvent, ShiftEndedEvent
from gossamer.core.jobs import FrontierStats
from gossamer.core.lifecycle import JobState
from gossamer.core.results import Attempt, Verdict
from gossamer.core.series import LATENCY_BOUNDS_MS
from gossamer.core.shifts import EndReason
from gossamer.observe import host_counts
from gossamer.observe.host_counts import HostCounts
from gossamer.observe.metrics import (
    METRICS,
    LatencyCounts,
    MetricKind,
    MetricSample,
    failure_of,
)
from gossamer.observe.metrics_sink import DROPS, JOBS, MetricsSink
from gossamer.version import __version__
from kit.scraping import lint, show

SUCCESS, RETRY, SKIPPED, DEAD = Verdict.SUCCESS, Verdict.RETRY, Verdict.SKIPPED, Verdict.DEAD


def done(verdict: Verdict = SUCCESS, status: int = 200, at: float = 1.0, **fields: Any) -> PageDoneEvent:
    event = {name: fields.pop(name) for name in [*fields] if name in PageDoneEvent.__struct_fields__}
    attempt = {"url": "http://a.example/", "fingerprint": 1, "rung": "http", **fields}
    tried = Attempt(at=at, verdict=verdict, status=status, **attempt)
    return PageDoneEvent(**{"at": at, "job": "shop-1", "attempt": tried, "host": "a.example", **event})


def shown(*events: Any) -> Any:
    sink = MetricsSink()
    for event in events:
        sink.emit(event)
    return show(sink.read_samples())


# --------------------------------------------------------------------------- the table


def test_names_and_units_follow_the_conventions() -> None:
    assert len(METRICS) > 15
    for metric in METRICS.values():
        assert re.fullmatch(r"gossamer_[a-z_]+", metric.name)
        assert metric.name.endswith("_total") == (metric.kind is MetricKind.COUNTER), metric.name
        assert metric.name.endswith("_info") == (metric.kind is MetricKind.INFO), metric.name
        assert not re.search(r"_(ms|millis|minutes|hours|kb|mb|percent)(_|$)", metric.name)
        assert re.fullmatch(r"[A-Z].*\.", metric.meaning), metric.name
        assert metric.sources
        assert len(set(metric.labels)) == len(metric.labels)


@pytest.mark.server
def test_every_metric_can_be_shown_and_promtool_has_nothing_to_say() -> None:
    latencies = LatencyCounts((1,) * (len(LATENCY_BOUNDS_MS) + 1), 2.5)
    found = show(
        MetricSample(metric, latencies if metric.kind is MetricKind.HISTOGRAM else 1, metric.labels)
        for metric in METRICS.values()
    )
    for metric in METRICS.values():
        assert f"# HELP {metric.name} {metric.meaning}" in found.text
        kind = "gauge" if metric.kind is MetricKind.INFO else metric.kind.value
        assert f"# TYPE {metric.name} {kind}\n" in found.text
    assert lint(found.text) == ""


@pytest.mark.server
def test_promtool_does_look() -> None:
    assert "no help text" in lint("# TYPE some_total gauge\nsome_total 1\n")


# --------------------------------------------------------------------------- counting


def test_what_happens_is_counted_by_job() -> None:
    found = shown(
        done(is_page=True, items=3, size_bytes=1000, elapsed_ms=30.0),
        done(is_page=True, items=1, size_bytes=500, elapsed_ms=50.0, rung="browser"),
        done(RETRY, 503, reason=Fault.THROTTLED.value, elapsed_ms=70_000.0),
        done(RETRY, 0, reason=Fault.CONNECT.value),
        done(DEAD, 500, reason=Fault.SERVER.value, elapsed_ms=1.0, host="b.example"),
        done(SKIPPED, 404, reason=Fault.GONE.value, elapsed_ms=1.0),
        done(SKIPPED, 0, reason=Fault.ROBOTS.value),
        done(is_page=True, job="other-1", items=7),
    )
    job = {"job": "shop-1"}
    assert found.value("pages_total", **job) == 2
    assert found.value("items_total", **job) == 4
    assert found.value("received_bytes_total", **job) == 1500
    assert found.value("retries_total", **job) == 2
    assert found.value("attempts_total", outcome="success", rung="browser", **job) == 1
    assert found.total("attempts_total", **job) == 6, "nobody was asked where robots.txt says no"
    assert found.by("responses_total", "code") == {"2xx": 3, "4xx": 1, "5xx": 2, "none": 1}
    assert found.by("failures_total", "reason") == {"throttled": 1, "connect": 1, "server": 1}
    assert found.value("host_attempts_total", host="b.example", outcome="dead", **job) == 1
    assert found.value("fetch_duration_seconds_count", **job) == 5
    assert found.value("fetch_duration_seconds_sum", **job) == pytest.approx(70.082)
    assert found.value("fetch_duration_seconds_bucket", le="0.05", **job) == 4, "bounds are included"
    assert found.value("fetch_duration_seconds_bucket", le="60.0", **job) == 4
    assert found.value("items_total", job="other-1") == 7
    assert found.value("build_info", version=__version__) == 1


def test_what_drops_items_is_told_apart_up_to_a_bound() -> None:
    reasons = [f"price {number}" for number in range(DROPS + 10)]
    found = shown(*(done(dropped={f"item:{reason}": 1, "link:offsite": 4}) for reason in reasons))
    dropped = found.by("items_dropped_total", "reason")
    assert dropped == {**dict.fromkeys(reasons[:DROPS], 1), "other": 10}


def test_jobs_are_bounded_and_the_one_not_heard_of_for_longest_makes_room() -> None:
    events = [done(job=f"job-{number}", at=float(number)) for number in range(JOBS)]
    found = shown(*events, done(job="job-0", at=99.0), done(job="new", at=100.0))
    kept = set(found.by("pages_total", "job"))
    assert kept == {f"job-{number}" for number in range(JOBS) if number != 1} | {"new"}


def test_reasons_are_of_a_fixed_set() -> None:
    assert failure_of(Fault.SERVER.value) == "server"
    assert failure_of("what users' code said") == "other"
    for reason in ("", Fault.ROBOTS.value, Fault.GONE.value, *LedgerReason):
        assert failure_of(reason) == ""


def test_the_frontier_is_shown_as_it_stands() -> None:
    stats = FrontierStats(state=JobState.PAUSED, pending=5, delayed=4, leased=3, done=2, dead=1)
    found = shown(ProgressEvent(at=1.0, job="shop-1", stats=stats))
    states = {"pending": 5, "delayed": 4, "leased": 3, "done": 2, "dead": 1}
    assert found.by("frontier_requests", "state") == states
    assert found.value("dead_letters", job="shop-1") == 1
    assert found.value("job_info", job="shop-1", state="paused") == 1


def test_a_run_that_ended_with_work_left_is_unfinished_until_it_goes_on() -> None:
    """As the command line shows it."""
    going = ProgressEvent(at=1.0, job="shop-1", stats=FrontierStats(state=JobState.RUNNING, pending=5))
    ended = JobFinishedEvent(at=2.0, job="shop-1", reason="signal")
    assert shown(going).by("job_info", "state") == {"running": 1}
    assert shown(going, ended).by("job_info", "state") == {"unfinished": 1}
    assert shown(going, ended, going).by("job_info", "state") == {"running": 1}


def test_a_worker_says_what_it_has_in_hand_and_how_its_shifts_end() -> None:
    sink = MetricsSink(loop_lag=lambda: 0.25)
    sink.watch_work(lambda: 12, {"http": 2, "browser": 2})
    for why in (EndReason.IDLE, EndReason.IDLE, EndReason.TIME):
        sink.emit(ShiftEndedEvent(at=1.0, job="shop-1", lane="http", why=why))
    found = show(sink.read_samples())
    assert found.value("in_flight_requests") == 12
    assert found.by("worker_slots", "lane") == {"http": 2, "browser": 2}
    assert found.by("shift_ends_total", "why") == {"idle": 2, "time": 1}
    assert found.value("event_loop_lag_seconds") == 0.25


def test_the_store_lags_by_the_latest_commit_and_by_those_under_way() -> None:
    now = 100.0
    sink = MetricsSink(monotonic=lambda: now)
    assert "store_lag" not in show(sink.read_samples()).text, "nothing was stored yet"
    first, second = sink.begin_commit(), sink.begin_commit()
    now += 2.0
    sink.end_commit(second)
    assert show(sink.read_samples()).value("store_lag_seconds") == 2.0
    now += 3.0
    assert show(sink.read_samples()).value("store_lag_seconds") == 5.0, "one waits still"
    sink.end_commit(first)
    now += 60.0
    assert show(sink.read_samples()).value("store_lag_seconds") == 5.0
    sink.end_commit(sink.begin_commit())
    assert show(sink.read_samples()).value("store_lag_seconds") == 0.0


def test_labels_that_strangers_wrote_stay_labels() -> None:
    hostile = 'a"}\n# HELP evil\nevil 1\\\ud800\u202e'
    found = shown(done(host=hostile, job=hostile, dropped={f"item:{hostile}": 1}))
    assert "\nevil" not in found.text
    assert {name for name, _ in found.samples if "evil" in name} == set()
    assert all("gossamer" in name for name, _ in found.samples)
    assert len(shown(done(host="x" * 100_000)).text) < 20_000


# --------------------------------------------------------------------------- hosts


def counts_of(counts: HostCounts) -> dict[tuple[str, str], int]:
    return {(host, verdict): number for host, verdict, number in counts.read_counts()}


def test_the_hosts_with_most_attempts_are_told_apart() -> None:
    counts = HostCounts()
    for number in range(100):  # one page of each of a hundred hosts, then many of one that came late
        counts.count_attempt(f"{number}.example", SUCCESS)
    for _ in range(1000):
        counts.count_attempt("late.example", SUCCESS)
    found = counts_of(counts)
    assert len(found) == host_counts.SHOWN + 1
    assert found["late.example", "success"] > 950
    assert sum(found.values()) == 1100


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 40)), max_size=60))
def test_no_count_of_hosts_falls_and_none_is_lost(steps: list[tuple[int, int]]) -> None:
    counts, total = HostCounts(), 0
    before: dict[tuple[str, str], int] = {}
    for host, times in steps:
        for _ in range(times):
            counts.count_attempt(f"{host}.example", SUCCESS)
        total += times
        found = counts_of(counts)
        assert sum(found.values()) == total
        assert len(found) <= host_counts.SHOWN + 1
        assert all(number >= before.get(key, 0) for key, number in found.items())
        before = found


def test_the_hosts_of_a_broad_crawl_take_bounded_memory() -> None:
    counts = HostCounts()
    for number in range(20_000):
        counts.count_attempt(f"{number}.example", SUCCESS)
    assert len(counts._seen) <= 4 * host_counts.KEPT + 1
    assert sum(counts_of(counts).values()) == 20_000
