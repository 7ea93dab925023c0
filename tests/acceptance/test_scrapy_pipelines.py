"""Item pipelines of Scrapy's projects do to items what they do there."""

from __future__ import annotations

from pathlib import Path

from gossamer.testing.site import serve_in_thread
from kit.programs import crawl
from kit.quotes_site import QuotesSite
from kit.scrapy_runs import run_gossamer, run_scrapy

SPIDER = """
import asyncio
import sys
from dataclasses import dataclass

import scrapy
from scrapy import signals
from scrapy.exceptions import DropItem, NotConfigured
from twisted.internet.defer import Deferred, succeed


@dataclass
class Priced:
    number: int
    price: float


class Diary:
    "What happened, in order, in a file beside the spider."

    def __init__(self, crawler):
        self.crawler = crawler
        self.file = None
        for name in ("item_scraped", "item_dropped", "item_error"):
            crawler.signals.connect(getattr(self, name), getattr(signals, name))

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def note(self, *words):
        print(*words, file=self.file)

    def open_spider(self, spider):
        self.file = open(f"{spider.out}.diary", "w")
        self.note("open", spider.name, self.crawler.spider is spider)

    def close_spider(self, spider):
        self.note("close")
        self.file.close()

    def process_item(self, item, spider):
        self.note("first", dict(item))
        return item

    def item_scraped(self, item, response, spider):
        self.note("scraped", item, response.status, type(response).__name__)

    async def item_dropped(self, item, response, spider, exception):
        await asyncio.sleep(0)
        self.note("dropped", item["number"], exception, response.status)

    def item_error(self, item, response, spider, failure):
        self.note("error", item["number"], failure.type.__name__, failure.value)


class Later:
    async def open_spider(self):
        await asyncio.sleep(0)
        self.ready = True

    async def process_item(self, item):
        await asyncio.sleep(0)
        if item["number"] == 1:
            raise DropItem("one is too few")
        item["later"] = self.ready
        return item


class Broken:
    def process_item(self, item, spider):
        if item["number"] == 2:
            raise ValueError("two")
        return succeed(item)


class Forgetful:
    @classmethod
    def from_settings(cls, settings):
        return cls()

    def process_item(self, item, spider):
        if item["number"] == 3:
            return None
        return item if item["number"] % 2 else Priced(item["number"], 1.5)


class Unwanted:
    @classmethod
    def from_crawler(cls, crawler):
        raise NotConfigured("not here")


class Numbers(scrapy.Spider):
    name = "numbers"
    custom_settings = {
        "ITEM_PIPELINES": {Forgetful: 900, Diary: 100, Broken: 500, Later: 300, Unwanted: 1}
    }

    def start_requests(self):
        yield scrapy.Request(self.url + "/")

    def parse(self, response):
        for number in range(6):
            yield {"number": number}
"""


def test_items_pass_the_pipelines_of_a_project_as_in_scrapy(tmp_path: Path) -> None:
    file = tmp_path / "spider.py"
    file.write_text(SPIDER)
    with serve_in_thread(QuotesSite(5)) as site:
        wanted = run_scrapy(file, "-a", "out=scrapy", url=site.url)
        given = run_gossamer(file, "-a", "out=gossamer", url=site.url)
    assert [item["number"] for item in wanted] == [5, 0, 4]
    assert given == wanted
    told, same = (
        sorted((tmp_path / f"{name}.diary").read_text().splitlines()) for name in ("scrapy", "gossamer")
    )
    assert "open numbers True" in told
    assert sum("dropped" in line or "error" in line for line in told) == 2
    assert same == told


def test_an_item_that_a_pipeline_fails_on_is_counted_and_the_page_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "spider.py"
    file.write_text(SPIDER)
    with serve_in_thread(QuotesSite(5)) as site:
        told = crawl(file.name, "-a", f"url={site.url}", "-a", "out=x", "-s", "robots=false", cwd=tmp_path)
    assert told["dropped"] == 3
    assert told["dead"] == 0
    assert told["pages"] == 1
