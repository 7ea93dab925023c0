"""How a project tells requests apart: its own filters and fingerprints are asked, a server's are not."""

import sys
from types import ModuleType

import pytest
import scrapy
from scrapy import Request
from scrapy.dupefilters import BaseDupeFilter, RFPDupeFilter
from scrapy.settings import Settings

from gossamer.adapters.scrapy.crawler import AdaptedCrawler
from gossamer.adapters.scrapy.duplicates import ProjectFilter


class ByPath(RFPDupeFilter):
    def request_fingerprint(self, request):
        return super().request_fingerprint(request.replace(url=request.url.partition("?")[0]))


class Once:
    """A filter that derives from nothing."""

    @classmethod
    def from_crawler(cls, crawler):
        return cls()

    def open(self):
        self.seen, self.closed = set(), ""

    def request_seen(self, request):
        is_seen = request.url in self.seen
        self.seen.add(request.url)
        return is_seen

    def close(self, reason):
        self.closed = reason


def made(kind) -> ProjectFilter:
    crawler = AdaptedCrawler(scrapy.Spider, Settings({"DUPEFILTER_CLASS": kind}))
    crawler.make_spider({"name": "shop"})
    return crawler.duplicates


@pytest.mark.parametrize(
    ("kind", "has_keys", "fingerprints"),
    [
        (RFPDupeFilter, True, False),
        (BaseDupeFilter, False, False),
        (ByPath, True, True),
        (Once, False, False),
    ],
)
def test_what_a_class_says(kind, has_keys, fingerprints):
    known = made(kind)
    assert (known.has_keys, known.fingerprints) == (has_keys, fingerprints)


def test_a_fingerprint_of_the_filter_counts():
    known = made(ByPath)
    one, two = (known.fingerprint(Request(f"http://a.example/{path}")) for path in ("x?1", "x?2"))
    assert one == two != known.fingerprint(Request("http://a.example/y"))


def test_a_filter_of_the_project_is_opened_asked_and_closed():
    known = made(Once)
    url = "http://a.example/"
    assert [known.is_wanted(Request(url, dont_filter=no)) for no in (True, False, False, True)] == [
        True,
        True,
        False,
        True,
    ]
    known.close("finished")
    assert known._filter.closed == "finished"


def test_a_filter_that_asks_a_server_is_left_to_the_frontier(monkeypatch):
    module = ModuleType("scrapy_redis")
    monkeypatch.setitem(sys.modules, "scrapy_redis", module)
    module.Shared = type("Shared", (BaseDupeFilter,), {"__module__": "scrapy_redis"})
    known = made("scrapy_redis.Shared")
    assert known.has_keys
    assert not known.fingerprints
    assert known.is_wanted(Request("http://a.example/"))
