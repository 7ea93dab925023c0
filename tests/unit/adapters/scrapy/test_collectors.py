"""Statistics of adapted spiders: what Gossamer counts is there when it is asked for, in any collector."""

from __future__ import annotations

from typing import Any

from scrapy import Spider
from scrapy.settings import Settings
from scrapy.statscollectors import StatsCollector

from gossamer.adapters.scrapy.crawler import AdaptedCrawler
from gossamer.spiders.stats import SpiderStats


class Shop(Spider):
    name = "shop"


class Older(StatsCollector):
    """As projects have written them: with the spider in every method."""

    def open_spider(self, spider: Spider) -> None:  # type: ignore[override]
        self.told = [spider.name]

    def close_spider(self, spider: Spider, reason: str) -> None:  # type: ignore[override]
        self.told += [spider.name, reason, str(self._stats)]


def crawler_with(told: SpiderStats | None = None, **given: Any) -> AdaptedCrawler:
    settings = Settings()
    settings.setdict(given, priority="project")
    crawler = AdaptedCrawler(Shop, settings, told)
    crawler.make_spider({})
    return crawler


def test_what_was_counted_is_there_when_it_is_asked_for() -> None:
    crawler = crawler_with()
    crawler.count("downloader/request_count")
    crawler.count("downloader/request_count", 2)
    assert crawler.stats.get_value("downloader/request_count") == 3
    crawler.count("downloader/request_count")
    crawler.stats.inc_value("downloader/request_count")
    assert crawler.stats.get_stats()["downloader/request_count"] == 5
    crawler.count("item_scraped_count")
    crawler.stats.set_value("item_scraped_count", 0)
    assert crawler.stats.get_value("item_scraped_count") == 0


def test_only_what_a_project_counts_itself_is_told() -> None:
    told = SpiderStats()
    stats = crawler_with(told).stats
    stats.inc_value("mine", 2)
    stats.inc_value("mine", 3)
    stats.max_value("mine", 9)  # the first way to count stays
    stats.set_value("title", "no number")
    stats.inc_value("log_count/ERROR")
    stats.inc_value("x" * 100)
    assert (told.get("mine"), told.get("title"), told.get("log_count/ERROR")) == (5, None, None)
    assert stats.get_value("mine") == 9


def test_a_collector_of_an_older_project_gets_its_spider() -> None:
    crawler = crawler_with(STATS_CLASS=Older)
    stats: Any = crawler.stats
    crawler.count("item_scraped_count")
    stats.open_spider()
    stats.close_spider(reason="finished")
    assert stats.told == ["shop", "shop", "finished", "{'item_scraped_count': 1}"]


def test_a_count_that_was_set_first_counts_on() -> None:
    told = SpiderStats()
    stats = crawler_with(told).stats
    stats.set_value("own/pages", 0)
    for _ in range(3):
        stats.inc_value("own/pages")
    stats.inc_value("own/others", 2)
    stats.set_value("own/others", 9)
    assert stats.get_value("own/pages") == 3
    assert (told.get("own/pages"), told.get("own/others")) == (3, 2)
