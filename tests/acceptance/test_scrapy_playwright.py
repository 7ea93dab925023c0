"""Spiders that were written for scrapy-playwright: their pages are made by scripts, and none comes static."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gossamer.testing.site import serve_in_thread
from kit.command_line import FAST, asked, gossamer
from kit.scripted_site import ScriptedSite

pytestmark = pytest.mark.server

SPIDER = """
import scrapy
from scrapy_playwright.page import PageMethod


class Later:
    def process_request(self, request, spider):
        if request.url.endswith("/shop?late"):
            request.meta["playwright"] = True
            request.meta["playwright_page_methods"] = [PageMethod("wait_for_selector", ".price")]


class Scripted(scrapy.Spider):
    name = "scripted"
    custom_settings = {"ROBOTSTXT_OBEY": False, "DOWNLOADER_MIDDLEWARES": {Later: 5} if LATE else {}}

    async def start(self):
        yield self.ask("/shop", [
            PageMethod("wait_for_selector", ".price"),
            PageMethod("click", "#more"),
            PageMethod("evaluate", "n => n + document.querySelectorAll('.product').length", 100),
            PageMethod("screenshot", full_page=True),
        ])
        yield self.ask("/form", [PageMethod("fill", "#q", "lamp"), PageMethod("press", "#q", "Enter")])
        yield self.ask("/next", [PageMethod("wait_for_selector", ".gone", timeout=200)])
        if LATE:
            yield scrapy.Request(self.site + "/shop?late", self.parse_page)

    def ask(self, path, methods):
        meta = {"playwright": True, "playwright_page_methods": methods}
        return scrapy.Request(self.site + path, self.parse_page, meta=meta)

    def parse_page(self, response):
        results = [one.result for one in response.meta["playwright_page_methods"]]
        yield {
            "path": response.url.removeprefix(self.site),
            "products": len(response.css(".product")),
            "sum": next((result for result in results if isinstance(result, int)), 0),
            "pictures": sum(isinstance(result, bytes) for result in results),
        }
"""


@pytest.mark.long
@pytest.mark.parametrize("late", [False, True])
def test_pages_are_fetched_in_a_browser_and_their_methods_run_there(tmp_path: Path, late: bool) -> None:
    """``late``: with middlewares, one of which asks for the browser when the request is sent."""
    (tmp_path / "scripted.py").write_text(f"LATE = {late}\n{SPIDER}")
    with serve_in_thread(ScriptedSite()) as site:
        line = f"crawl scripted.py -q -O items.jsonl -a site={site.url} -s max_retries=1 -s retry_backoff=0.1"
        gossamer(line, *FAST, cwd=tmp_path)
    items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    by_path = {item.pop("path"): item for item in items}
    assert by_path.pop("/shop") == {"products": 4, "sum": 104, "pictures": 1}
    assert "/found?q=lamp" in {path.partition("&")[0] for path in by_path}
    assert ("/shop?late" in by_path) is late
    if late:
        assert by_path["/shop?late"]["products"] == 3
    rows = asked("attempts scripted", cwd=tmp_path)
    assert {row["rung"] for row in rows if row["verdict"] == "success"} == {"browser"}
    gone = [row for row in rows if row["url"].endswith("/next")]
    assert [(row["verdict"], row["reason"]) for row in gone] == [("dead", "missing"), ("retry", "missing")]
    assert "page method 1, wait_for_selector: " in gone[0]["detail"]


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        ('"playwright_page_methods": [PageMethod("wait_for_miracle", 3)]', "no 'wait_for_miracle'"),
        ('"playwright_page_methods": ["click"]', "entry 1 of meta['playwright_page_methods'] is 'click'"),
        ('"playwright_include_page": True', "meta['playwright_include_page'] is not supported"),
        (
            '"playwright_page_goto_kwargs": {"referer": "x"}',
            "'referer': only wait_until and timeout",
        ),
    ],
)
def test_what_cannot_be_done_is_an_error_that_names_it(tmp_path: Path, meta: str, said: str) -> None:
    (tmp_path / "impossible.py").write_text(
        "import scrapy\nfrom scrapy_playwright.page import PageMethod\n\n\nclass Impossible(scrapy.Spider):\n"
        "    name = 'impossible'\n\n    async def start(self):\n"
        f"        yield scrapy.Request('http://127.0.0.1:1/', meta={{'playwright': True, {meta}}})\n"
    )
    done = gossamer("crawl impossible.py", *FAST, cwd=tmp_path, code=2)
    assert said in done.stderr
