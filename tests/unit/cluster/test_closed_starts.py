"""A fleet's job whose spider ends the crawl outside of callbacks ends with that reason."""

from __future__ import annotations

import asyncio
import contextlib

from msgspec.structs import replace

from gossamer.cluster.running import make_supervisor
from gossamer.cluster.shift_task import ShiftTask
from gossamer.config.layers import load_settings
from gossamer.core.jobs import tag_of
from gossamer.core.lifecycle import FinishReason, JobCommand, JobState
from gossamer.core.shifts import PAGE_LANE, SEED_LANE, EndReason, Shift
from gossamer.engine.job_stop import read_stop
from gossamer.jobs.control import change_job, prepare_submission, reopen_job, submit_job
from gossamer.testing.contracts.frontier_harness import make_entry
from gossamer.wiring.backends import open_backends

SPIDER = """
import scrapy
from scrapy.exceptions import CloseSpider


class Closing(scrapy.Spider):
    name = "closing_{asks}"
    custom_settings = {"ROBOTSTXT_OBEY": False}

    async def start(self):
        if {asks}:
            yield scrapy.Request("http://shop.example/")
        raise CloseSpider("no_key")
"""


CLOSED_LATER = """
from pathlib import Path

import scrapy


class ClosedLater(scrapy.Spider):
    name = "closed_later"
    custom_settings = {"ROBOTSTXT_OBEY": False}
    start_urls = ["http://127.0.0.1:1/"]

    @classmethod
    def from_crawler(cls, crawler):
        if Path("{mark}").exists():  # a timer or a signal handler would do it later
            crawler.engine.close_spider(reason="enough")
        return super().from_crawler(crawler)
"""


ASKED = """
from pathlib import Path

import gossamer


class Asked(gossamer.Spider):
    name = "asked"
    start_urls = [{urls}]

    def find_end(self):
        Path("{mark}.asked").touch()
        return "enough" if Path("{mark}").exists() else ""
"""
"""A spider that wants the end while a file is there."""


class Messages:
    """Port of the broker: what was asked for."""

    def publish(self, shifts):
        pass


async def quiet():
    pass


@contextlib.asynccontextmanager
async def open_fleet(settings):
    """Its back ends, and a supervisor that leads."""
    backends = await open_backends(settings, create=True)
    fleet = make_supervisor(settings, backends, Messages(), "me")
    leading = asyncio.create_task(fleet._renew_leadership())
    try:
        await fleet._leading.wait()
        yield backends, fleet
    finally:
        leading.cancel()
        await asyncio.gather(leading, return_exceptions=True)
        await backends.close()


class AskedJob:
    """A job of such a spider, which is seeded, and the shifts that work on it."""

    def __init__(self, folder, redis_url, urls=""):
        self.mark, self.asked = folder / "mark", folder / "mark.asked"
        self.given = {"data": str(folder), "frontier.url": redis_url}
        self.settings = load_settings(env={}, overrides=self.given).settings
        self.spider = folder / "asked.py"
        self.spider.write_text(ASKED.replace("{mark}", str(self.mark)).replace("{urls}", urls))

    async def submit(self, backends):
        job = await submit_job(backends, *prepare_submission(str(self.spider), {}, self.given))
        seeding = Shift(id="s", job=job.id, lane=SEED_LANE, worker="w", expires_at=0.0)
        await ShiftTask(seeding, self.settings, backends, quiet).run()
        self.asked.unlink()
        return job

    def make_shift(self, backends, job):
        """A shift that ends when it rings for the supervisor."""

        async def hear_bell():
            task.stop(EndReason.STOPPED)

        shift = Shift(id="p", job=job.id, lane=PAGE_LANE, worker="w", expires_at=0.0)
        task = ShiftTask(shift, self.settings, backends, hear_bell)
        return task

    async def see_asked(self):
        async with asyncio.timeout(10):
            while not self.asked.exists():  # noqa: ASYNC110 - a file of the spider
                await asyncio.sleep(0.01)


async def test_a_start_that_closes_a_job_of_a_fleet_ends_it_with_its_reason(redis_url, tmp_path):
    """With nothing to fetch and with a request that waits; resumed, it begins with its start again."""
    given = {"data": str(tmp_path), "frontier.url": redis_url}
    settings = load_settings(env={}, overrides=given).settings
    async with open_fleet(settings) as (backends, fleet):
        for asks in (False, True):
            spider = tmp_path / f"closing_{asks}.py"
            spider.write_text(SPIDER.replace("{asks}", str(asks)))
            job = await submit_job(backends, *prepare_submission(str(spider), {}, given))
            for _ in range(2):
                shift = Shift(id="s", job=job.id, lane=SEED_LANE, worker="w", expires_at=0.0)
                end = await ShiftTask(shift, settings, backends, quiet).run()
                assert end.why is EndReason.SEEDED, end.detail
                await fleet.check_jobs()
                job = await backends.book.get(job.id)
                assert (job.end_reason, job.end_error) == (FinishReason.STOPPED, "no_key"), asks
                job = await change_job(backends, job, JobCommand.RESUME)
                assert (job.state, job.finished_at) == (JobState.RUNNING, None)
                assert await read_stop(backends.requests.shared, tag_of(job)) == "", "the next run goes on"


async def test_an_engine_that_is_closed_while_nothing_comes_to_its_worker_ends_the_job(redis_url, tmp_path):
    """A bug it would catch: it is heard with the worker's next callback, which may never come."""
    given = {"data": str(tmp_path), "frontier.url": redis_url}
    settings = load_settings(env={}, overrides=given).settings
    mark, spider = tmp_path / "mark", tmp_path / "closed_later.py"
    spider.write_text(CLOSED_LATER.replace("{mark}", str(mark)))
    async with open_fleet(settings) as (backends, fleet):
        job = await submit_job(backends, *prepare_submission(str(spider), {}, given))
        seeding = Shift(id="s", job=job.id, lane=SEED_LANE, worker="w", expires_at=0.0)
        await ShiftTask(seeding, settings, backends, quiet).run()
        mark.touch()

        async def hear_bell():
            working.stop(EndReason.STOPPED)

        working = ShiftTask(replace(seeding, lane=PAGE_LANE), settings, backends, hear_bell)
        await working.run()
        await fleet.check_jobs()
        job = await backends.book.get(job.id)
        assert (job.end_reason, job.end_error) == (FinishReason.STOPPED, "enough")


async def test_a_resumed_job_hears_no_stop_of_the_run_that_has_ended(redis_url, tmp_path):
    """Bug it would catch: each shift asks for itself, so the second ends the job again when it is resumed."""
    asked = AskedJob(tmp_path, redis_url, '"http://127.0.0.1:1/"')
    async with open_fleet(asked.settings) as (backends, fleet):
        job = await asked.submit(backends)
        late = asked.make_shift(backends, job)
        working = asyncio.create_task(late.run())
        await asked.see_asked()
        asked.mark.touch()
        await asked.make_shift(backends, job).run()
        await fleet.check_jobs()
        job = await backends.book.get(job.id)
        assert (job.end_reason, job.end_error) == (FinishReason.STOPPED, "enough")
        await asked.make_shift(backends, job).run()  # asks again: the job has ended, and is not resumed yet
        job = await change_job(backends, job, JobCommand.RESUME)
        await working  # has asked by now, too
        await fleet.check_jobs()
        job = await backends.book.get(job.id)
        assert (job.end_reason, job.end_error) == (None, "")
        await asked.make_shift(backends, job).run()
        await fleet.check_jobs()
        job = await backends.book.get(job.id)
        assert (job.end_reason, job.end_error) == (FinishReason.STOPPED, "enough"), "of the new run"
        job = await change_job(backends, job, JobCommand.PAUSE)
        job = await change_job(backends, job, JobCommand.RESUME)
        await fleet.check_jobs()
        job = await backends.book.get(job.id)
        assert (job.end_reason, job.end_error) == (None, ""), "paused after its end"


async def test_a_shift_asks_its_spider_once_more_when_it_has_ended(redis_url, tmp_path):
    """Bug it would catch: what the last item's signal handlers ask for is lost with the shift."""
    asked = AskedJob(tmp_path, redis_url, '"http://127.0.0.1:1/"')
    async with open_fleet(asked.settings) as (backends, fleet):
        job = await asked.submit(backends)
        shift = asked.make_shift(backends, job)
        working = asyncio.create_task(shift.run())
        await asked.see_asked()
        asked.mark.touch()
        shift.stop(EndReason.TIME)
        assert (await working).why is EndReason.TIME
        await fleet.check_jobs()
        job = await backends.book.get(job.id)
        assert (job.end_reason, job.end_error) == (FinishReason.STOPPED, "enough")


async def test_a_stop_that_a_finished_job_leaves_does_not_end_its_next_run(redis_url, tmp_path):
    asked = AskedJob(tmp_path, redis_url)
    async with open_fleet(asked.settings) as (backends, fleet):
        job = await asked.submit(backends)
        asked.mark.touch()
        await asked.make_shift(backends, job).run()
        await fleet.check_jobs()
        job = await backends.book.get(job.id)
        assert (job.state, job.end_reason) == (JobState.FINISHED, FinishReason.FINISHED)
        frontier = backends.open_frontier(job)
        await frontier.apply_change(JobCommand.REOPEN)
        await frontier.add([make_entry(1)])
        await reopen_job(backends, job)
        await fleet.check_jobs()
        job = await backends.book.get(job.id)
        assert (job.state, job.end_reason) == (JobState.RUNNING, None)
