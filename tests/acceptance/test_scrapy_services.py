"""Signals, statistics, extensions and the end of a crawl mean for Scrapy's spiders what they mean there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gossamer.testing.site import serve_in_thread
from kit.programs import run
from kit.quotes_site import QuotesSite
from kit.scrapy_runs import run_gossamer, run_scrapy

DIARY = """
import asyncio
import json

import scrapy
from scrapy import signals
from scrapy.exceptions import CloseSpider, DontCloseSpider, IgnoreRequest, NotConfigured
from twisted.internet.defer import Deferred, succeed

NAMES = (
    "engine_started engine_stopped spider_opened spider_idle spider_closed spider_error request_scheduled "
    "response_received item_scraped request_reached_downloader request_left_downloader response_downloaded "
    "headers_received bytes_received"
).split()
COUNTS = (
    "finish_reason item_scraped_count item_dropped_count spider_exceptions/ValueError mine highest "
    "downloader/request_count downloader/response_count downloader/response_status_count/200 "
    "downloader/response_status_count/404 downloader/request_method_count/GET response_received_count "
    "log_count/ERROR"
).split()


class Diary:
    def __init__(self, crawler):
        self.crawler = crawler
        self.told = []
        for name in NAMES:
            crawler.signals.connect(self.listener(name), getattr(signals, name), weak=False)

    @classmethod
    def from_crawler(cls, crawler):
        if not crawler.settings.getbool("DIARY_ENABLED", True):
            raise NotConfigured("no diary")
        return cls(crawler)

    def listener(self, name):
        def listen(**values):
            words = [name]
            if "request" in values:
                words.append(values["request"].url.rpartition("/")[2])
            if "response" in values and "item" not in values:
                words.append(values["response"].status)
            if "reason" in values:
                words.append(values["reason"])
            if "failure" in values:
                words.append(values["failure"].type.__name__)
            self.told.append(words)
            if name == "engine_stopped":
                stats = self.crawler.stats.get_stats()
                counts = {key: stats.get(key) for key in COUNTS}
                counts["took"] = stats["elapsed_time_seconds"] > 0
                counts["ends"] = stats["start_time"] < stats["finish_time"]
                with open(self.crawler.spider.out + ".json", "w") as file:
                    json.dump({"told": self.told, "counts": counts, "spider": self.crawler.spider.told}, file)

        return listen


class Noticed:
    custom_settings = {"EXTENSIONS": {Diary: 500}, "CONCURRENT_REQUESTS": 1, "STATS_DUMP": False}
    told = ()

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.told = []
        crawler.signals.connect(spider.opened, signals.spider_opened)
        crawler.signals.connect(spider.leave, signals.spider_closed)
        return spider

    def opened(self, spider):
        assert self.crawler.get_extension(Diary).crawler is self.crawler
        self.told.append("opened")
        self.word = "from the signal"

    async def leave(self, spider, reason):
        await asyncio.sleep(0)
        self.told.append(["left", reason])

    def closed(self, reason):
        self.told.append(["closed", reason])

    def start_requests(self):
        yield scrapy.Request(self.url + "/")
"""
PAGES = """

class Pages(Noticed, scrapy.Spider):
    name = "pages"

    def parse(self, response):
        self.crawler.stats.inc_value("mine", 2)
        self.crawler.stats.max_value("highest", len(response.url) * 0 + 7)
        yield {"word": self.word}
        yield response.follow("/page/2/", self.parse_second)

    def parse_second(self, response):
        yield {"page": 2}
        yield response.follow("/nowhere", self.parse)
        raise ValueError("after all")
"""
STOPPED = """

class Stopped(Noticed, scrapy.Spider):
    name = "stopped"

    def parse(self, response):
        yield {"word": self.word}
        raise CloseSpider("enough")
"""
STOPPED_OUTSIDE = """

class Stopped(Noticed, scrapy.Spider):
    name = "stopped"

    def parse(self, response):
        self.crawler.engine.close_spider(self, "told so")
        yield {"word": self.word}
"""
IDLE = """

class Idle(Noticed, scrapy.Spider):
    name = "idle"
    rounds = 0

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.idle, signals.spider_idle)
        return spider

    def idle(self, spider):
        self.rounds += 1
        if self.rounds <= 3:
            request = scrapy.Request(self.url + "/", dont_filter=True, meta={"round": self.rounds})
            self.crawler.engine.crawl(request)
            raise DontCloseSpider
        raise CloseSpider("all done")

    def parse(self, response):
        yield {"round": response.meta.get("round")}
"""
ASKED_FOR = """

class AskedFor(Noticed, scrapy.Spider):
    name = "asked-for"

    def parse(self, response):
        request = scrapy.Request(self.url + "/page/2/", self.parse_second, cb_kwargs={"seen": 1})
        self.crawler.engine.crawl(request)
        yield {"page": 1}

    def parse_second(self, response, seen):
        yield {"page": 2, "seen": seen}
"""
REFUSED = """

class Refusal:
    @classmethod
    def from_crawler(cls, crawler):
        refusal = cls()
        crawler.signals.connect(refusal.refuse, signals.request_scheduled)
        return refusal

    def refuse(self, request, spider):
        if "author" in request.url:
            raise IgnoreRequest


class Refused(Noticed, scrapy.Spider):
    name = "refused"
    custom_settings = {**Noticed.custom_settings, "EXTENSIONS": {Diary: 500, Refusal: 600}}

    def parse(self, response):
        yield {"kind": response.url.split("/")[3]}
        if response.url.count("/") < 4:
            yield from response.follow_all(css="a")
"""


def told_by(file: Path, name: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(file.with_name(f"{name}.json").read_text())
    return told


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PAGES, id="pages"),
        pytest.param(STOPPED, id="CloseSpider"),
        pytest.param(STOPPED_OUTSIDE, id="close_spider"),
        pytest.param(IDLE, id="spider_idle"),
        pytest.param(ASKED_FOR, id="engine.crawl"),
        pytest.param(REFUSED, id="request_scheduled"),
    ],
)
def test_the_same_is_told_as_in_scrapy(text: str, tmp_path: Path) -> None:
    file = tmp_path / "spider.py"
    file.write_text(DIARY + text)
    with serve_in_thread(QuotesSite(15)) as site:
        wanted = run_scrapy(file, "-a", "out=scrapy", url=site.url)
        given = run_gossamer(file, "-a", "out=gossamer", url=site.url)
    assert given == wanted
    scrapy, gossamer = told_by(file, "scrapy"), told_by(file, "gossamer")
    assert gossamer["counts"] == scrapy["counts"]
    assert gossamer["spider"] == scrapy["spider"]
    assert gossamer["told"][:3] == scrapy["told"][:3]
    assert gossamer["told"][-3:] == scrapy["told"][-3:]
    assert sorted(map(str, gossamer["told"])) == sorted(map(str, scrapy["told"]))


def test_what_the_code_of_a_project_counts_is_in_the_summary(tmp_path: Path) -> None:
    file = tmp_path / "spider.py"
    file.write_text(DIARY + PAGES)
    with serve_in_thread(QuotesSite(15)) as site:
        done = run("crawl", file.name, "-a", f"url={site.url}", "-a", "out=x", "--json", cwd=tmp_path)
    told = json.loads(done.stdout)
    assert told["stats"] == {"mine": 2, "highest": 7}
