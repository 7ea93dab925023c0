"""Spiders written for Scrapy give the same items as there, unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.testing.site import serve_in_thread
from kit.quotes_site import QuotesSite
from kit.scrapy_runs import run_gossamer, run_scrapy

START_REQUESTS = """
import scrapy


class Quotes(scrapy.Spider):
    name = "quotes"

    def start_requests(self):
        yield scrapy.Request(self.url + "/", callback=self.parse)

    def parse(self, response):
        for quote in response.css("div.quote"):
            yield {
                "text": quote.css("span.text::text").get(),
                "author": quote.xpath("span/small/text()").get(),
                "tags": quote.css("div.tags a.tag::text").getall(),
                "page": response.url,
                "depth": response.meta["depth"],
            }
        yield from response.follow_all(css="ul.pager a", callback=self.parse)
"""
AUTHORS = """
import scrapy


class Authors(scrapy.Spider):
    name = "author"

    def __init__(self, url=None, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [url + "/"]

    def parse(self, response):
        yield from response.follow_all(css=".author + a", callback=self.parse_author)
        yield from response.follow_all(css="li.next a", callback=self.parse)

    def parse_author(self, response):
        def extract_with_css(query):
            return response.css(query).get(default="").strip()

        yield {"name": extract_with_css("h3.author-title::text"), "kind": type(response).__name__}
"""
OBJECTS = """
import datetime
from dataclasses import dataclass
from decimal import Decimal

import scrapy
from itemloaders.processors import Join, MapCompose, TakeFirst
from scrapy.loader import ItemLoader
from scrapy.spidermiddlewares.httperror import HttpError


class Author(scrapy.Item):
    name = scrapy.Field(serializer=str.upper)
    seen = scrapy.Field()
    born = scrapy.Field()


class AuthorLoader(ItemLoader):
    default_item_class = Author
    default_output_processor = TakeFirst()
    name_in = MapCompose(str.strip)


@dataclass
class Sum:
    value: Decimal
    when: datetime.date


class Objects(scrapy.Spider):
    name = "objects"

    def start_requests(self):
        yield scrapy.Request(self.url + "/", meta={"tags": {"b", "b"}, "pair": (1, b"x")})

    def parse(self, response):
        yield {"same": 1}
        yield {"same": 1}
        yield {"tags": sorted(response.meta["tags"]), "pair": repr(response.meta["pair"])}
        yield Sum(Decimal("1.50"), datetime.date(2026, 1, 2))
        shared = {"seen": 0}
        for link in response.css("a[href^='/author/']"):
            loader = AuthorLoader(response=response)
            loader.add_value("born", ["", "1900"])
            yield response.follow(
                link,
                callback=lambda found, loader=loader: self.parse_author(found, loader),
                meta={"shared": shared},
            )
        for again in range(3):
            yield scrapy.Request(
                response.urljoin("/page/2/"), self.parse_again, dont_filter=True, cb_kwargs={"again": again}
            )
        yield response.follow("/nowhere", self.parse, errback=self.say)

    def parse_again(self, response, again):
        yield {"again": again}

    def parse_author(self, response, loader):
        response.meta["shared"]["seen"] += 1
        loader.add_value("name", response.css("h3::text").get())
        loader.add_value("seen", 7)
        yield loader.load_item()

    def say(self, failure):
        assert failure.check(HttpError)
        yield {"failed": failure.value.response.status, "at": failure.request.url}
"""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(START_REQUESTS, id="start_requests"),
        pytest.param(AUTHORS, id="authors"),
        pytest.param(OBJECTS, id="objects"),
    ],
)
def test_the_same_file_gives_the_same_items_as_in_scrapy(text: str, tmp_path: Path) -> None:
    file = tmp_path / "spider.py"
    file.write_text(text)
    with serve_in_thread(QuotesSite(35)) as site:
        wanted = run_scrapy(file, url=site.url)
        assert len(wanted) >= 4
        assert run_gossamer(file, url=site.url) == wanted
