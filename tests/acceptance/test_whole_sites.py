"""Sites that have an end are fetched whole with default settings, whatever they look like; traps are not."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from gossamer import Request, Spider
from gossamer.crawl.result import CrawlResult
from gossamer.testing.site import serve
from gossamer.testing.traps import TEXT, GoodSite
from kit.hostile.inside import run
from kit.trap_sites import JOINED_TRAPS, FacetSite, paths_of
from kit.whole_sites import WHOLE_SITES, call_ports, page, take_url

BUDGET = 500
"""Pages that a trap costs at most, by default."""


def spider_of(parse: Any, *urls: str) -> type[Spider]:
    """A spider with these start URLs."""

    def call_parse(self: Spider, response: Any) -> Any:
        yield from parse(response)

    attributes = {"name": "whole", "start_urls": urls, "allowed_domains": ["127.0.0.1"], "parse": call_parse}
    return type("Whole", (Spider,), attributes)


def left_out(result: CrawlResult) -> dict[str, int]:
    return {reason: count for reason, count in result.left_out.items() if reason.startswith("link:trap_")}


@pytest.mark.parametrize("name", WHOLE_SITES)
async def test_a_site_that_has_an_end_is_fetched_whole(name: str, tmp_path: Path) -> None:
    site = WHOLE_SITES[name]
    async with serve(site.app) as served:
        result = await run(spider_of(site.parse, f"{served.url}/"), tmp_path)
    assert (int(result.items), left_out(result), result.warnings) == (site.items, {}, ())


async def test_many_ports_with_the_same_pages_are_not_mirrors_of_each_other(tmp_path: Path) -> None:
    async with AsyncExitStack() as serving:
        sites = [await serving.enter_async_context(serve(call_ports)) for _ in range(20)]
        result = await run(spider_of(take_url, *(f"{site.url}/" for site in sites)), tmp_path)
    assert (int(result.items), left_out(result)) == (20 * 41, {})


async def test_pages_that_a_spider_names_are_fetched_whatever_is_on_them(tmp_path: Path) -> None:
    async def start(self: Spider) -> Any:
        for number in range(400):
            yield Request(f"{site.url}/page/{number}")

    async with serve(lambda path, headers: page("Page", TEXT)) as site:
        spider = spider_of(take_url)
        spider.start = start  # type: ignore[method-assign]
        result = await run(spider, tmp_path)
    assert (int(result.items), left_out(result)) == (400, {})


@pytest.mark.parametrize("name", JOINED_TRAPS)
async def test_a_trap_stays_bounded_with_items_that_name_their_pages(name: str, tmp_path: Path) -> None:
    """Each page gives an item with its URL, and its title: that alone is nothing new."""

    def parse(response: Any) -> Any:
        yield {"url": response.url, "title": response.css("title::text").get(), "text": response.text}
        yield from response.follow_all(response.links())

    async with serve(JOINED_TRAPS[name]) as site:
        result = await run(spider_of(parse, f"{site.url}/"), tmp_path, max_pages=3 * BUDGET)
    assert result.finish_reason == "finished"
    assert result.pages < BUDGET
    assert result.warnings or name == "repeats"


async def test_a_search_whose_titles_name_its_filters_stays_bounded_beside_a_shop(tmp_path: Path) -> None:
    """A bug it would catch: each combination has a title of its own, and the item that names it is new."""

    def parse(response: Any) -> Any:
        yield {"url": response.url, "title": response.css("title::text").get()}
        yield from response.follow_all(response.links())

    shop = GoodSite(200)
    async with serve(FacetSite(shop)) as site:
        result = await run(spider_of(parse, f"{site.url}/"), tmp_path, max_pages=5 * BUDGET)
    assert paths_of(shop) <= {hit.path for hit in site.hits}
    assert (result.finish_reason, "link:trap_parameters" in result.left_out) == ("finished", True)
    assert result.pages < 2 * BUDGET + shop.pages
