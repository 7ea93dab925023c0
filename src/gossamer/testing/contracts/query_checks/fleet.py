"""The workers of a fleet and the progress of its jobs."""

from __future__ import annotations

from gossamer.config.settings import Settings
from gossamer.core.errors import SettingError
from gossamer.core.shifts import EndReason, JobSample
from gossamer.policy.job_memory import JobMemory
from gossamer.policy.time_left import LeftReason, TimeEstimate
from gossamer.policy.troubles import TroubleKind
from gossamer.ports.backends import FleetRoster
from gossamer.queries.alerts import list_alerts
from gossamer.queries.fleet import read_fleet
from gossamer.queries.fleet_view import show_fleet
from gossamer.queries.job_workers import workers_of
from gossamer.queries.observed_jobs import observe_closely
from gossamer.queries.places import read_view
from gossamer.queries.seen_jobs import look_at_jobs
from gossamer.targets.plan import JobPlan, pack_plan
from gossamer.testing.contracts.frontier_harness import EASY, make_entry
from gossamer.testing.contracts.query_harness import QueryHarness, register_check
from gossamer.testing.contracts.roster_harness import TTL_S, make_card, make_end, make_shift
from gossamer.testing.contracts.suite import assert_equal, assert_holds
from gossamer.watch.memories import save_job_memory

SETTINGS = Settings()


@register_check
async def a_fleet_is_told_where_there_can_be_one(s: QueryHarness) -> None:
    """The supervisor, each worker with its shifts, and trouble; elsewhere a fleet is refused."""
    fleet = s.backends.requests.fleet
    if fleet is None:
        await _expect_refusal(s)
        return
    await begin_shifts(s, fleet.roster, "shop-1")
    status = await read_fleet(s.backends)
    assert_equal((status.view.leader, len(status.view.shifts)), ("s1", 2), "as the roster has it")
    busy = {worker.worker.id: worker.busy for worker in status.workers}
    assert_equal(busy, {"w1": 1, "w2": 0}, "what each worker does")
    assert_holds(all(worker.unseen_s >= 0.0 for worker in status.workers), "when it was seen")
    assert_equal([health.detail for health in status.troubles], ["no such spider"], "trouble")
    assert_holds(not status.has_more, "that is all")
    part = await read_fleet(s.backends, limit=1)
    assert_equal((len(part.workers), part.has_more), (1, True), "no more than asked for")


@register_check
async def the_pace_of_a_job_is_as_its_watch_noted(s: QueryHarness) -> None:
    """Without a watch the pace is unknown."""
    job = await s.make_job("shop", make_entry(1))
    async with s.backends.requests.lock_target(job.target):
        unknown = await observe_closely(s.backends, job)
        assert_equal((unknown.pages_per_s, unknown.left), (None, TimeEstimate()), "nobody watches it")
        now = round(s.now())
        samples = (JobSample(at=now - 60.0, pages=0), JobSample(at=now, pages=120))
        left = TimeEstimate(at=now, reason=LeftReason.KNOWN, least_s=900.0, most_s=1600.0)
        memory = JobMemory(at=now, due_at=now + 60, samples=samples, left=left)
        await save_job_memory(s.backends.requests.shared, job, memory)
        known = await observe_closely(s.backends, job)
    assert_equal(known.pages_per_s, 2.0, "by the samples")
    assert_holds(1100 < (known.left.seconds or 0) <= 1200, "as recorded, less the time passed")
    fleet = s.backends.requests.fleet
    if fleet is not None:
        await begin_shifts(s, fleet.roster, job.id)
        view = await read_view(s.backends)
        assert view is not None
        workers = workers_of(view, job.id, ("http",))
        assert_equal((workers.shifts, workers.trouble), (1, "no such spider"), "its fleet's trouble")


@register_check
async def a_machine_whose_clock_is_wrong_is_told(s: QueryHarness) -> None:
    """By how much, and what to do; a difference of a second is none."""
    fleet = s.backends.requests.fleet
    if fleet is None:
        return
    for name, ahead_s in {"w1": 57.2, "w2": -3_600.0, "w3": 0.4, "w4": None}.items():
        await fleet.roster.record_heartbeat(make_card(name, ahead_s=ahead_s), [])
    clocks = {one.worker.id: one.clock for one in (await read_fleet(s.backends)).workers}
    said = {name: clock.answer if clock else None for name, clock in clocks.items()}
    expected = {"w1": "57 s ahead of Redis", "w2": "1h 00m behind Redis", "w3": None, "w4": None}
    assert_equal(said, expected, "each by its latest beat")
    assert_holds(all("set it by NTP" in clock.reason for clock in clocks.values() if clock), "the remedy")


async def begin_shifts(s: QueryHarness, roster: FleetRoster, job: str) -> None:
    """Two workers; of three shifts one has failed, one is begun, one is asked for."""
    for name in ("w1", "w2"):
        await roster.record_heartbeat(make_card(name), [])
    token = await roster.claim_leadership("s1", TTL_S)
    if token is None:
        raise AssertionError("the first supervisor may lead")
    shifts = [make_shift(s.now(), name, job=job) for name in ("a", "b", "c")]
    assert_holds(await roster.request_shifts(shifts, {}, token), "the leader may ask")
    failed = await roster.begin_shift("a", "w2")
    if failed is None or await roster.begin_shift("b", "w1") is None:
        raise AssertionError("a requested shift can be begun")
    await roster.end_shifts([make_end(failed, EndReason.FAILED, detail="no such spider")])


async def _expect_refusal(s: QueryHarness) -> None:
    try:
        await read_fleet(s.backends)
    except SettingError:
        return
    raise AssertionError("this back end has no fleets")


@register_check
async def a_fleet_without_a_supervisor_is_an_alert(s: QueryHarness) -> None:
    """While a job of it runs: who tells alerts is the supervisor that is missing."""
    fleet = s.backends.requests.fleet
    assert_equal((await list_alerts(s.backends, SETTINGS)).alerts, (), "no job of a fleet runs")
    if fleet is None:
        return
    job = await s.backends.book.create("shop", "shop.py", plan=b"plan")
    (alert,) = (await list_alerts(s.backends, SETTINGS)).alerts
    assert_equal((alert.kind, alert.who), (TroubleKind.NO_SUPERVISOR, "fleet"), "nobody leads")
    assert_equal(alert.text, "No supervisor leads the fleet, and 1 job runs.", "in a sentence")
    await begin_shifts(s, fleet.roster, job.id)
    assert_equal((await list_alerts(s.backends, SETTINGS)).alerts, (), "one leads")


@register_check
async def each_job_is_told_of_the_workers_of_its_own_fleet(s: QueryHarness) -> None:
    """Where fleets share a Redis: one is at work, and the other has neither supervisor nor worker."""
    fleet = s.backends.requests.fleet
    if fleet is None:
        return
    plans = {name: pack_plan(JobPlan(target="shop.py", fleet=name)) for name in ("default", "other")}
    jobs = {name: await s.backends.book.create(name, "shop.py", plan=plan) for name, plan in plans.items()}
    for job in jobs.values():
        await s.backends.requests.create_frontier(job, EASY)
    await begin_shifts(s, fleet.roster, jobs["default"].id)
    seen = await look_at_jobs(s.backends, SETTINGS)
    found = {name: seen.known[job.id] for name, job in jobs.items()}
    there = {name: (one.has_supervisor, one.workers and one.workers.there) for name, one in found.items()}
    assert_equal(there, {"default": (True, 2), "other": (False, 0)}, "each by its own roster")
    view = await show_fleet(s.backends, seen)
    assert_equal([one.job for one in view.wants], [jobs["default"].id], "the fleet has its own jobs")
    assert_equal((await list_alerts(s.backends, SETTINGS)).alerts, (), "a supervisor leads this fleet")
    await fleet.roster.claim_leadership("s1", 0.0)
    (alert,) = (await list_alerts(s.backends, SETTINGS)).alerts
    assert_equal(alert.text, "No supervisor leads the fleet, and 1 job runs.", "no jobs of others")
