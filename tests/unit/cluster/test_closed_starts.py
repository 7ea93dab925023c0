"""A fleet's job whose spider ends the crawl while it gives its first requests ends with that reason."""

from __future__ import annotations

import asyncio

from gossamer.cluster.running import make_supervisor
from gossamer.cluster.shift_task import ShiftTask
from gossamer.config.layers import load_settings
from gossamer.core.jobs import tag_of
from gossamer.core.lifecycle import FinishReason, JobCommand, JobState
from gossamer.core.shifts import SEED_LANE, EndReason, Shift
from gossamer.engine.job_stop import read_stop
from gossamer.jobs.control import change_job, prepare_submission, submit_job
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


class Messages:
    """Port of the broker: what was asked for."""

    def publish(self, shifts):
        pass


async def quiet():
    pass


async def test_a_start_that_closes_a_job_of_a_fleet_ends_it_with_its_reason(redis_url, tmp_path):
    """With nothing to fetch and with a request that waits; resumed, it begins with its start again."""
    given = {"data": str(tmp_path), "frontier.url": redis_url}
    settings = load_settings(env={}, overrides=given).settings
    backends = await open_backends(settings, create=True)
    fleet = make_supervisor(settings, backends, Messages(), "me")
    leading = asyncio.create_task(fleet._renew_leadership())
    try:
        await fleet._leading.wait()
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
                assert await read_stop(backends.requests.shared, tag_of(job)) == "", "the next run goes on"
                job = await change_job(backends, job, JobCommand.RESUME)
                assert (job.state, job.finished_at) == (JobState.RUNNING, None)
    finally:
        leading.cancel()
        await asyncio.gather(leading, return_exceptions=True)
        await backends.close()
