"""Redirects of a Scrapy spider: ``meta`` names them as in Scrapy, and loops end as they do there."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit.scrapy_runs import run_gossamer, run_scrapy

SPIDER = """
import scrapy
from scrapy import signals


class Redirected(scrapy.Spider):
    name = "redirected"
    custom_settings = {"ROBOTSTXT_OBEY": False}

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        if spider.listens == "yes":
            for signal in (signals.request_reached_downloader, signals.response_downloaded):
                crawler.signals.connect(spider.listen, signal=signal)
        return spider

    def listen(self, **_):
        pass

    async def start(self):
        yield scrapy.Request(self.url + "/", dont_filter=True)

    def parse(self, response):
        for path in ("/hop", "/refreshed", "/round/1", "/loop/a", "/to-a-file"):
            yield scrapy.Request(self.url + path, self.parse_end, errback=self.fail)
        for path in ("/round/2", "/cookie"):
            yield scrapy.Request(self.url + path, self.parse_end, errback=self.fail, dont_filter=True)

    def parse_end(self, response):
        names = ("redirect_urls", "redirect_reasons", "redirect_times", "redirect_ttl")
        yield {"url": response.url, **{name: response.meta.get(name) for name in names}}

    def fail(self, failure):
        yield {"failed": failure.request.url, "error": type(failure.value).__name__}
"""
TARGETS = {
    "/hop": (302, "/hop/2"),
    "/hop/2": (301, "/end"),
    "/round/1": (302, "/round/1"),
    "/round/2": (302, "/round/2"),
    "/loop/a": (302, "/loop/b"),
    "/loop/b": (302, "/loop/a"),
    "/to-a-file": (302, "file:///etc/hostname"),
}


def site_of(path, headers):
    if path == "/cookie" and "seen=1" not in headers.get("cookie", ""):
        return SiteResponse(302, headers=(("Location", path), ("Set-Cookie", "seen=1")))
    if path == "/refreshed":
        return SiteResponse(200, b"<meta http-equiv=refresh content='0; url=/end/2'>")
    if path in TARGETS:
        return SiteResponse(TARGETS[path][0], headers=(("Location", TARGETS[path][1]),))
    return SiteResponse(200 if path.startswith(("/end", "/cookie")) or path == "/" else 404, b"<p>page")


@pytest.mark.long
@pytest.mark.parametrize("listens", ["no", "yes"])
def test_redirects_are_told_and_end_as_in_scrapy(tmp_path: Path, listens: str) -> None:
    spider = tmp_path / "spider.py"
    spider.write_text(SPIDER)
    with serve_in_thread(site_of) as site:
        ours = run_gossamer(spider, "-a", f"listens={listens}", url=site.url)
        counts = site.log.count_paths()
        scrapys = run_scrapy(spider, "-a", f"listens={listens}", url=site.url)
    assert ours == scrapys
    by_url = {item["url"].removeprefix(site.url): item for item in ours if "url" in item}
    assert by_url["/end"]["redirect_reasons"] == [302, 301]
    assert by_url["/end/2"]["redirect_reasons"] == ["meta refresh"]
    assert (counts["/round/1"], counts["/loop/a"], counts["/loop/b"]) == (1, 1, 1)
    assert counts["/round/2"] == 21, "it asks that no filter ends it"


def test_a_page_that_redirects_to_itself_with_a_cookie_is_had(tmp_path: Path) -> None:
    """Scrapy filters it, and never has the page."""
    spider = tmp_path / "spider.py"
    spider.write_text(SPIDER.replace(', "/cookie"', ",").replace('"/to-a-file"', '"/cookie"'))
    with serve_in_thread(site_of) as site:
        ours = run_gossamer(spider, "-a", "listens=no", url=site.url)
        assert f"{site.url}/cookie" in [item.get("url") for item in ours]


COOKIES = """
import scrapy


class Cookies(scrapy.Spider):
    name = "cookies"
    custom_settings = {"ROBOTSTXT_OBEY": False, "CONCURRENT_REQUESTS": 1}

    def start_requests(self):
        yield scrapy.Request(self.url + "/set/a", self.parse_set)

    def parse_set(self, response):
        meta = {"dont_merge_cookies": True}
        yield scrapy.Request(self.url + "/set/b", self.parse_own, meta=meta)

    def parse_own(self, response):
        yield {"alone": response.text}
        given = {"meta": {"dont_merge_cookies": True}, "headers": {"Cookie": "own=1"}}
        yield scrapy.Request(self.url + "/set/c", self.parse_last, **given)

    def parse_last(self, response):
        yield {"own": response.text}
        yield scrapy.Request(self.url + "/seen", self.parse_seen)

    def parse_seen(self, response):
        yield {"then": response.text}
"""


def test_what_does_not_merge_cookies_neither_sends_nor_keeps_them(tmp_path: Path) -> None:
    def app(path, headers):
        sets = (("Set-Cookie", f"{path[-1]}=1; Path=/"),) if path.startswith("/set") else ()
        return SiteResponse(200, headers.get("cookie", "none").encode(), headers=sets)

    spider = tmp_path / "spider.py"
    spider.write_text(COOKIES)
    with serve_in_thread(app) as site:
        ours, scrapys = run_gossamer(spider, url=site.url), run_scrapy(spider, url=site.url)
    assert ours == scrapys
    assert {"alone": "none"} in ours
    assert {"own": "own=1"} in ours
    assert {"then": "a=1"} in ours
