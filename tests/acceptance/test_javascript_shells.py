"""Pages that are empty until their scripts have run: a ladder with a browser climbs, others are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit.command_line import FAST, asked, gossamer

SHELL = """<!doctype html><title>Shop</title><body><noscript>You need to enable JavaScript.</noscript>
<div id=root></div><script>
setTimeout(() => { root.innerHTML = '<h1>' + location.pathname + '</h1><b>9</b>' }, 700)
</script>"""
SPIDER = """
from gossamer import Spider


class Shop(Spider):
    name = "shop"
    start_urls = ["{url}/%d" % number for number in range(4)]
    {require}

    def parse(self, response):
        yield {"place": response.css("h1::text").get(), "price": response.css("b::text").get()}
"""


def world(path: str, _headers: object) -> SiteResponse:
    return SiteResponse(404) if path == "/robots.txt" else SiteResponse(body=SHELL.encode())


def test_shells_are_named_where_no_rung_runs_scripts(tmp_path: Path) -> None:
    with serve_in_thread(world) as site:
        (tmp_path / "shop.py").write_text(SPIDER.replace("{url}", site.url).replace("{require}", ""))
        ran = gossamer("crawl shop.py", "-s", 'ladder.rungs=["http"]', *FAST, cwd=tmp_path)
    said = " ".join(ran.stderr.split())
    assert "empty 4 pages: `gossamer attempts shop-1 --flag javascript_shell`" in said
    assert "fetch=browser" in said
    rows = asked("attempts shop-1 --flag javascript_shell", cwd=tmp_path)
    assert {row["verdict"] for row in rows} == {"success"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("said", "reason"),
    [("browser = Browsing(wait_for='h1')", "block:shell"), ("require = ['h1::text', 'b']", "missing")],
)
def test_a_ladder_with_a_browser_climbs(tmp_path: Path, said: str, reason: str) -> None:
    """And the browser waits for what the spider requires."""
    text = SPIDER.replace("{require}", said).replace("import Spider", "import Browsing, Spider")
    with serve_in_thread(world) as site:
        (tmp_path / "shop.py").write_text(text.replace("{url}", site.url))
        ran = asked("crawl shop.py", "-s", 'ladder.rungs=["http", "browser"]', *FAST, cwd=tmp_path)
        items = asked("export shop", cwd=tmp_path)
        rows = asked("attempts shop-1", cwd=tmp_path)
    assert sorted((item["place"], item["price"]) for item in items) == [(f"/{n}", "9") for n in range(4)]
    assert ran["dead"] == 0
    refused = [row for row in rows if row["rung"] == "http"]
    assert all(reason in (*row["flags"], row["reason"]) for row in refused)
    assert {row["rung"] for row in rows if row["verdict"] == "success"} == {"browser"}
