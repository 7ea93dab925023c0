"""Replays from code: where the spider and its settings come from, and what is left of one that is stopped."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer import Spider, crawl
from gossamer.config.layers import load_settings
from gossamer.config.option import SettingOption
from gossamer.core.errors import UsageError
from gossamer.core.exits import ExitCode, exit_of
from gossamer.core.jobs import Job
from gossamer.crawl.replay import ReplayPlan, _options_of, plan_replay, prepare_replay
from gossamer.targets.discovery import find_target
from gossamer.targets.planned_spider import plan_of
from gossamer.testing.shop import Shop
from gossamer.testing.site import Site, serve_in_thread
from gossamer.wiring.backends import Backends, open_backends

SPIDER = """
from gossamer import Spider

class ShopSpider(Spider):
    name = "shop"
    start_urls = ["{url}/catalog"]
    allowed_domains = ["127.0.0.1"]

    def __init__(self, category="all"):
        self.category = category

    def parse(self, response):
        yield {{"category": self.category, "title": response.css("title::text").get()}}
        yield from response.follow_all(css="a.product")
"""


async def crawled_by_class(site: Site, data: Path) -> None:
    class ShopSpider(Spider):
        name = "shop"
        start_urls = [f"{site.url}/catalog"]

    await crawl(ShopSpider, data=str(data), delay=0.0, **{"archive.on": True})


async def open_at(data: Path) -> tuple[Backends, Job]:
    settings = load_settings(overrides={"data": str(data)}, env={}).settings
    backends = await open_backends(settings)
    job = await backends.book.get("shop")
    assert job is not None
    return backends, job


def exists(path: str) -> bool:
    return Path(path).exists()


async def test_a_replay_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    spider = tmp_path / "shop.py"
    with serve_in_thread(Shop(5)) as site:
        spider.write_text(SPIDER.format(url=site.url))
        arguments = {"category": "lamps"}
        settings = {"data": str(tmp_path / "data"), "delay": 0.0, "archive.on": True}
        await crawl(str(spider), arguments=arguments, **settings)
        hits = len(site.hits)
        backends, job = await open_at(tmp_path / "data")
        try:
            replay = await prepare_replay(backends, job)
            replay.crawling.stop()
            result = await replay.run()
            assert exists(result.data)
            await replay.close()
            assert result.crawled.ending.is_early
            assert not exists(result.data)
            assert await backends.versions.list_versions(job.id) == []
            deferred = SettingOption("extract.deferred", True, "of a job of a fleet")
            whole = await prepare_replay(backends, job, options=[deferred])
            result = await whole.run()
            await whole.close()
            assert (result.crawled.items, result.missing, result.failures) == (6, 0, {})
            assert [each.job for each in await backends.versions.list_versions(job.id)] == ["shop-1-r1"]
        finally:
            await backends.close()
        assert len(site.hits) == hits


async def test_a_crawl_that_a_program_began_needs_the_name_of_its_spider(tmp_path: Path) -> None:
    with serve_in_thread(Shop(1)) as site:
        await crawled_by_class(site, tmp_path / "data")
        (tmp_path / "shop.py").write_text(SPIDER.format(url=site.url))
        backends, job = await open_at(tmp_path / "data")
        try:
            with pytest.raises(UsageError, match=r"shop-1 was begun by a program, .* --spider FILE.py"):
                await prepare_replay(backends, job)
            replay = await prepare_replay(backends, job, target=str(tmp_path / "shop.py"))
            result = await replay.run()
            await replay.close()
        finally:
            await backends.close()
    assert (result.crawled.items, result.missing) == (1, 1), "the product's page is new to the archive"
    assert (result.crawled.ending.dead, result.ending.dead) == (1, 0), "and no failure of the replay"
    without_pages = replace(result.crawled, ending=result.crawled.ending._replace(pages=0))
    assert exit_of(replace(result, crawled=without_pages).ending) is ExitCode.DEAD_LETTERS


async def test_a_job_of_a_fleet_is_replayed_as_it_was_submitted(tmp_path: Path) -> None:
    spider = tmp_path / "shop.py"
    spider.write_text(SPIDER.format(url="http://a.example"))
    said = {"max_depth": 3, "parse.callback_timeout": 5.0, "max_pages": 9, "archive.url": "/archive"}
    said["extract.deferred"] = True
    settings = load_settings(overrides=said, env={}).settings
    arguments = {"category": "lamps"}
    plan = plan_of(str(spider), arguments, settings, find_target(str(spider), arguments, None))
    job = Job(id="shop-1", name="shop", target="shop", created_at=1.0, plan=plan)
    backends = await open_backends(
        load_settings(overrides={"data": str(tmp_path)}, env={}).settings, create=True
    )
    try:
        more = [SettingOption("parse.callback_timeout", 7.0, "-s")]
        found = await plan_replay(backends, job, target="", arguments={"category": "rugs"}, options=more)
    finally:
        await backends.close()
    assert (found.target, found.arguments, found.archive) == (str(spider), {"category": "rugs"}, "/archive")
    options = {option.key: option.value for option in found.options}  # a later one counts
    assert options["max_depth"] == 3
    assert options["parse.callback_timeout"] == 7.0
    assert "delay" not in options, "what nobody said follows the project of today"
    taken = {option.key: option.value for option in _options_of(found, "shop-1", tmp_path)}
    assert taken["extract.deferred"] is False, "else it would be refused: it is not a fleet that replays"


def test_what_ends_a_crawl_ends_no_replay(tmp_path: Path) -> None:
    """A bug it would catch: requests that the archive has no answer to are errors, and too many of them."""
    ends = [SettingOption(f"max_{what}", 5, "-s") for what in ("pages", "items", "errors", "time")]
    plan = ReplayPlan(target="t", folder=tmp_path, arguments={}, options=ends, archive="/archive")
    settings = load_settings(overrides=_options_of(plan, "shop-1", tmp_path), env={}).settings
    found = (settings.max_pages, settings.max_items, settings.max_errors, settings.max_time)
    assert found == (None,) * 4
