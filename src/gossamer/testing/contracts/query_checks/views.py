"""The views of the dashboard: all jobs, one job, its hosts, the fleet."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from msgspec.structs import replace

from gossamer.config.settings import Settings
from gossamer.core.errors import Fault, NotThereError, SettingError, UsageError
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import Job
from gossamer.core.lifecycle import FinishReason, JobCommand, JobState
from gossamer.core.results import Attempt, Verdict
from gossamer.core.shifts import JobSample
from gossamer.policy.alerts import AlertState
from gossamer.policy.goals import expectation_key
from gossamer.policy.job_memory import JobMemory
from gossamer.policy.pace_limit import LimitState, PaceLimit
from gossamer.policy.time_left import LeftReason, TimeEstimate
from gossamer.policy.troubles import TroubleKind
from gossamer.queries.fleet_view import read_fleet_view
from gossamer.queries.host_view import HostFilter, read_host, read_hosts
from gossamer.queries.job_view import read_job_view
from gossamer.queries.overview import Overview, read_overview
from gossamer.queries.status import read_status
from gossamer.testing.contracts.frontier_harness import make_entry
from gossamer.testing.contracts.query_checks.fleet import begin_shifts
from gossamer.testing.contracts.query_harness import QueryHarness, register_check
from gossamer.testing.contracts.store_harness import make_item
from gossamer.testing.contracts.suite import assert_equal, assert_holds
from gossamer.watch.memories import save_job_memory

SETTINGS = Settings()
SLOW = FrontierRules(delay_s=10.0)


async def _read_overview(s: QueryHarness, *, show: str = "open") -> Overview:
    return await read_overview(s.backends, SETTINGS, show=show)


def _crawling(s: QueryHarness, job: Job) -> AbstractAsyncContextManager[None]:
    """A crawl of this job is under way."""
    return s.backends.requests.lock_target(job.target)


@register_check
async def a_place_without_jobs_says_so(s: QueryHarness) -> None:
    """Nothing is wrong there, and nothing runs."""
    found = await _read_overview(s)
    assert_equal(
        (found.open, found.ended, found.jobs, found.next_cursor), (0, 0, (), None), "nothing is there"
    )
    assert_equal(found.say[0], "Nothing has been crawled yet.", "that is said")


@register_check
async def the_overview_lists_jobs_by_what_they_need(s: QueryHarness) -> None:
    """Jobs that need attention come first; finished jobs are separate; the parts are consecutive."""
    jobs = [await s.make_job(name, make_entry(1)) for name in ("a", "b", "c")]
    failed = replace(jobs[0], end_reason=FinishReason.ERROR, end_error="boom", finished_at=s.now())
    await s.backends.book.update(failed)
    over = replace(jobs[1], state=JobState.FINISHED, finished_at=s.now(), end_reason=FinishReason.FINISHED)
    await s.backends.book.update(over)
    async with _crawling(s, jobs[2]):
        found = await _read_overview(s)
        assert_equal((found.open, found.ended), (2, 1), "each job is one of both")
        rows = {row.job: row for row in found.jobs}
        assert_equal(
            [row.job for row in found.jobs], [jobs[0].id, jobs[2].id], "what needs a person is first"
        )
        assert_equal(
            (rows[jobs[0].id].state, rows[jobs[0].id].trouble_kind), ("unfinished", "dead"), "it failed"
        )
        assert_equal((rows[jobs[2].id].state, rows[jobs[2].id].pending), ("running", 1), "it runs")
        assert_holds("boom" in found.troubles[0].text, "its error is shown")
        assert_equal(found.say[0], "One job needs you. The other one takes care of itself.", "the answer")
        assert_equal(found.rail.needs, 1, "and in the rail")
    ended = await _read_overview(s, show="ended")
    assert_equal([(row.job, row.state) for row in ended.jobs], [(jobs[1].id, "finished")], "what is over")
    first = await read_overview(s.backends, SETTINGS, limit=1)
    rest = await read_overview(s.backends, SETTINGS, limit=1, cursor=first.next_cursor or "")
    assert_equal({*_ids(first), *_ids(rest)}, {jobs[0].id, jobs[2].id}, "parts follow each other")
    assert_equal(rest.next_cursor, None, "and end")


def _ids(found: Overview) -> list[str]:
    return [row.job for row in found.jobs]


@register_check
async def what_is_remembered_of_a_job_is_told(s: QueryHarness) -> None:
    """Pace, its limit and alerts, as the watch recorded them, while they are fresh."""
    job = await s.make_job("shop", *(make_entry(n) for n in range(30)))
    now = s.now()
    alert = AlertState(
        kind=TroubleKind.NO_ITEMS,
        who=job.id,
        job=job.id,
        text="It finds nothing.",
        bad_since=now - 9,
        began_at=now,
    )
    memory = JobMemory(
        at=now,
        due_at=now + 60,
        samples=tuple(JobSample(at=now - 60 + n * 10, pages=n * 20) for n in range(7)),
        left=TimeEstimate(at=now, reason=LeftReason.KNOWN, least_s=2000.0, most_s=2900.0),
        pace=LimitState(limit=PaceLimit.WORKERS, since=now - 40, is_begun=True),
        alerts=(alert,),
    )
    await save_job_memory(s.backends.requests.shared, job, memory)
    async with _crawling(s, job):
        view = await read_job_view(s.backends, SETTINGS, job)
        assert_equal((view.pages_per_s, view.limit, view.limit_since), (2.0, "workers", now - 40), "as noted")
        status = await read_status(s.backends, job)
        row = (await _read_overview(s)).jobs[0]
        assert_equal(view.left_text, "30-50 min", "as noted")
        assert_equal(row.left_text, view.left_text, "the same in a listing")
        assert_equal(status.left, "done in 30 to 50 minutes", "in words")
        kinds = [trouble.kind for trouble in view.troubles]
        assert_equal(kinds[0], TroubleKind.NO_ITEMS, "the alert")
        await save_job_memory(s.backends.requests.shared, job, replace(memory, due_at=now))
        stale = await read_job_view(s.backends, SETTINGS, job)
        assert_holds(
            TroubleKind.NO_ITEMS not in [one.kind for one in stale.troubles], "stale records are not shown"
        )
        assert_equal(
            (stale.left_s, stale.left_text, stale.pages_per_s), (None, "", None), "nor is a time left"
        )


@register_check
async def what_the_site_announces_is_told_with_how_much_of_it_is_there(s: QueryHarness) -> None:
    """In the view of the job and in listings."""
    job = await s.make_job("shop", *(make_entry(n) for n in range(30)))
    key = expectation_key("products")
    await s.end_visits(
        job, {0: (Verdict.SUCCESS, "")}, items=[make_item("a"), make_item("b")], expected={key: 9}
    )
    async with _crawling(s, job):
        view = await read_job_view(s.backends, SETTINGS, job)
        row = (await _read_overview(s)).jobs[0]
    assert_equal([goal.to_text() for goal in view.goals], ["2 of 9 products"], "in its view")
    assert_equal(row.goals, view.goals, "in a listing")


@register_check
async def what_the_spider_counts_itself_is_told(s: QueryHarness) -> None:
    """In the view and the state of its job, by name."""
    job = await s.make_job("shop", make_entry(1))
    counted = {"stat:inc:seen": 3000, "stat:min:least": -500}
    await s.backends.store.record_attempts(job, (), counted)
    async with _crawling(s, job):
        view = await read_job_view(s.backends, SETTINGS, job)
        status = await read_status(s.backends, job)
    assert_equal(view.stats, {"least": -0.5, "seen": 3}, "in its view")
    assert_equal(status.stats, view.stats, "in its state")


@register_check
async def a_job_is_shown_with_what_is_counted(s: QueryHarness) -> None:
    """Its states, its errors, its hosts; the sums are those of the frontier."""
    job = await s.make_job("shop", *(make_entry(n, host=f"h{n % 2}.example") for n in range(10)))
    await s.end_visits(
        job,
        {
            0: (Verdict.SUCCESS, ""),
            1: (Verdict.DEAD, Fault.SERVER),
            2: (Verdict.SKIPPED, Fault.GONE),
            3: (Verdict.RETRY, Fault.SERVER),
        },
        items=[make_item("a"), make_item("b")],
    )
    async with _crawling(s, job):
        view = await read_job_view(s.backends, SETTINGS, job)
    assert_equal((view.pages, view.items, view.attempts, view.dead), (1, 2, 4, 1), "what was counted")
    assert_equal((view.done, view.pending, view.delayed), (2, 6, 1), "the states")
    assert_equal([(one.reason, one.count) for one in view.errors], [("server", 2)], "failures alone")
    assert_equal(sum(count for _, count in view.due), 7, "all that waits may start at some time")
    assert_equal(view.hosts, 2, "its hosts")
    assert_equal((view.shifts, view.failed_share), (None, 0.5), "of a crawl of one machine")
    assert_equal(len(view.spark), 60, "an hour")
    assert_holds(view.say[0].startswith(job.id), "a sentence about it")


@register_check
async def an_ended_job_is_shown_too(s: QueryHarness) -> None:
    """With its remaining requests."""
    job = await s.make_job("shop", make_entry(1))
    await s.end_visits(job, {1: (Verdict.SUCCESS, "")})
    await s.open_frontier(job).apply_change(JobCommand.FINISH)
    over = replace(job, state=JobState.FINISHED, finished_at=s.now(), end_reason=FinishReason.FINISHED)
    await s.backends.book.update(over)
    view = await read_job_view(s.backends, SETTINGS, over)
    assert_equal((view.state, view.due, view.slowest, view.limit), ("finished", (), (), ""), "nothing is due")
    assert_equal(view.say[0], f"{job.id} is finished: nothing is left to do.", "that is said")


@register_check
async def hosts_are_told_with_what_they_allow(s: QueryHarness) -> None:
    """Each with its pace and why; sorted, filtered, in parts; one of them alone."""
    job = await s.make_job("shop", *(make_entry(n, host=f"h{n % 3 % 2}.example") for n in range(30)))
    await s.open_frontier(job).apply_change(JobCommand.RESUME, SLOW)
    found = await read_hosts(s.backends, job, HostFilter())
    assert_equal(
        [(row.host, row.pending) for row in found.hosts], [("h0.example", 20), ("h1.example", 10)], "sorted"
    )
    first = found.hosts[0]
    assert_equal(
        (first.delay_s, first.why, first.allowed_per_s, first.empties_s),
        (10.0, "set", 0.1, 200.0),
        "its pace",
    )
    assert_equal((found.total, found.totals.work, found.totals.held), (2, 2, 0), "in numbers")
    by_name = await read_hosts(s.backends, job, HostFilter(sort="host", descending=False), limit=1)
    assert_equal(
        ([row.host for row in by_name.hosts], by_name.next_cursor), (["h0.example"], "h0.example"), "a part"
    )
    rest = await read_hosts(s.backends, job, HostFilter(sort="host", descending=False), cursor="h0.example")
    assert_equal(([row.host for row in rest.hosts], rest.next_cursor), (["h1.example"], None), "the rest")
    named = await read_hosts(s.backends, job, HostFilter(q="H1"))
    assert_equal(
        ([row.host for row in named.hosts], named.total), (["h1.example"], 1), "by a part of the name"
    )
    held = await read_hosts(s.backends, job, HostFilter(only="held"))
    assert_equal(held.hosts, (), "none is held")
    one = await read_host(s.backends, job, "h1.example")
    assert_equal((one.pending, one.dead), (10, 0), "one alone")
    assert_equal(one.say[0], "h1.example is asked every 10 s, as set.", "its description")
    await _refuses_unknown_hosts(s, job)


@register_check
async def a_host_for_which_nothing_waits_is_found_by_its_name(s: QueryHarness) -> None:
    """Among the hosts with waiting requests; the other filters apply as well."""
    job = await s.make_job("shop", make_entry(1, host="done.example"))
    await s.end_visits(job, {1: (Verdict.SUCCESS, "")})
    await s.open_frontier(job).add([make_entry(2, host="done.example.net")])
    one = await read_host(s.backends, job, "Done.example")
    assert_equal((one.host, one.pending, one.success), ("done.example", 0, 1.0), "one alone")
    found = await read_hosts(s.backends, job, HostFilter(q="DONE.example"))
    assert_equal(
        [(row.host, row.pending) for row in found.hosts],
        [("done.example.net", 1), ("done.example", 0)],
        "with the others of such a name",
    )
    assert_equal((await read_hosts(s.backends, job, HostFilter(q="done.exam"))).total, 1, "by the whole name")
    held = await read_hosts(s.backends, job, HostFilter(q="done.example", only="held"))
    assert_equal(held.hosts, (), "it is not held")


async def _refuses_unknown_hosts(s: QueryHarness, job: Job) -> None:
    try:
        await read_host(s.backends, job, "nobody.example")
    except NotThereError:
        pass
    else:
        raise AssertionError("a host without requests is not known")
    try:
        await read_hosts(s.backends, job, HostFilter(sort="colour"))
    except UsageError:
        return
    raise AssertionError("hosts are sorted by their known figures")


@register_check
async def the_success_of_a_host_is_that_of_its_attempts(s: QueryHarness) -> None:
    """In the last two hours, as the store counts them."""
    job = await s.make_job("shop", *(make_entry(n, host="h.example") for n in range(10)))
    ends = dict.fromkeys(range(3), (Verdict.SUCCESS, "")) | {3: (Verdict.DEAD, str(Fault.SERVER))}
    await s.end_visits(job, ends)
    (row,) = (await read_hosts(s.backends, job, HostFilter())).hosts
    assert_equal((row.success, row.dead), (0.75, 1), "three of four")
    assert_equal((row.p50_s, row.p95_s), (None, None), "four answers are too few for a usual rate")


@register_check
async def the_response_times_of_a_host_are_those_of_its_latest_answers(s: QueryHarness) -> None:
    """By the ledger, in a listing and alone."""
    job = await s.make_job("shop", *(make_entry(n, host=f"h{n}.example") for n in range(2)))
    tries = [
        Attempt(at=s.now(), url=f"http://h0.example/{n}", fingerprint=9, verdict=Verdict.SUCCESS, status=200)
        for n in range(20)
    ]
    timed = [replace(tried, elapsed_ms=10.0 * number) for number, tried in enumerate(tries, start=1)]
    await s.backends.store.record_attempts(job, timed)
    rows = (await read_hosts(s.backends, job, HostFilter(sort="host", descending=False))).hosts
    times = {row.host: (row.p50_s, row.p95_s) for row in rows}
    assert_equal(times, {"h0.example": (0.1, 0.19), "h1.example": (None, None)}, "in a listing, in seconds")
    one = await read_host(s.backends, job, "h0.example")
    assert_equal((one.p50_s, one.p95_s), (0.1, 0.19), "and alone")


@register_check
async def the_fleet_is_told_with_its_workers(s: QueryHarness) -> None:
    """With the shifts of each; without a fleet the query is refused."""
    fleet = s.backends.requests.fleet
    if fleet is None:
        try:
            await read_fleet_view(s.backends, SETTINGS)
        except SettingError:
            return
        raise AssertionError("this back end has no fleets")
    await begin_shifts(s, fleet.roster, "shop-1")
    view = await read_fleet_view(s.backends, SETTINGS)
    assert_equal((view.leader, len(view.workers), len(view.ends)), ("s1", 2, 1), "as the roster has it")
    assert_equal({one.id: len(one.shifts) for one in view.workers}, {"w1": 1, "w2": 0}, "what each does")
    assert_equal(view.say[0], "Both workers are there.", "a sentence")
    overview = await _read_overview(s)
    assert_equal(overview.rail.workers and overview.rail.workers.at_work, 1, "beside the place")
