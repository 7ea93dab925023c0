"""Each due time is crawled once, whoever is killed when, and however many look at once."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress

import pytest
from msgspec.structs import replace

from gossamer.core.errors import JobBusyError, StorageError, UsageError
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.schedules import CatchUpRule, OverlapRule, RunOutcome, Schedule
from gossamer.jobs.schedule_runner import ScheduleRunner
from gossamer.policy.schedule_runs import BEGIN_S, MOST_STARTS
from gossamer.store.memory.jobs import MemoryJobStore
from gossamer.store.memory.schedules import MemoryScheduleStore
from gossamer.testing.clock import ManualClock

HOUR = 3600.0
T0 = 1_700_006_400.0
SHOP = Schedule(
    name="shop", cron="0 * * * *", target="shop.py", job_name="shop", job_target="shop.py", place="here",
    created_at=T0, since=T0,
)  # fmt: skip


class Killed(BaseException):
    """This process is gone: nothing of it runs any more."""


class PatientClock(ManualClock):
    """One that nobody has to move on."""

    async def sleep(self, seconds):
        self.advance(seconds)
        await asyncio.sleep(0)


class Site:
    """What outlives every scheduler: the stores, the processes of crawls, and what those did."""

    def __init__(self) -> None:
        self.clock = PatientClock(T0)
        self.schedules, self.book = MemoryScheduleStore(), MemoryJobStore(self.clock)
        self.at_work: set[str] = set()  # keys
        self.begun: list[str] = []  # a key for each time a crawl really began or went on
        self.rival = ""
        self.errors: list[Exception] = []
        self.lost_answers: list[Exception] = []  # raised when the crawl has been started
        self.failure = ""

    def runner(self, fuse: Fuse | None = None, place: str = "here") -> ScheduleRunner:
        fuse = fuse or Fuse()
        return ScheduleRunner(
            Guarded(self.schedules, fuse), Guarded(self.book, fuse), Guarded(Starter(self), fuse), place
        )

    async def finish(self, key: str, reason: FinishReason = FinishReason.FINISHED, error: str = "") -> None:
        job = await self.book.find_by_key(bytes.fromhex(key))
        state = JobState.FINISHED if reason is FinishReason.FINISHED else job.state
        ended = replace(job, state=state, end_reason=reason, finished_at=self.clock.now(), end_error=error)
        await self.book.update(ended)
        self.at_work.discard(key)

    async def runs(self, name: str = "shop"):
        return (await self.schedules.list_runs(50, name))[::-1]


class Starter:
    """Starts crawls that do what `gossamer crawl --key` does: the job of the key is made, or goes on."""

    def __init__(self, site: Site) -> None:
        self.site = site

    async def find_rival(self, schedule, run):
        return self.site.rival

    async def start_run(self, schedule, run):
        if self.site.errors:
            raise self.site.errors.pop(0)
        job = await self.site.book.create("shop", "shop.py", key=run.key_bytes)
        if run.key not in self.site.at_work and job.finished_at is None:
            self.site.at_work.add(run.key)
            self.site.begun.append(run.key)
        if self.site.lost_answers:
            raise self.site.lost_answers.pop(0)
        return ""

    async def is_at_work(self, schedule, run, job):
        return run.key in self.site.at_work

    async def read_failure(self, run):
        return self.site.failure


class Fuse:
    """Kills its scheduler at the n-th call, before or after the call has had its effect."""

    def __init__(self, calls: int | None = None, *, after: bool = False) -> None:
        self.left, self.after, self.is_gone = calls, after, False

    def burn(self) -> bool:
        if self.is_gone:
            raise Killed
        if self.left is None:
            return False
        self.left -= 1
        self.is_gone = self.left == 0
        if self.is_gone and not self.after:
            raise Killed
        return self.is_gone


class Guarded:
    """Calls of another object, through a fuse; between any two calls others may have their turn."""

    def __init__(self, inner, fuse: Fuse) -> None:
        self.inner, self.fuse = inner, fuse

    def __getattr__(self, name):
        method = getattr(self.inner, name)

        async def call(*arguments, **named):
            await asyncio.sleep(0)
            is_last = self.fuse.burn()
            found = await method(*arguments, **named)
            if is_last:
                raise Killed
            await asyncio.sleep(0)
            return found

        return call


async def make_site(**more) -> Site:
    site = Site()
    await site.schedules.add_schedule(replace(SHOP, **more))
    return site


async def test_a_crawl_begins_at_its_time_and_its_end_is_noted():
    site = await make_site()
    runner = site.runner()
    await runner.look(T0 + HOUR - 1)
    assert await site.runs() == []
    await runner.look(T0 + HOUR)
    (run,) = await site.runs()
    assert (run.due_at, run.starts, run.is_open, site.begun) == (T0 + HOUR, 1, True, [run.key])
    await runner.look(T0 + HOUR + 1)
    assert (await site.runs())[0].job == "shop-1"
    site.clock.advance(HOUR + 10)
    await site.finish(run.key)
    await runner.look(T0 + HOUR + 20)
    (run,) = await site.runs()
    assert (run.outcome, run.ended_at, run.job) == (RunOutcome.FINISHED, T0 + HOUR + 10, "shop-1")
    await runner.look(T0 + 2 * HOUR)
    assert len(site.begun) == 2


async def test_other_places_are_left_alone():
    site = await make_site()
    await site.runner(place="fleet night").look(T0 + HOUR)
    assert await site.runs() == []


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
async def test_a_kill_at_any_step_costs_no_run_and_makes_none_twice(after):
    """Two due times, and between them the end of the first crawl; it is killed at its n-th call."""
    calls, was_killed = 0, True
    while was_killed:
        calls += 1
        site = await make_site()
        fuse = Fuse(calls, after=after)
        runner = site.runner(fuse)
        for step in range(44):
            now = T0 + HOUR - 10 + step * 100.0
            site.clock.advance(now - site.clock.now())
            if step == 20 and site.begun:
                await site.finish(site.begun[0])
            try:
                await runner.look(now)
            except Killed:
                runner = site.runner()  # the next one takes over at its next look
        was_killed = fuse.is_gone
        runs = await site.runs()
        assert [run.due_at for run in runs] == [T0 + HOUR, T0 + 2 * HOUR], calls
        assert runs[0].outcome is RunOutcome.FINISHED, calls
        jobs = await site.book.list_jobs()
        assert [job.key.hex() for job in reversed(jobs)] == [run.key for run in runs], calls
        assert site.begun == [run.key for run in runs], calls
    assert calls > 12


@pytest.mark.parametrize("seed", range(20))
async def test_schedulers_at_once_with_kills_run_each_due_time_once(seed):
    chance = random.Random(seed)
    site = await make_site(overlap=OverlapRule.QUEUE)
    runners = [site.runner(Fuse(chance.randrange(1, 40), after=chance.random() < 0.5)) for _ in range(3)]
    for step in range(60):
        now = T0 + HOUR - 10 + step * 240.0
        site.clock.advance(now - site.clock.now())
        if chance.random() < 0.1 and site.at_work:
            await site.finish(min(site.at_work))
        ends = await asyncio.gather(*(runner.look(now) for runner in runners), return_exceptions=True)
        for place, end in enumerate(ends):
            if isinstance(end, Killed):
                fuse = Fuse(chance.randrange(1, 60), after=chance.random() < 0.5) if step < 50 else None
                runners[place] = site.runner(fuse)
            else:
                assert end is None
    runs = await site.runs()
    assert [run.due_at for run in runs] == [T0 + HOUR * n for n in range(1, 1 + len(runs))]
    crawled = [run.key for run in runs if run.outcome is not RunOutcome.SKIPPED]
    jobs = [job.key.hex() for job in reversed(await site.book.list_jobs())]
    assert jobs == crawled[: len(jobs)]
    assert len(crawled) - len(jobs) <= 1, "at most one waits"
    assert sorted(site.begun) == sorted(set(site.begun)), "no crawl began twice"


async def test_a_crawl_that_is_under_way_leaves_the_next_one_out():
    site = await make_site()
    runner = site.runner()
    await runner.look(T0 + HOUR)
    await runner.look(T0 + HOUR + 1)
    await runner.look(T0 + 2 * HOUR)
    first, second = await site.runs()
    assert (second.outcome, second.detail) == (RunOutcome.SKIPPED, "shop-1 was not over")
    await site.finish(first.key)
    await runner.look(T0 + 3 * HOUR)
    assert len(site.begun) == 2


async def test_or_the_next_one_waits_for_its_end():
    site = await make_site(overlap=OverlapRule.QUEUE)
    runner = site.runner()
    for now in (T0 + HOUR, T0 + 2 * HOUR, T0 + 3 * HOUR):
        await runner.look(now)
    first, second, third = await site.runs()
    assert (second.is_open, second.started_at, third.outcome) == (True, None, RunOutcome.SKIPPED)
    await site.finish(first.key)
    await runner.look(T0 + 3 * HOUR + 5)
    assert site.begun == [first.key, second.key]


async def test_after_downtime_one_is_made_up():
    site = await make_site()
    await site.runner().look(T0 + 5.5 * HOUR)
    (run,) = await site.runs()
    assert (run.due_at, run.passed, run.is_open) == (T0 + 5 * HOUR, 4, True)


async def test_or_none_is(caplog):
    site = await make_site(catch_up=CatchUpRule.NONE)
    await site.runner().look(T0 + 5.5 * HOUR)
    (run,) = await site.runs()
    assert (run.outcome, run.passed, site.begun) == (RunOutcome.MISSED, 4, [])
    assert "missed: no scheduler was running to start it (4 due times before it also passed)" in caplog.text


async def test_what_cannot_be_started_is_said_and_the_next_due_time_goes_on(caplog):
    site = await make_site()
    runner = site.runner()
    site.errors = [UsageError("there is no file shop.py")]
    await runner.look(T0 + HOUR)
    (run,) = await site.runs()
    assert (run.outcome, run.detail) == (RunOutcome.FAILED, "there is no file shop.py")
    assert "schedule shop: failed: there is no file shop.py" in caplog.text
    await runner.look(T0 + 2 * HOUR)
    assert len(site.begun) == 1


async def test_a_crawl_that_was_started_before_its_submission_failed_is_followed():
    """It took too long to answer, and was ended, when the job was there already."""
    site = await make_site()
    runner = site.runner()
    site.lost_answers = [UsageError("the submission took longer than 90 s, and was ended")]
    await runner.look(T0 + HOUR)
    (run,) = await site.runs()
    assert (run.is_open, site.begun) == (True, [run.key])
    await runner.look(T0 + HOUR + 1)
    await site.finish(run.key)
    await runner.look(T0 + HOUR + 60)
    (run,) = await site.runs()
    assert (run.outcome, run.job) == (RunOutcome.FINISHED, "shop-1")


async def test_a_process_that_ends_before_it_has_a_job_has_failed():
    site = await make_site()
    runner = site.runner()
    site.errors, site.failure = [StorageError("gone")], "no such spider"
    with pytest.raises(StorageError):
        await runner.look(T0 + HOUR)
    await runner.look(T0 + HOUR + 1)
    assert [(run.outcome, run.detail) for run in await site.runs()] == [(RunOutcome.FAILED, "no such spider")]


async def test_a_server_that_is_away_is_tried_again():
    site = await make_site()
    runner = site.runner()
    site.errors = [StorageError("Redis is away")]
    with pytest.raises(StorageError):
        await runner.look(T0 + HOUR)
    (run,) = await site.runs()
    assert (run.is_open, run.detail) == (True, "Redis is away"), "who asks why nothing runs is told"
    await runner.look(T0 + HOUR + BEGIN_S + 1)
    (run,) = await site.runs()
    assert (run.starts, run.is_open, run.detail, site.begun) == (1, True, "", [run.key])


async def test_a_server_that_is_away_for_hours_costs_no_run():
    site = await make_site()
    runner = site.runner()
    site.errors = [StorageError("Redis is away")] * 300
    for step in range(300):
        with pytest.raises(StorageError):
            await runner.look(T0 + HOUR + step * (BEGIN_S + 1))
    await runner.look(T0 + HOUR + 300 * (BEGIN_S + 1))
    (run, *_) = await site.runs()
    assert (run.due_at, run.is_open, site.begun) == (T0 + HOUR, True, [run.key])


async def test_trouble_with_one_schedule_leaves_the_others_alone():
    site = await make_site()
    await site.schedules.add_schedule(replace(SHOP, name="aaa"))
    site.errors = [StorageError("Redis is away")]
    with pytest.raises(StorageError):
        await site.runner().look(T0 + HOUR)
    assert len(site.begun) == 1


async def test_a_crawl_that_was_stopped_with_its_scheduler_goes_on_with_the_next():
    site = await make_site()
    runner = site.runner()
    await runner.look(T0 + HOUR)
    (run,) = await site.runs()
    await site.finish(run.key, FinishReason.SIGNAL)
    job = await site.book.find_by_key(run.key_bytes)
    await site.book.update(replace(job, finished_at=None))  # as a crawl that goes on has it
    site.at_work.clear()
    await site.runner().look(T0 + HOUR + 60)
    assert site.begun == [run.key, run.key]


async def test_however_often_its_scheduler_is_restarted():
    """A crawl of days on a machine that is shut down every night; what is killed afterwards has its tries."""
    site = await make_site()
    runner = site.runner()
    await runner.look(T0 + HOUR)
    (run,) = await site.runs()
    for night in range(1, 10):
        job = await site.book.find_by_key(run.key_bytes)
        await site.book.update(replace(job, end_reason=FinishReason.SIGNAL, finished_at=None))
        site.at_work.clear()
        runner = site.runner()
        await runner.look(T0 + HOUR + night)
        assert site.begun == [run.key] * (night + 1)
    job = await site.book.find_by_key(run.key_bytes)
    await site.book.update(replace(job, end_reason=None))
    for _ in range(MOST_STARTS + 1):
        site.at_work.clear()
        await runner.look(T0 + HOUR + 60)
    assert (await site.runs())[0].outcome is RunOutcome.FAILED
    assert len(site.begun) == 10 + MOST_STARTS - 1


async def test_a_crawl_that_a_person_ended_stays_ended():
    site = await make_site()
    runner = site.runner()
    await runner.look(T0 + HOUR)
    (run,) = await site.runs()
    await site.finish(run.key, FinishReason.CANCELLED)
    await runner.look(T0 + HOUR + 60)
    assert [(one.outcome, one.detail) for one in await site.runs()] == [(RunOutcome.STOPPED, "cancelled")]
    assert site.begun == [run.key]


async def test_a_person_runs_one_now():
    site = await make_site(is_on=False)
    run = await site.runner().run_now((await site.schedules.list_schedules())[0], site.clock)
    assert (run.is_manual, run.job, site.begun) == (True, "shop-1", [run.key])
    with pytest.raises(JobBusyError, match="shop-1 was not over"):
        await site.runner().run_now(SHOP, site.clock)
    await site.finish(run.key)
    await site.runner().look(T0 + 10)
    assert (await site.runs())[0].outcome is RunOutcome.FINISHED


async def test_a_person_does_not_wait_for_somebody_to_note_an_end():
    site = await make_site()
    first = await site.runner().run_now(SHOP, site.clock)
    await site.finish(first.key)
    site.clock.advance(60.0)
    second = await site.runner().run_now(SHOP, site.clock)
    assert [run.outcome for run in await site.runs()] == [RunOutcome.FINISHED, None]
    assert second.job == "shop-2"


async def test_a_person_is_told_what_is_in_the_way():
    site = await make_site()
    site.rival = "process 7 crawls the same"
    with pytest.raises(JobBusyError, match="process 7 crawls the same"):
        await site.runner().run_now(SHOP, site.clock)
    assert (await site.runs())[0].outcome is RunOutcome.SKIPPED


async def test_a_queued_run_waits_for_a_crawl_that_somebody_else_runs():
    site = await make_site(overlap=OverlapRule.QUEUE)
    site.rival = "process 7 crawls the same"
    runner = site.runner()
    await runner.look(T0 + HOUR)
    assert site.begun == []
    site.rival = ""
    await runner.look(T0 + HOUR + 600)
    assert len(site.begun) == 1


async def test_a_schedule_that_is_removed_meanwhile_starts_nothing_more():
    site = await make_site()
    runner = site.runner()
    await runner.look(T0 + HOUR)
    await site.schedules.remove_schedule("shop")
    with suppress(Killed):
        await runner.look(T0 + 2 * HOUR)
    assert len(site.begun) == 1
