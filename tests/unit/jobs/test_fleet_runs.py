"""Schedules of a fleet over real servers: a run is one job, however many supervisors submit it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest
from msgspec.structs import replace

from gossamer.config.layers import load_settings
from gossamer.config.option import SettingOption
from gossamer.core.errors import SettingError, UsageError
from gossamer.core.lifecycle import FinishReason, JobCommand, JobState
from gossamer.core.schedules import RunOutcome, ScheduledRun
from gossamer.jobs.control import change_job
from gossamer.jobs.duties import duties_of
from gossamer.jobs.fleet_runs import FleetStarter
from gossamer.jobs.scheduler import run_scheduler
from gossamer.jobs.schedules import ScheduleOrder, add_schedule, open_runner
from gossamer.targets.plan import plan_from
from gossamer.wiring.backends import open_backends

TARGET = "https://shop.example/"
DAY_S = 86_400.0


@pytest.fixture
async def places(redis_url, postgres_url, tmp_path):
    """The same servers as two supervisors have them."""
    said = {"data": str(tmp_path), "frontier": {"url": redis_url}, "store": {"url": postgres_url}}
    settings = load_settings(env={}, spider=said).settings
    async with AsyncExitStack() as closing:
        opened = []
        for _ in range(2):
            opened.append(await open_backends(settings, create=True))
            closing.push_async_callback(opened[-1].close)
        yield opened


async def add(backends, **more):
    options = [SettingOption("max_pages", 7, "--max-pages")]
    order = ScheduleOrder(name="shop", cron="0 6 * * *", target=TARGET, options=options, **more)
    return await add_schedule(backends, order, backends.clock.now() - 3 * DAY_S)


@pytest.mark.long
async def test_two_supervisors_submit_one_job_for_a_due_time(places):
    first, second = places
    schedule = await add(first)
    assert schedule.place == "fleet default"
    duties = [
        next(one for one in duties_of(each.settings, each) if one.name == "schedules") for each in places
    ]
    assert all(duty.every_s <= 3.0 for duty in duties), "not later than by a few seconds"
    now = first.clock.now()
    await asyncio.gather(*(duty.run(now) for duty in duties))
    (job,) = await first.book.list_jobs()
    (run,) = await first.schedules.open_runs()
    assert (run.job, job.key.hex(), run.passed) == (job.id, run.key, 2)
    assert '"max_pages":7' in plan_from(job.plan).settings
    assert (await second.open_frontier(job).read_stats()).state is JobState.RUNNING
    await asyncio.gather(*(duty.run(now + 2.0) for duty in duties))
    assert len(await first.book.list_jobs()) == 1
    await change_job(second, job, JobCommand.CANCEL)
    await asyncio.gather(*(duty.run(now + 4.0) for duty in duties))
    (over,) = await second.schedules.list_runs(5)
    assert (over.outcome, over.detail) == (RunOutcome.STOPPED, "cancelled")


@pytest.mark.long
async def test_a_submission_that_was_cut_off_is_done_again_and_makes_no_second_job(places):
    first, _ = places
    schedule = await add(first)
    run = ScheduledRun(schedule="shop", due_at=schedule.since + DAY_S, key="ab" * 16)
    starters = [FleetStarter(each.settings, each.book) for each in places]
    jobs = await asyncio.gather(*(starter.start_run(schedule, run) for starter in (*starters, *starters)))
    assert len(set(jobs)) == 1
    (job,) = await first.book.list_jobs()
    assert job.id == jobs[0]
    ended = replace(job, state=JobState.FINISHED, end_reason=FinishReason.FINISHED, finished_at=9.0)
    await first.book.update(ended)
    assert await starters[1].start_run(schedule, run) == job.id, "also when it is over already"
    assert (await first.book.list_jobs()) == [ended]


@pytest.mark.long
async def test_what_cannot_be_submitted_says_why(places):
    first, _ = places
    schedule = await add(first)
    run = ScheduledRun(schedule="shop", due_at=1.0, key="ab" * 16)
    with pytest.raises(UsageError, match=r"there is no file gone\.py"):
        await FleetStarter(first.settings, first.book).start_run(replace(schedule, target="gone.py"), run)
    assert await first.book.list_jobs() == []


async def test_another_job_of_the_name_is_in_the_way(places):
    first, _ = places
    schedule = await add(first)
    job = await first.book.create(schedule.job_name, TARGET, plan=b"x")
    run = ScheduledRun(schedule="shop", due_at=1.0, key="ab" * 16)
    assert (
        await FleetStarter(first.settings, first.book).find_rival(schedule, run) == f"{job.id} was not over"
    )
    own = replace(run, key=job.key.hex())
    assert await FleetStarter(first.settings, first.book).find_rival(schedule, own) == ""


async def test_a_fleet_needs_no_scheduler(places):
    with pytest.raises(SettingError, match="the fleet's supervisor runs the schedules by itself"):
        await run_scheduler(places[0], asyncio.Event())


async def test_the_schedules_of_another_fleet_are_left_alone(places):
    first, _ = places
    schedule = await add(first)
    await first.schedules.remove_schedule("shop")
    await first.schedules.add_schedule(replace(schedule, place="fleet night"))
    await (await open_runner(first)).look(first.clock.now())
    assert await first.schedules.list_runs(5) == []
