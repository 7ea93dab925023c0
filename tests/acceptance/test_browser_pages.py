"""A crawl in a real browser, by the command line: what happens on pages, and what is kept of failed ones."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from gossamer.testing.site import serve_in_thread
from kit.command_line import FAST, asked, gossamer
from kit.scripted_site import FEED_ITEMS, ScriptedSite

pytestmark = pytest.mark.server

SPIDER = """
from gossamer import Browsing, Press, Request, Scroll, Spider, Type, Wait


class Scripted(Spider):
    name = "scripted"
    site: str
    browser = {"parse_shop": Browsing(wait_for=".price", capture=["*/api/*"])}

    async def start(self):
        search = Browsing(actions=[Type("#q", "lamp"), Press("Enter"), Wait("h1")])
        feed = Browsing(actions=[Scroll(until_still=True)])
        gone = Browsing(wait_for=".gone", step_timeout_s=0.2)
        yield Request(self.site + "/shop", self.parse_shop, fetch="browser")
        yield Request(self.site + "/feed", self.parse_feed, browser=feed)
        yield Request(self.site + "/form", self.parse_found, browser=search)
        yield Request(self.site + "/next", self.parse_found, browser=gone)
        yield Request(self.site + "/refused", self.parse_found, fetch="browser")
        yield Request(self.site + "/boxed", self.parse_found, browser=Browsing(script="fails"))

    def parse_shop(self, response):
        (answer,) = response.captured
        yield {"kind": "shop", "found": len(response.css(".price")), "told": answer.json()["page"]}

    def parse_feed(self, response):
        yield {"kind": "feed", "found": len(response.css("li")), "told": ""}

    def parse_found(self, response):
        yield {"kind": "search", "found": 1, "told": response.css("h1::text").get() + " at " + response.url}

    async def fails(self, page):
        raise LookupError("no such menu")
"""


def test_a_crawl_in_a_browser(tmp_path: Path) -> None:
    (tmp_path / "scripted.py").write_text(SPIDER)
    with serve_in_thread(ScriptedSite()) as site:
        line = f"crawl scripted.py -q -O items.csv -a site={site.url} -s max_retries=1 -s retry_backoff=0.1"
        gossamer(line, *FAST, cwd=tmp_path)
    with (tmp_path / "items.csv").open() as lines:
        items = {row["kind"]: (row["found"], row["told"]) for row in csv.DictReader(lines)}
    assert items == {
        "shop": ("3", "1"),
        "feed": (str(FEED_ITEMS), ""),
        "search": ("1", f"Found lamp at {site.url}/found?q=lamp"),
    }
    rows = asked("attempts scripted-1", cwd=tmp_path)
    told = {(row["url"].removeprefix(site.url), row["verdict"], row["reason"]) for row in rows}
    assert told == {
        ("/shop", "success", ""),
        ("/feed", "success", ""),
        ("/form", "success", ""),
        ("/next", "retry", "missing"),
        ("/next", "dead", "missing"),
        ("/refused", "dead", "client"),
        ("/boxed", "dead", "callback"),
    }
    assert {row["rung"] for row in rows} == {"browser"}
    pictures = set()
    for row in rows:
        named = [flag.partition(":")[2] for flag in row["flags"] if flag.startswith("screenshot:")]
        assert len(named) == (row["verdict"] != "success")
        pictures.update(named)
        if row["reason"] == "missing":
            assert row["detail"] == "wait_for '.gone': no such element after 0.2 s"
        if row["reason"] == "callback":
            assert "LookupError: no such menu" in row["detail"]
    kept = tmp_path / ".gossamer" / "screenshots"
    assert {str(file.relative_to(kept)) for file in kept.rglob("*.*")} == pictures
    assert len(pictures) == 4
    assert all((kept / name).read_bytes().startswith(b"\x89PNG") for name in pictures)
    shown = gossamer("attempts scripted-1", cwd=tmp_path).stdout
    assert all(name in "".join(shown.split()) for name in pictures)
