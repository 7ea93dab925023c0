"""A spider that was written for Scrapy, on a fleet: the same items as on one machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gossamer.testing.site import serve_in_thread
from kit.fleet.processes import Fleet, Servers
from kit.quotes_site import QuotesSite

pytestmark = pytest.mark.timeout(300)

SPIDER = """
import datetime

import scrapy


class Author(scrapy.Item):
    name = scrapy.Field()
    page = scrapy.Field()


class Quotes(scrapy.Spider):
    name = "quotes"
    start_urls = ["{url}/"]
    custom_settings = {{"DOWNLOAD_DELAY": 0, "ROBOTSTXT_OBEY": False, "CONCURRENT_REQUESTS_PER_DOMAIN": 4}}

    def start_requests(self):
        for url in self.start_urls:
            yield scrapy.Request(url, dont_filter=True, meta={{"since": datetime.date(2026, 1, 2)}})

    def parse(self, response):
        for quote in response.css("div.quote"):
            yield {{"same": self.settings["OWN"]}}
        author = Author(page=len(response.css("div.quote")))
        yield response.follow(
            "/author/Ada-Weaver", self.parse_author, dont_filter=True, meta={{"author": author}}
        )
        yield from response.follow_all(css="li.next a", meta=response.meta)

    def parse_author(self, response):
        author = response.meta["author"]
        author["name"] = response.css("h3::text").get().strip()
        yield author
"""


@pytest.mark.long
def test_workers_crawl_a_spider_of_scrapys(servers: Servers, tmp_path: Path) -> None:
    """Settings of Scrapy's travel with the job, and so do items in ``meta``; equal items are all kept."""
    spider = tmp_path / "quotes.py"
    with serve_in_thread(QuotesSite(95)) as site, Fleet(tmp_path, servers, workers=2) as fleet:
        spider.write_text(SPIDER.format(url=site.url))
        result = fleet.wait(fleet.submit(spider, "-s", "OWN=by hand"))
        out = tmp_path / "out.jsonl"
        fleet.run("export", "quotes", "-o", str(out))
    assert (result["finish_reason"], result["dead"], result["items"]) == ("finished", 0, 105)
    items = [json.loads(line) for line in out.read_text().splitlines()]
    assert items.count({"same": "by hand"}) == 95
    assert sum(item.get("name") == "Ada Weaver" for item in items) == 10
