"""``file:`` and ``data:`` URLs of a Scrapy spider: its code may ask for them, and no page leads to them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit.command_line import FAST, asked, gossamer

SPIDER = """
from pathlib import Path

import scrapy

HERE = Path(__file__).parent


class Counting:
    def process_request(self, request, spider):
        request.meta["passed"] = True


class Local(scrapy.Spider):
    name = "local"
    start_urls = [(HERE / "pages" / "first.html").as_uri()]
    custom_settings = {"DOWNLOADER_MIDDLEWARES": {Counting: 5} if COUNTS else {}}

    async def start(self):
        async for request in super().start():
            yield request
        for url in ("data:text/plain;charset=utf-8,caf%C3%A9", (HERE / "missing.html").as_uri()):
            yield scrapy.Request(url, self.parse_end, errback=self.fail)
        yield scrapy.Request(self.site + "/page")
        yield scrapy.Request(self.site + "/away", self.parse_end, errback=self.fail)

    def parse(self, response):
        yield from self.parse_end(response)
        yield from response.follow_all(css="a", callback=self.parse_end, errback=self.fail)
        yield from response.follow_all(css="b a", callback=self.parse_end, errback=self.fail)
        if response.url.startswith("http"):
            yield scrapy.Request("data:,made", self.parse_end)

    def parse_end(self, response):
        assert response.meta.get("passed", False) is COUNTS
        yield {"url": response.url, "kind": type(response).__name__, "text": response.text}

    def fail(self, failure):
        yield {"failed": failure.request.url, "error": type(failure.value).__name__}
"""


@pytest.mark.parametrize("counts", [False, True], ids=["plain", "with a middleware"])
def test_local_pages_are_read_and_none_because_a_page_says_so(tmp_path: Path, counts: bool) -> None:
    secret = (tmp_path / "secret.txt").as_uri()
    place = (tmp_path / "other.txt").as_uri().replace("file://", "http://file.invalid")
    (tmp_path / "spider.py").write_text(f"COUNTS = {counts}\n{SPIDER}")
    for name in ("secret", "other"):
        (tmp_path / f"{name}.txt").write_text("secret")
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "first.html").write_text(f"<a href=second.html>2</a><a href={secret}>s</a>")
    (tmp_path / "pages" / "second.html").write_text("second")
    links = f"<a href={secret}>s</a><a href=data:,linked>d</a><b><a href={place}>p</a></b>"
    pages = {
        "/page": SiteResponse(200, links.encode()),
        "/away": SiteResponse(302, headers=(("Location", secret),)),
    }
    with serve_in_thread(lambda path, _: pages.get(path, SiteResponse(404))) as site:
        gossamer(f"crawl spider.py -q -O items.jsonl -a site={site.url}", *FAST, cwd=tmp_path)
    text = (tmp_path / "items.jsonl").read_text()
    items = [json.loads(line) for line in text.splitlines()]
    here = tmp_path.as_uri()
    assert {(item["url"].removeprefix(here), item["kind"]) for item in items if "url" in item} == {
        ("/pages/first.html", "HtmlResponse"),
        ("/pages/second.html", "HtmlResponse"),
        ("data:text/plain;charset=utf-8,caf%C3%A9", "TextResponse"),
        ("data:,made", "TextResponse"),
        (f"{site.url}/page", "HtmlResponse"),
    }
    assert {item["text"] for item in items if item.get("kind") == "TextResponse"} == {"café", "made"}
    assert {(item["failed"].removeprefix(here), item["error"]) for item in items if "failed" in item} == {
        ("/missing.html", "FileNotFoundError"),
        ("/secret.txt", "NotSupported"),
        ("data:,linked", "NotSupported"),
        (f"{site.url}/away", "HttpError"),
        (place, "IgnoreRequest"),
    }
    assert '"text":"secret"' not in text
    missing = [row for row in asked("attempts local", cwd=tmp_path) if "missing.html" in row["url"]]
    assert len(missing) == 1, "a file that is not there is not asked for again"
