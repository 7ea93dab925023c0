"""What the code of a project counts is among the spider's own statistics."""

from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.spiders import Spider
from scrapy.statscollectors import MemoryStatsCollector

from gossamer.adapters.scrapy.collectors import make_collector_type
from gossamer.spiders.stats import SpiderStats


def test_a_count_that_was_set_first_counts_on():
    collector = make_collector_type(MemoryStatsCollector)(Crawler(Spider, Settings()))
    collector.told = told = SpiderStats()
    collector.set_value("own/pages", 0)
    for _ in range(3):
        collector.inc_value("own/pages")
    collector.inc_value("own/others", 2)
    collector.set_value("own/others", 9)
    assert collector.get_value("own/pages") == 3
    assert (told.get("own/pages"), told.get("own/others")) == (3, 2)
