"""A fleet within budgets of URL patterns: all workers spend one, and what it refuses is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit.choosing import some_of
from kit.fleet.processes import Fleet, Servers

PRODUCTS, HELP, BUDGET = 120, 40, 25
SPIDER = """
from gossamer import Spider


class Shop(Spider):
    name = "shop"
    start_urls = ["{url}/"]
    allowed_domains = ["127.0.0.1"]
    settings = {{
        "budgets.patterns.products.pattern": "/product/",
        "budgets.patterns.products.pages": {budget},
        "budgets.patterns.products.over": "{over}",
    }}

    def parse(self, response):
        yield {{"url": response.url}}
        yield from response.follow_all(response.links())
"""

pytestmark = pytest.mark.timeout(300)


def site_app(path: str, headers: Any) -> SiteResponse:
    """A page with links to products and to pages of help."""
    pages = [f"/product/{n}" for n in range(PRODUCTS)] + [f"/help/{n}" for n in range(HELP)]
    body = "".join(f'<a href="{page}">x</a>' for page in pages) if path == "/" else "<h1>page</h1>"
    return SiteResponse(body=body.encode(), delay_s=0.02)


@pytest.mark.long
@pytest.mark.parametrize("over", some_of(("stop", "last"), "stop"))
def test_three_workers_spend_one_budget_of_a_pattern(servers: Servers, tmp_path: Path, over: str) -> None:
    with serve_in_thread(site_app) as site:
        spider = tmp_path / "shop.py"
        spider.write_text(SPIDER.format(url=site.url, budget=BUDGET, over=over))
        settings: dict[str, str | float] = {"robots": "false", "per_host": 6}
        with Fleet(tmp_path, servers, workers=3, slots=1, settings=settings) as fleet:
            result = fleet.crawl(spider, timeout_s=240)
            report = json.loads(fleet.run("report", "budgets", result["job"], "--json").stdout)
            shown = fleet.run("status", result["job"]).stdout
        paths = [hit.path for hit in site.hits]
        products = [path for path in paths if path.startswith("/product/")]
        assert result["finish_reason"] == "finished"
        assert len([path for path in paths if path.startswith("/help/")]) == HELP
        assert len(products) == (BUDGET if over == "stop" else PRODUCTS)
        (budget,) = report["budgets"]
        assert (budget["used"], budget["spent"]) == ({"pages": len(products)}, ["pages"])
        if over == "stop":
            assert budget["refused"] == PRODUCTS - BUDGET
            assert f"products: {BUDGET} of {BUDGET} pages, {PRODUCTS - BUDGET} requests refused" in shown
        else:
            last_help = max(place for place, path in enumerate(paths) if path.startswith("/help/"))
            late = [path for path in paths[last_help:] if path.startswith("/product/")]
            assert len(late) > PRODUCTS / 3, "what is over the budget came last"


def slow_pages(path: str, headers: Any) -> SiteResponse:
    """A page with links to others, each of which takes a second."""
    body = "".join(f'<a href="/product/{n}">x</a>' for n in range(40)) if path == "/" else "<h1>page</h1>"
    return SiteResponse(body=body.encode(), delay_s=0.0 if path == "/" else 1.0)


@pytest.mark.long
def test_what_is_in_hand_when_a_budget_is_spent_is_there_when_wait_comes_back(
    servers: Servers, tmp_path: Path
) -> None:
    """Bug it would catch: `gossamer wait JOB && gossamer export JOB` lacks items that come a second later."""
    with serve_in_thread(slow_pages) as site:
        spider = tmp_path / "shop.py"
        spider.write_text(SPIDER.format(url=site.url, budget=1000, over="stop"))
        settings: dict[str, str | float] = {"robots": "false", "per_host": 8}
        with Fleet(tmp_path, servers, workers=1, settings=settings) as fleet:
            result = fleet.crawl(spider, "--max-items", "3")
            exported = fleet.run("export", result["job"]).stdout.splitlines()
            asked = len(site.hits)
    assert result["finish_reason"].startswith("max_items")
    assert len(exported) == result["items"] == asked, "each page has one item"
