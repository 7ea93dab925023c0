"""Samples of what store and roster say; the same read on real back ends is in the contract of queries."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from gossamer.config.settings import Settings
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import FrontierStats, Job, JobTotals
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.shifts import SILENT_S, RosterView, Shift, ShiftState, WorkerInfo, WorkerState
from gossamer.frontier.memory.frontier import MemoryFrontier
from gossamer.observe import metrics as metrics_of
from gossamer.observe.metrics import PAGES, MetricSample
from gossamer.policy.job_life import end_run
from gossamer.policy.troubles import TroubleKind, make_trouble
from gossamer.queries import metrics
from gossamer.queries.metrics import (
    CrawlFacts,
    MetricsReader,
    alert_samples,
    job_samples,
    proxy_samples,
    roster_samples,
    total_samples,
)
from gossamer.queries.proxies import ProxyStatus
from gossamer.shared.memory import MemorySharedState
from gossamer.store.memory.jobs import MemoryJobStore
from gossamer.store.memory.profiles import MemoryProfileStore
from gossamer.store.memory.store import MemoryStore
from gossamer.testing.clock import ManualClock
from kit.scraping import lint, show


def of_job(samples):
    return show(
        sample._replace(labels=("shop-1", *sample.labels)) if sample.metric.labels[:1] == ("job",) else sample
        for sample in samples
    )


@pytest.mark.server
def test_totals_are_told_as_they_are() -> None:
    totals = JobTotals(
        pages=8,
        items=5,
        duplicates=2,
        attempts=12,
        retries=3,
        bytes=900,
        dropped={"item:price": 4, "link:offsite": 7},
        by_status={"200": 8, "404": 1, "503": 2},
        by_reason={"throttled": 2, "gone": 1, "connect": 1, "odd": 1},
        by_outcome={"success:http": 7, "success:gateway:zyte": 1, "retry:": 1, "retry:http": 2},
        by_latency={"10": 3, "100": 5, "inf": 1},
        latency_sum_s=71.5,
    )
    found = of_job(total_samples(totals))
    job = {"job": "shop-1"}
    assert found.value("attempts_total", outcome="success", rung="gateway:zyte", **job) == 1
    assert found.value("attempts_total", outcome="retry", rung="", **job) == 1
    assert found.value("attempts_total", outcome="other", rung="", **job) == 1, "of a former version"
    assert found.by("responses_total", "code") == {"2xx": 8, "4xx": 1, "5xx": 2, "none": 1}
    assert found.by("failures_total", "reason") == {"throttled": 2, "connect": 1, "other": 1}
    assert found.value("items_total", **job) == 7
    assert found.value("item_duplicates_total", **job) == 2
    assert found.by("items_dropped_total", "reason") == {"price": 4}
    assert found.value("fetch_duration_seconds_bucket", le="0.05", **job) == 3
    assert found.value("fetch_duration_seconds_count", **job) == 9
    assert found.value("fetch_duration_seconds_sum", **job) == 71.5
    assert lint(found.text) == ""


def test_drops_by_many_reasons_are_bounded() -> None:
    totals = JobTotals(dropped={f"item:{number}": number + 1 for number in range(metrics.DROPS + 10)})
    dropped = of_job(total_samples(totals)).by("items_dropped_total", "reason")
    assert len(dropped) == metrics.DROPS + 1
    assert dropped["other"] == sum(range(1, 11))


def test_reasons_of_drops_are_short_and_have_no_secrets() -> None:
    """Users' code gives them, and what it says may quote a URL."""
    url = "https://me:hush@a.example/1?api_key=hush&page=2"
    totals = JobTotals(dropped={f"item:no price at {url}": 2, f"item:{'x' * 90}1": 3, f"item:{'x' * 90}2": 4})
    assert of_job(total_samples(totals)).by("items_dropped_total", "reason") == {
        "no price at https://***@a.example/1?api_key=***&page=2": 2,
        f"{'x' * 79}…": 7,
    }


def test_who_is_silent_has_no_slots() -> None:
    here = WorkerInfo(id="a", slots=3, lanes=("http", "seed"), beat_at=99.0)
    workers = (
        here,
        replace(here, id="b", state=WorkerState.DRAINING),
        replace(here, id="c", beat_at=100.0 - SILENT_S),
    )
    shifts = [Shift(id=str(number), job="shop-1", lane="http") for number in range(3)]
    shifts[0] = replace(shifts[0], state=ShiftState.WORKING)
    found = show(
        roster_samples(RosterView(at=100.0, workers=workers, shifts=tuple(shifts)), ("http", "browser"))
    )
    assert found.by("workers", "state") == {"working": 1, "draining": 1, "paused": 0, "silent": 1}
    assert found.by("worker_slots", "lane") == {"http": 3, "browser": 0, "seed": 3}
    assert found.by("shifts", "state") == {"asked": 2, "working": 1}


def proxy(provider, until=None):
    fields = dict.fromkeys(("answers", "blocks", "failures", "latency_s", "quarantines"), 0)
    return ProxyStatus(
        name="p", provider=provider, kind="", country="", quarantined_until=until, blocked_hosts=(), **fields
    )


def test_proxies_are_told_by_provider() -> None:
    found = show(proxy_samples([proxy("acme"), proxy("acme", 9.0), proxy("acme"), proxy("")]))
    assert found.value("proxies", pool="acme", state="in_use") == 2
    assert found.value("proxies", pool="acme", state="quarantined") == 1
    assert found.value("proxies", pool="", state="in_use") == 1


def test_alerts_that_last_are_told() -> None:
    alert = make_trouble(TroubleKind.HOST_FAILS, 'a"b', "bad", job="shop-1", since=1.0)
    found = show(alert_samples([alert]))
    assert found.samples == {
        ("gossamer_alert_active", frozenset({("alert", "host_fails"), ("job", "shop-1"), ("who", 'a"b')})): 1
    }


async def test_many_readers_at_once_cost_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []

    async def read_all(self: MetricsReader) -> list[MetricSample]:
        looks.append(1)
        return []

    monkeypatch.setattr(MetricsReader, "_read_all", read_all)
    reader = MetricsReader(Settings(), SimpleNamespace())
    first = await reader.read_samples()
    assert await reader.read_samples() is first
    assert len(looks) == 1
    monkeypatch.setattr(metrics, "FRESH_S", 0.0)
    await reader.read_samples()
    assert len(looks) == 2


async def test_a_job_that_ends_is_told_of_for_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "FRESH_S", 0.0)
    clock = ManualClock()
    book = MemoryJobStore(clock)
    frontiers = {}

    def open_frontier(job):
        return frontiers.setdefault(job.id, MemoryFrontier(FrontierRules(), clock))

    async def at_work(job):
        return "1"

    requests = SimpleNamespace(fleet=None, shared=MemorySharedState(clock))
    backends = SimpleNamespace(
        clock=clock,
        book=book,
        store=MemoryStore(),
        requests=requests,
        profiles=MemoryProfileStore(),
        settings=Settings(),
        open_frontier=open_frontier,
        at_work=at_work,
    )
    reader = MetricsReader(Settings(), backends)

    async def told() -> set[str]:
        samples = await reader.read_samples()
        return {sample.labels[0] for sample in samples if sample.metric is PAGES}

    looks = []
    list_jobs = book.list_jobs
    monkeypatch.setattr(book, "list_jobs", lambda **only: looks.append(only) or list_jobs(**only))
    job = await book.create("shop", "shop.py")
    assert await told() == {job.id}
    clock.advance(5.0)
    await book.update(replace(job, state=JobState.FINISHED, finished_at=clock.now()))
    short = await book.create("short", "short.py")
    await book.update(replace(short, state=JobState.FINISHED, finished_at=clock.now()))
    assert await told() == {job.id}, "it has ended since"
    assert looks.count({}) == 1, "all jobs are not looked at each time"
    clock.advance(metrics.LISTED_S)
    assert await told() == {job.id, short.id}
    clock.advance(metrics.ENDED_S)
    assert await told() == set()


async def test_the_profiles_of_all_jobs_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock()
    book, profiles = MemoryJobStore(clock), MemoryProfileStore()
    backends = SimpleNamespace(
        clock=clock,
        book=book,
        store=MemoryStore(),
        requests=SimpleNamespace(fleet=None, shared=MemorySharedState(clock)),
        profiles=profiles,
        settings=Settings(),
        open_frontier=lambda job: MemoryFrontier(FrontierRules(), clock),
    )
    for name in ("one", "two", "three"):
        job = await book.create(name, f"{name}.py")
        await book.update(end_run(job, FinishReason.FINISHED, JobState.FINISHED, clock.now()))
    reads, read_all = [], profiles.read_profiles
    monkeypatch.setattr(profiles, "read_profiles", lambda jobs: reads.append(len(jobs)) or read_all(jobs))
    await MetricsReader(Settings(), backends).read_samples()
    assert reads == [3]


def test_a_job_whose_run_ended_with_work_left_is_told_as_the_command_line_tells_it() -> None:
    """A bug it would catch: it is running, for as long as nobody continues it."""
    job = Job(id="shop-1", name="shop", target="shop", created_at=1.0)
    ended = end_run(job, FinishReason.SKIPPED, JobState.RUNNING, 2.0)
    running, finished = JobState.RUNNING, JobState.FINISHED
    for stats in (*(FrontierStats(state=state, pending=1) for state in (running, finished)), None):
        told = job_samples(CrawlFacts(ended, JobTotals(), stats))
        (sample,) = (one for one in told if one.metric is metrics_of.JOB_INFO)
        assert sample.labels == ("unfinished",)
