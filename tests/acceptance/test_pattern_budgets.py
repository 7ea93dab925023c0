"""Budgets of URL patterns and of hosts, on a site that is served here."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gossamer.core.exits import ExitCode
from gossamer.crawl.run import crawl
from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve, serve_in_thread
from kit.hostile.inside import QUICK, SILENT
from kit.programs import rows, start
from kit.programs import run as run_program

PRODUCTS, HELP = 60, 20
PATIENCE_S = 60.0
SPIDER = """
from gossamer import Spider


class Shop(Spider):
    name = "shop"
    start_urls = ["{url}/"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        yield {{"url": response.url}}
        yield from response.follow_all(response.links())
"""


def site_app(path: str, headers: Any) -> SiteResponse:
    """A page with links to products and to pages of help, of which every other product is not there."""
    if path.startswith("/product/") and int(path.rpartition("/")[2]) % 2:
        return SiteResponse(403, delay_s=0.002)
    pages = [f"/product/{n}" for n in range(2 * PRODUCTS)] + [f"/help/{n}" for n in range(HELP)]
    body = "".join(f'<a href="{page}">x</a>' for page in pages) if path == "/" else "<h1>page</h1>"
    return SiteResponse(body=body.encode(), delay_s=0.002)


def written(folder: Path, url: str) -> str:
    file = folder / "shop.py"
    file.write_text(SPIDER.format(url=url))
    return str(file)


def products_at(site: Any) -> list[int]:
    """The products that the site was asked for and has."""
    numbers = [int(hit.path.rpartition("/")[2]) for hit in site.hits if hit.path.startswith("/product/")]
    return [number for number in numbers if not number % 2]


def of_products(**limits: Any) -> dict[str, Any]:
    return {
        f"budgets.patterns.products.{key}": value for key, value in {"pattern": "/product/", **limits}.items()
    }


@pytest.mark.parametrize("processes", [1, pytest.param(3, marks=pytest.mark.slow)])
async def test_a_pattern_has_exactly_the_pages_of_its_budget_over_all_runs(
    tmp_path: Path, processes: int
) -> None:
    async with serve(site_app) as site:
        spider = written(tmp_path, site.url)
        settings = {**QUICK, "data": str(tmp_path / "data"), "processes": processes, **of_products(pages=25)}
        first = await crawl(spider, sinks=SILENT, max_pages=12, **settings)
        assert first.finish_reason == "max_pages"
        result = await crawl(spider, sinks=SILENT, **settings)
        assert result.finish_reason == "finished"
        assert len(products_at(site)) == 25
        assert result.pages == 25 + HELP + 1, "nothing else is missing"
        (budget,) = result.budgets
        assert (budget.budget, budget.used, budget.spent) == ("products", {"pages": 25}, ("pages",))
        assert budget.refused > 0
        again = await crawl(spider, sinks=SILENT, **settings)
        assert (again.pages, len(products_at(site))) == (result.pages, 25)


@pytest.mark.long
def test_a_crawl_that_is_killed_keeps_to_its_budget(tmp_path: Path) -> None:
    asked: list[str] = []
    is_half_done = threading.Event()

    def slow_app(path: str, headers: Any) -> SiteResponse:
        asked.append(path)
        if len(asked) == 20:
            is_half_done.set()
        return replace(site_app(path, headers), delay_s=0.05)

    data = tmp_path / "data"
    with serve_in_thread(slow_app) as site:
        spider = written(tmp_path, site.url)
        given = [part for key, value in of_products(pages=25).items() for part in ("-s", f"{key}={value}")]
        line = ("crawl", spider, "--delay", "0", "--no-robots", "--per-host", "4", "--data", data, *given)
        first = start(*line)
        try:
            assert is_half_done.wait(PATIENCE_S)
        finally:
            first.kill()
            first.wait()
        done = run_program(*line, "--json")
        assert done.returncode == ExitCode.OK, done.stderr
        result = json.loads(done.stdout)
        query = "select count(*) from attempt where url like '%/product/%' and status = 200"
        ((stored,),) = rows(data, query)
        assert result["finish_reason"] == "finished"
        assert 25 - 2 * 4 <= stored <= 25, "what was in flight when it was killed may count twice"
        assert len(set(products_at(site))) <= 25 + 4


async def test_what_goes_last_is_fetched_when_nothing_else_waits(tmp_path: Path) -> None:
    async with serve(site_app) as site:
        limits = of_products(items=10, over="last")
        settings = {**QUICK, "data": str(tmp_path), "concurrency": 1, **limits}
        result = await crawl(written(tmp_path, site.url), sinks=SILENT, **settings)
        assert (result.finish_reason, result.pages) == ("finished", PRODUCTS + HELP + 1), "nothing is lost"
        assert "budget" not in " ".join(map(str, result.notes))
        paths = [hit.path for hit in site.hits]
        first = paths.index("/help/0")
        assert first <= 1 + 2 * 11, "products went first until their budget was spent"
        assert paths[first : first + HELP] == [f"/help/{n}" for n in range(HELP)]
        (budget,) = result.budgets
        assert (budget.over, budget.spent, budget.used) == ("last", ("items",), {"items": PRODUCTS})
        assert budget.to_text() == "products: 60 of 10 items, 101 requests put last"


async def test_links_found_over_a_budget_are_put_last_from_the_beginning(tmp_path: Path) -> None:
    def app(path: str, headers: Any) -> SiteResponse:
        """Two listings, one after the other, each with products and the second with help, too."""
        found = {"/": ["/product/0", "/list"], "/list": ["/product/1", "/product/2", "/help/1", "/help/2"]}
        return SiteResponse(body="".join(f'<a href="{to}">x</a>' for to in found.get(path, ())).encode())

    async with serve(app) as site:
        settings = {**QUICK, "data": str(tmp_path), "concurrency": 1, **of_products(pages=1, over="last")}
        result = await crawl(written(tmp_path, site.url), sinks=SILENT, **settings)
        paths = ["/", "/product/0", "/list", "/help/1", "/help/2", "/product/1", "/product/2"]
        assert [hit.path for hit in site.hits] == paths
        assert (result.finish_reason, result.attempts) == ("finished", len(paths)), "none was moved"


async def test_a_pattern_that_fails_too_often_is_given_up(tmp_path: Path) -> None:
    async with serve(site_app) as site:
        settings = {**QUICK, "data": str(tmp_path), "concurrency": 1, **of_products(errors=4)}
        result = await crawl(written(tmp_path, site.url), sinks=SILENT, **settings)
        assert (result.finish_reason, result.dead) == ("finished", 4)
        assert result.budgets[0].spent == ("errors",)
        assert len([hit for hit in site.hits if hit.path.startswith("/help/")]) == HELP


@pytest.mark.parametrize(
    ("setting", "kind", "limit"), [("items_per_host", "items", 9), ("errors_per_host", "errors", 3)]
)
async def test_a_host_has_budgets_of_items_and_errors(
    tmp_path: Path, setting: str, kind: str, limit: int
) -> None:
    async with serve(site_app) as site:
        settings = {**QUICK, "data": str(tmp_path), "concurrency": 1, f"budgets.{setting}": limit}
        result = await crawl(written(tmp_path, site.url), sinks=SILENT, **settings)
        assert result.finish_reason == "finished"
        assert (result.items if kind == "items" else result.dead) == limit
        (budget,) = result.budgets
        assert (budget.budget, budget.spent, budget.used[kind]) == (site.host, (kind,), limit)
        assert f"{budget.refused} requests skipped over a budget" in " ".join(map(str, result.notes))


@pytest.mark.long
def test_every_command_names_the_budget(tmp_path: Path) -> None:
    data = ("--data", tmp_path / "data")
    with serve_in_thread(site_app) as site:
        spider = written(tmp_path, site.url)
        quick = ("--delay", "0", "--no-robots", "--per-host", "4")
        given = [part for key, value in of_products(pages=5).items() for part in ("-s", f"{key}={value}")]
        done = run_program("crawl", spider, *quick, *data, *given)
        assert done.returncode == ExitCode.OK, done.stderr
        assert "products: 5 of 5 pages, " in done.stderr
        report = json.loads(run_program("report", "budgets", "shop", *data, "--json").stdout)
        (budget,) = report["budgets"]
        assert (budget["pattern"], budget["used"], budget["spent"]) == ("/product/", {"pages": 5}, ["pages"])
        assert report["refused"] == budget["refused"] > PRODUCTS
        shown = run_program("report", "budgets", *data)
        assert "5 of 5 pages" in shown.stdout, shown.stdout
        assert f"1 budget spent; {budget['refused']} requests refused or put last" in shown.stderr
        assert f"products: 5 of 5 pages, {budget['refused']} requests refused" in (
            run_program("status", "shop", *data).stdout
        )
        unseen = run_program("explain", f"{site.url}/product/999998", *data, "--spider", spider).stdout
        assert "over budget" in unseen, unseen
        assert "over the budget products (pages): links to it are not taken" in " ".join(unseen.split())
        rows = json.loads(run_program("attempts", "shop", *data, "--reason", "budget", "--json").stdout)
        told = run_program("explain", rows[0]["url"], *data, "--spider", spider).stdout
        assert "the budget products is spent: pages" in " ".join(told.split()), told


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pattern": "/product/"}, "a budget needs a limit: one of pages, items,"),
        ({"pages": 5}, "a budget needs a pattern"),
        ({"pattern": "/product/(", "pages": 5}, "is not a regular expression"),
        ({"pattern": "/product/", "pages": 0}, "budgets.patterns.products.pages"),
        ({"pattern": "/product/", "page": 5}, "budgets.patterns.products.pages"),
    ],
)
def test_a_bad_budget_is_refused_with_its_name(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    lines = [f"{key} = {json.dumps(value)}" for key, value in given.items()]
    (tmp_path / "gossamer.toml").write_text("\n".join(["[budgets.patterns.products]", *lines]))
    done = run_program("crawl", "http://127.0.0.1:9/", cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE, done.stderr
    assert message in done.stderr
    assert "budgets.patterns.products" in done.stderr
