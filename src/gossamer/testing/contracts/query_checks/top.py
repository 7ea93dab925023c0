"""Everything at one glance."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.config.settings import Settings
from gossamer.core.errors import UsageError
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.queries.top import read_top
from gossamer.testing.contracts.frontier_harness import make_entry
from gossamer.testing.contracts.query_checks.fleet import begin_shifts
from gossamer.testing.contracts.query_harness import QueryHarness, register_check
from gossamer.testing.contracts.suite import assert_equal, assert_holds

SETTINGS = Settings()


@register_check
async def a_glance_at_a_place_without_jobs(s: QueryHarness) -> None:
    """There is nothing to look at closely."""
    found = await read_top(s.backends, SETTINGS)
    assert_equal((found.jobs, found.more_jobs, found.chosen), ((), 0, None), "nothing is there")
    assert_equal(found.say[0], "Nothing has been crawled yet.", "that is said")


@register_check
async def a_glance_has_every_open_job_and_one_closely(s: QueryHarness) -> None:
    """The first of them, or the one that is asked for; ended ones where nothing is open."""
    jobs = [await s.make_job(name, *(make_entry(n) for n in range(3))) for name in ("news", "shop")]
    async with (
        s.backends.requests.lock_target(jobs[0].target),
        s.backends.requests.lock_target(jobs[1].target),
    ):
        found = await read_top(s.backends, SETTINGS)
        assert_equal({row.job for row in found.jobs}, {job.id for job in jobs}, "all that run")
        assert_holds(found.chosen is not None and found.chosen.job == found.jobs[0].job, "the first, closely")
        close = (await read_top(s.backends, SETTINGS, "news")).chosen
        assert_holds(close is not None and close.job == jobs[0].id, "the one that is asked for, by its name")
        assert_equal(sum(host.pending for host in close.hosts) if close else 0, 3, "with its hosts")
        over = replace(
            jobs[0], state=JobState.FINISHED, finished_at=s.now(), end_reason=FinishReason.FINISHED
        )
        await s.backends.book.update(over)
        found = await read_top(s.backends, SETTINGS)
        assert_equal([row.job for row in found.jobs], [jobs[1].id], "what is over is not among them")
        found = await read_top(s.backends, SETTINGS, jobs[0].id)
        assert_equal([row.job for row in found.jobs], [jobs[0].id, jobs[1].id], "unless it is asked for")
    try:
        await read_top(s.backends, SETTINGS, "nobody")
    except UsageError:
        return
    raise AssertionError("a job that is not there is refused")


@register_check
async def a_glance_has_the_workers_of_a_fleet(s: QueryHarness) -> None:
    """With their shifts; where there can be no fleet, nothing is said of one."""
    fleet = s.backends.requests.fleet
    if fleet is None:
        assert_equal((await read_top(s.backends, SETTINGS)).fleet, None, "there is no fleet")
        return
    await begin_shifts(s, fleet.roster, "shop-1")
    found = await read_top(s.backends, SETTINGS)
    assert_holds(found.fleet is not None, "there is a fleet")
    if found.fleet is not None:
        jobs = {worker.id: [shift.job for shift in worker.shifts] for worker in found.fleet.workers}
        assert_equal(jobs, {"w1": ["shop-1"], "w2": []}, "what each of them works on")
