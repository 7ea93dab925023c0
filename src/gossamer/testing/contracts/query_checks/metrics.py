"""Metrics of a place of crawls: the counts of its store, its frontiers and its roster, and no others."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from gossamer.config.settings import Settings
from gossamer.core.errors import Fault
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.results import ItemRecord, Verdict
from gossamer.core.shifts import WorkerInfo
from gossamer.observe.metrics import LatencyCounts, MetricSample
from gossamer.policy.alert_readings import PlaceLook
from gossamer.policy.alerts import AlertState
from gossamer.policy.job_memory import JobMemory, PlaceMemory
from gossamer.policy.job_profile import JobProfile, encode_profile
from gossamer.policy.troubles import TroubleKind
from gossamer.queries.metrics import ENDED_S, MetricsReader
from gossamer.testing.contracts.frontier_harness import make_entry
from gossamer.testing.contracts.query_harness import QueryHarness, register_check
from gossamer.testing.contracts.suite import assert_equal, assert_holds
from gossamer.watch.memories import place_of_crawl, place_of_fleet, save_job_memory, save_place_memory

ITEM = ItemRecord(type="item", key="1", data=b'{"a":1}', hash=1)


async def _read_values(w: QueryHarness) -> dict[tuple[str, ...], float]:
    """By name and labels, times aside; each is there once."""
    samples = await MetricsReader(Settings(), w.backends).read_samples()
    found = {(sample.metric.name.removeprefix("gossamer_"), *sample.labels): sample for sample in samples}
    assert_equal(len(found), len(samples), "no sample is there twice")
    return {key: one.value for key, one in found.items() if not isinstance(one.value, LatencyCounts)}


def _jobs_of(samples: Sequence[MetricSample]) -> set[str]:
    return {sample.labels[0] for sample in samples if sample.metric.name == "gossamer_pages_total"}


@register_check
async def metrics_are_the_counts_of_store_and_frontier(w: QueryHarness) -> None:
    """For each job: its counters, and the requests that wait or may start now."""
    entries = [make_entry(number, f"{number % 3}.example") for number in range(9)]
    job = await w.make_job("shop", *entries, make_entry(20, due_at=w.now() + 500.0))
    ends = dict.fromkeys(range(3), (Verdict.SUCCESS, ""))
    ends |= {3: (Verdict.RETRY, Fault.CONNECT.value), 4: (Verdict.DEAD, Fault.SERVER.value)}
    await w.end_visits(job, ends, items=[ITEM])
    totals, stats = await w.backends.store.read_totals(job), await w.open_frontier(job).read_stats()
    (due,) = await w.open_frontier(job).count_due()
    found = await _read_values(w)
    assert_equal(found["pages_total", job.id], totals.pages, "pages are those of the store")
    assert_equal(found["items_total", job.id], totals.items, "items are those of the store")
    assert_equal(found["received_bytes_total", job.id], totals.bytes, "bytes are those of the store")
    attempts = {key: value for key, value in found.items() if key[:2] == ("attempts_total", job.id)}
    assert_equal(sum(attempts.values()), totals.attempts, "each attempt is counted once")
    codes = {key[2]: value for key, value in found.items() if key[:2] == ("responses_total", job.id)}
    assert_equal(codes, {"2xx": 4, "none": 1}, "answers are reported by class")
    assert_equal(found["failures_total", job.id, "server"], 1, "failures are reported by reason")
    for state in ("pending", "delayed", "leased", "done", "dead"):
        shown = found["frontier_requests", job.id, state]
        assert_equal(shown, getattr(stats, state), f"{state} is that of the frontier")
    assert_equal(found["dead_letters", job.id], 1, "dead letters are reported")
    assert_equal(found["frontier_due_requests", job.id, "http"], due.requests, "due requests are reported")
    assert_holds(0 <= found["frontier_oldest_waiting_seconds", job.id] < 300, "and since when")


@register_check
async def metrics_are_of_jobs_that_run_and_of_those_that_ended_lately(w: QueryHarness) -> None:
    """A job that ended long ago is left out."""
    for name, ended_s in (("late", 60.0), ("old", ENDED_S + 60.0)):
        job = await w.make_job(name, make_entry(1))
        ended = replace(
            job, state=JobState.FINISHED, end_reason=FinishReason.FINISHED, finished_at=w.now() - ended_s
        )
        await w.backends.book.update(ended)
    job = await w.make_job("open", make_entry(1))
    reader = MetricsReader(Settings(), w.backends)
    told = _jobs_of(await reader.read_samples())
    assert_equal(told, {"late-1", "open-1"}, "jobs that run, and those that ended lately")
    await w.backends.book.update(replace(job, state=JobState.FINISHED, finished_at=w.now()))
    await w.make_job("new", make_entry(1))
    again = MetricsReader(Settings(), w.backends)
    assert_equal(
        _jobs_of(await again.read_samples()), {*told, "new-1"}, "a job that has just ended is reported"
    )


@register_check
async def metrics_have_the_quality_of_the_items_of_a_job_that_ended(w: QueryHarness) -> None:
    """Its score, as the report shows it."""
    job = await w.make_job("shop", make_entry(1))
    ended = replace(job, end_reason=FinishReason.FINISHED, finished_at=w.now() - 60.0)
    await w.backends.book.update(replace(ended, state=JobState.FINISHED))
    profile = JobProfile(job=job.id, at=w.now(), pages=9, items=9, sampled=9, score=0.75)
    await w.backends.profiles.save_profile(job, profile.at, encode_profile(profile))
    found = await _read_values(w)
    assert_equal(found["item_quality", job.id], 0.75, "the score")
    assert_equal(found["job_info", job.id, "finished"], 1, "its state")


def make_place_memory(now: float, lag_s: float) -> PlaceMemory:
    """The memory of a place whose store is slow."""
    alert = AlertState(kind=TroubleKind.STORE_LAG, who="store", text="slow", bad_since=1.0, began_at=2.0)
    look = PlaceLook(at=now, store_lag_s=lag_s)
    return PlaceMemory(at=now, due_at=now + 60, look=look, alerts=(alert,))


@register_check
async def metrics_of_a_crawl_of_one_machine_have_the_alerts_of_its_place(w: QueryHarness) -> None:
    """As its own process reports them of its store, while it runs."""
    job = await w.make_job("shop", make_entry(1))
    if job.is_fleet:
        return
    memory = make_place_memory(w.now(), 7.5)
    await save_place_memory(w.backends.requests.shared, place_of_crawl(job), memory)
    found = await _read_values(w)
    assert_equal(found["store_lag_seconds",], 7.5, "as the crawl has measured it")
    assert_equal(found["alert_active", "store_lag", "", "store"], 1, "its alerts are reported")


@register_check
async def metrics_have_the_alerts_that_no_look_refutes(w: QueryHarness) -> None:
    """As the list of alerts has them: requests that are read cannot be unreadable."""
    job = await w.make_job("shop", make_entry(1))
    now = w.now()
    states = tuple(
        AlertState(kind=kind, who=job.id, job=job.id, text="bad", bad_since=now - 60, began_at=now - 30)
        for kind in (TroubleKind.UNREADABLE, TroubleKind.TRAP)
    )
    memory = JobMemory(at=now, due_at=now + 60, alerts=states)
    await save_job_memory(w.backends.requests.shared, job, memory)
    found = await _read_values(w)
    told = [key[1] for key in found if key[0] == "alert_active" and key[2] == job.id]
    assert_equal(told, ["trap"], "an alert that one look refutes is over")


@register_check
async def metrics_of_a_fleet_say_who_works(w: QueryHarness) -> None:
    """Its workers, their slots by lane; nothing of a place that no fleet shares."""
    fleet = w.backends.requests.fleet
    if fleet is None:
        assert_holds(("workers", "working") not in await _read_values(w), "this back end has no fleet")
        return
    for number, lanes in enumerate((("http", "seed"), ("http", "browser"))):
        worker = WorkerInfo(id=f"h:{number}:x", slots=2, lanes=lanes)
        await fleet.roster.record_heartbeat(worker, ())
    memory = make_place_memory(w.now(), 2.5)
    await save_place_memory(w.backends.requests.shared, place_of_fleet("default"), memory)
    found = await _read_values(w)
    assert_equal(found["store_lag_seconds",], 2.5, "as the fleet's watch has measured it")
    assert_equal(found["alert_active", "store_lag", "", "store"], 1, "its alerts are reported")
    assert_holds(("alert_active", "no_supervisor", "", "fleet") not in found, "no job runs")
    await w.backends.book.create("shop", "shop.py", plan=b"plan")
    found = await _read_values(w)
    assert_equal(found["alert_active", "no_supervisor", "", "fleet"], 1, "and that it has no leader")
    assert_equal(found["workers", "working"], 2, "workers are told")
    assert_equal(found["workers", "silent"], 0, "also states without jobs")
    slots = {key[1]: value for key, value in found.items() if key[0] == "worker_slots"}
    assert_equal(slots, {"http": 4, "browser": 2, "seed": 2}, "slots are reported by lane")
