"""Everything at one glance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager

from msgspec.structs import replace

from gossamer.config.settings import Settings
from gossamer.core.errors import UsageError
from gossamer.core.jobs import Job
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.results import Verdict
from gossamer.policy.job_memory import JobMemory
from gossamer.policy.sentences.words import number_word
from gossamer.ports.job_frontier import JobFrontier
from gossamer.queries.top import JOBS, read_top
from gossamer.testing.contracts.frontier_harness import make_entry
from gossamer.testing.contracts.query_checks.fleet import begin_shifts
from gossamer.testing.contracts.query_harness import QueryHarness, register_check
from gossamer.testing.contracts.suite import assert_equal, assert_holds
from gossamer.watch.memories import save_job_memory
from gossamer.wiring.backends import Backends

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
        assert_equal([row.job for row in found.jobs], [jobs[1].id], "finished jobs are not included")
        found = await read_top(s.backends, SETTINGS, jobs[0].id)
        assert_equal([row.job for row in found.jobs], [jobs[0].id, jobs[1].id], "unless it is asked for")
    try:
        await read_top(s.backends, SETTINGS, "nobody")
    except UsageError:
        return
    raise AssertionError("a job that is not there is refused")


@register_check
async def a_glance_counts_all_jobs_and_shows_those_that_need_a_person(s: QueryHarness) -> None:
    """For any number of jobs of any age; jobs that are not shown cost no query of their hosts."""
    jobs = [await s.make_job(f"job{number}", make_entry(1)) for number in range(JOBS + 4)]
    failed = replace(jobs[0], end_reason=FinishReason.ERROR, end_error="boom", finished_at=s.now())
    await s.backends.book.update(failed)
    is_counted_together = s.backends.requests.fleet is not None  # also jobs that are not watched
    await s.open_frontier(jobs[0]).read_stats()  # as any supervisor does
    async with AsyncExitStack() as locks:
        for job in jobs[1:]:
            await locks.enter_async_context(s.backends.requests.lock_target(job.target))
            memory = JobMemory(at=s.now(), due_at=s.now() + 60.0)
            if not is_counted_together:
                await save_job_memory(s.backends.requests.shared, job, memory)
        opened: Counter[str] = Counter()
        with count_opened(s.backends, opened):
            found = await read_top(s.backends, SETTINGS)
    assert_equal((len(found.jobs), found.more_jobs), (JOBS, 4), "how many there are")
    assert_equal(found.jobs[0].job, jobs[0].id, "the oldest one is the first: it needs a person")
    others = number_word(JOBS + 3)
    assert_equal(
        found.say[0], f"One job needs you. The other {others} take care of themselves.", "all are counted"
    )
    shown = {row.job for row in found.jobs}
    assert_equal({job.id for job in jobs if opened[job.id]} - shown, set(), "the others are remembered")


@register_check
async def many_jobs_are_counted_as_each_alone(s: QueryHarness) -> None:
    """A job whose requests are gone is left out."""
    fleet = s.backends.requests.fleet
    if fleet is None:
        return
    jobs = [await s.make_job("news"), await s.make_job("shop", *(make_entry(n) for n in (1, 2, 3)))]
    await s.end_visits(jobs[1], {1: (Verdict.SUCCESS, ""), 2: (Verdict.DEAD, "client")})
    gone = await s.backends.book.create("gone", "gone.py")
    alone = {job.id: await s.open_frontier(job).read_stats() for job in jobs}
    assert_equal(await fleet.read_many_stats([*jobs, gone]), alone, "the same counts")
    assert_equal(await fleet.read_many_stats([]), {}, "of no job there are none")


@contextmanager
def count_opened(backends: Backends, opened: Counter[str]) -> Iterator[None]:
    """Count how often the requests of each job are opened."""

    def open_frontier(job: Job) -> JobFrontier:
        opened[job.id] += 1
        return Backends.open_frontier(backends, job)

    backends.open_frontier = open_frontier  # type: ignore[method-assign]
    try:
        yield
    finally:
        del backends.open_frontier


@register_check
async def a_glance_has_the_workers_of_a_fleet(s: QueryHarness) -> None:
    """With their shifts; a back end without fleets reports none."""
    fleet = s.backends.requests.fleet
    if fleet is None:
        assert_equal((await read_top(s.backends, SETTINGS)).fleet, None, "no fleet exists")
        return
    await begin_shifts(s, fleet.roster, "shop-1")
    found = await read_top(s.backends, SETTINGS)
    assert_holds(found.fleet is not None, "there is a fleet")
    if found.fleet is not None:
        jobs = {worker.id: [shift.job for shift in worker.shifts] for worker in found.fleet.workers}
        assert_equal(jobs, {"w1": ["shop-1"], "w2": []}, "what each of them works on")
