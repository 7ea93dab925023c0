"""A job goes on with the spider as it is now: on a fleet when a person says so, and the switch is noted."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from gossamer.cli.app import build_app
from gossamer.cluster.shift_task import ShiftTask
from gossamer.config.layers import load_settings
from gossamer.core.jobs import DeadLetterFilter
from gossamer.core.shifts import PAGE_LANE, SEED_LANE, EndReason, Shift
from gossamer.jobs.control import prepare_submission, submit_job
from gossamer.queries.status import read_status
from gossamer.testing.shop import Shop
from gossamer.testing.site import serve_in_thread
from gossamer.wiring.backends import open_backends

SPIDER = """
from gossamer import Request, Spider


class Growing(Spider):
    name = "growing"
    allowed_domains = ["127.0.0.1"]
    settings = {{"delay": 0, "robots": False}}

    async def start(self):
        yield Request("{url}/", callback="{callback}")
        yield Request("{url}/?again=1", callback="parse")

    def parse(self, response):
        yield {{"url": response.url, "by": "{by}"}}

    def {callback}(self, response):
        yield {{"url": response.url, "by": "{by}"}}
"""


def write(folder, url, callback, by):
    file = folder / "growing.py"
    file.write_text(SPIDER.format(url=url, callback=callback, by=by))
    return str(file)


@pytest.fixture
def site():
    with serve_in_thread(Shop(2, per_page=2, related=0)) as served:
        yield served.url


async def quiet():
    pass


@pytest.mark.long
async def test_a_fleet_s_job_goes_on_with_the_spider_that_is_adopted(site, redis_url, tmp_path):
    spider = write(tmp_path, site, "parse_old", "first")
    given = {"data": str(tmp_path), "frontier.url": redis_url, "cluster.shift": 5.0}
    settings = load_settings(env={}, overrides=given).settings
    options = [word for key in ("data", "frontier.url") for word in ("-s", f"{key}={given[key]}")]

    def gossamer(*words):
        return asyncio.to_thread(CliRunner().invoke, build_app(), [*words, *options])

    async def work(lane):
        shift = Shift(id=lane, job=job.id, lane=lane, worker="w", expires_at=0.0)
        return await ShiftTask(shift, settings, backends, quiet).run()

    backends = await open_backends(settings, create=True)
    try:
        job = await submit_job(backends, *prepare_submission(spider, {}, given))
        assert (await work(SEED_LANE)).why is EndReason.SEEDED
        write(tmp_path, site, "parse_new", "second")
        refused = await work(PAGE_LANE)
        assert (refused.why, "`gossamer resume JOB --adopt`" in refused.detail) == (EndReason.REFUSED, True)
        plain = await gossamer("resume", job.id)
        assert plain.exit_code == 0
        refused = await work(PAGE_LANE)
        assert refused.why is EndReason.REFUSED
        roster = backends.requests.fleet.roster_of(job)
        shift = Shift(id=PAGE_LANE, job=job.id, lane=PAGE_LANE, expires_at=backends.clock.now() + 60)
        assert await roster.request_shifts([shift], {}, await roster.claim_leadership("s", 60))
        assert await roster.begin_shift(PAGE_LANE, "w")
        await roster.end_shifts([replace(refused, worker="w")])
        assert (await roster.read_roster()).standings
        for _ in range(2):  # the second time there is nothing to adopt
            adopted = await gossamer("resume", job.id, "--adopt")
            assert adopted.exit_code == 0, adopted.output
        assert (await roster.read_roster()).standings == (), "a worker is asked at once"
        assert (await work(PAGE_LANE)).why is EndReason.IDLE
        items = [item async for item in backends.store.read_items(job)]
        assert [item.data["by"] for item in items] == ["second"]
        (letter,) = await backends.open_frontier(job).dead_letters(DeadLetterFilter(), 10)
        assert letter.reason == "callback"
        details = "".join(one.detail for one in await backends.store.latest_attempts(job, limit=10))
        assert "has no method 'parse_old', which the request names as its callback" in details
        (switch,) = (await read_status(backends, job)).switches
        shown = await gossamer("status", job.id)
        assert f"{switch.after} instead of {switch.before}" in shown.stdout
        assert switch.before != switch.after
    finally:
        await backends.close()


@pytest.mark.slow
def test_a_crawl_of_this_machine_notes_that_its_spider_is_another_version(site, tmp_path):
    def crawl(callback, by):
        spider = write(tmp_path, site, callback, by)
        words = ["crawl", spider, "--data", str(tmp_path / "data"), "--max-pages", "1", "--json"]
        return CliRunner().invoke(build_app(), words)

    async def switches():
        backends = await open_backends(
            load_settings(env={}, overrides={"data": str(tmp_path / "data")}).settings
        )
        try:
            (job,) = await backends.book.list_jobs()
            return (await read_status(backends, job)).switches
        finally:
            await backends.close()

    for _ in range(2):
        crawl("parse_old", "first")
        assert asyncio.run(switches()) == ()
    crawl("parse_new", "second")
    (switch,) = asyncio.run(switches())
    assert switch.before != switch.after
