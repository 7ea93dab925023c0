"""Which jobs there are, which one is meant, and how each stands in short."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.errors import Fault, UsageError
from gossamer.core.lifecycle import FinishReason, JobCommand, JobState
from gossamer.core.results import Verdict
from gossamer.queries.jobs import find_job, list_jobs
from gossamer.queries.status import read_status
from gossamer.testing.contracts.frontier_harness import make_entry
from gossamer.testing.contracts.query_harness import QueryHarness, register_check
from gossamer.testing.contracts.store_harness import make_item
from gossamer.testing.contracts.suite import assert_equal, assert_holds
from gossamer.wiring.backends import refresh_job


@register_check
async def jobs_are_listed_in_parts(s: QueryHarness) -> None:
    """Newest first, no more than asked for, and the rest from where a part ended."""
    made = [(await s.make_job(name)).id for name in ("a", "b", "c")]
    first = await list_jobs(s.backends, 2)
    assert_equal([job.job for job in first.jobs], made[:0:-1], "the newest come first")
    assert_equal(first.next_cursor, made[1], "there is more")
    rest = await list_jobs(s.backends, 2, after=first.next_cursor or "")
    assert_equal([job.job for job in rest.jobs], made[:1], "the rest follows")
    assert_equal(rest.next_cursor, None, "and this was the last part")
    whole = await list_jobs(s.backends, 3)
    assert_equal((len(whole.jobs), whole.next_cursor), (3, None), "a full part may be all")


@register_check
async def jobs_are_chosen_by_name_and_state(s: QueryHarness) -> None:
    """The limit counts those that are chosen."""
    for name in ("shop", "news", "shop"):
        await s.make_job(name)
    over = await s.backends.book.get("shop-1")
    assert over is not None
    await s.backends.book.update(replace(over, state=JobState.FINISHED, finished_at=s.now()))
    found = await list_jobs(s.backends, 1, name="shop", states=(JobState.FINISHED,))
    assert_equal([job.job for job in found.jobs], ["shop-1"], "by name and state")
    assert_equal(found.next_cursor, None, "jobs outside of the filter do not count as more")
    named = await list_jobs(s.backends, 9, name="shop")
    assert_equal([job.job for job in named.jobs], ["shop-2", "shop-1"], "by name")


@register_check
async def a_job_is_found_by_id_and_by_name(s: QueryHarness) -> None:
    """A name is the spider's, or as the id spells it, and means the latest."""
    for name in ("Shop Two", "news", "Shop Two"):
        await s.make_job(name)
    latest = next(job for job in await s.backends.book.list_jobs() if job.name == "Shop Two")
    slug, _, number = latest.id.rpartition("-")
    assert_equal(number, "2", "the latest of the name")
    for wanted in ("Shop Two", slug, latest.id):
        assert_equal((await find_job(s.backends, wanted)).id, latest.id, f"found by {wanted!r}")
    try:
        await find_job(s.backends, "shoes")
    except UsageError as error:
        assert_holds("news-1" in str(error), "the message names those that are there")
    else:
        raise AssertionError("a job that is not there is not found")


@register_check
async def a_summary_counts_what_is_stored_and_what_waits(s: QueryHarness) -> None:
    """Pages and items come from the store, waiting and dead requests from the frontier."""
    job = await s.make_job("shop", *(make_entry(number) for number in (1, 2, 3)))
    ends = {1: (Verdict.SUCCESS, ""), 2: (Verdict.DEAD, Fault.CLIENT.value)}
    await s.end_visits(job, ends, items=[make_item("a"), make_item("b")])
    (found,) = (await list_jobs(s.backends, 5)).jobs
    counts = (found.pages, found.items, found.waiting, found.dead)
    assert_equal(counts, (1, 2, 1, 1), "pages, items, waiting, dead")
    assert_equal((found.name, found.target), ("shop", "shop.py"), "the job")
    assert_equal((found.created_at, found.unreadable), (job.created_at, ""), "nothing hinders reading it")


@register_check
async def a_job_that_nobody_is_at_work_on_is_interrupted(s: QueryHarness) -> None:
    """A killed process could not record its end; running and finished jobs are as recorded."""
    job = await s.make_job()
    (found,) = (await list_jobs(s.backends, 1)).jobs
    assert_equal((found.state, found.finish_reason), ("unfinished", "interrupted"), "the job has no worker")
    status = await read_status(s.backends, job)
    assert_equal((status.state, status.finish_reason), ("unfinished", "interrupted"), "also in its status")
    async with s.backends.requests.lock_target(job.target):
        (found,) = (await list_jobs(s.backends, 1)).jobs
        assert_equal((found.state, found.finish_reason), ("running", ""), "the job has a worker and runs")
        assert_equal((await refresh_job(s.backends, job)).end_reason, None, "the job has a worker")
    await s.open_frontier(job).apply_change(JobCommand.CANCEL)
    ended = replace(job, state=JobState.CANCELLED, finished_at=s.now(), end_reason=FinishReason.CANCELLED)
    await s.backends.book.update(ended)
    refreshed = await refresh_job(s.backends, job)
    assert_equal((refreshed.state, refreshed.end_reason), (JobState.CANCELLED, "cancelled"), "it has ended")
