"""What a site without an end costs: less than its budget, of each kind, with one worker and with several.

And good sites are complete: beside traps on one host, and where much of a page is that of all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest

from gossamer.testing.answers import SiteResponse
from gossamer.testing.traps import TRAPS, WORDS, GoodSite
from kit.trap_crawls import TrapCrawl
from kit.trap_sites import join_traps, paths_of

PRODUCTS, MIRRORED = 300, 900


@pytest.mark.parametrize(
    ("budget", "workers", "slots", "pace"),
    [
        (100, 1, 8, 500),
        (300, 3, 2, 100),
        *(
            pytest.param(*more, marks=pytest.mark.thorough)
            for more in ((500, 1, 8, 500), (500, 3, 4, 300), (1_000, 8, 2, 200))
        ),
    ],
)
async def test_each_trap_costs_less_than_its_budget_and_the_good_sites_are_complete(
    budget: int, workers: int, slots: int, pace: float
) -> None:
    good, twice = GoodSite(PRODUCTS), GoodSite(MIRRORED, "twice")
    sites = {"good": good, **TRAPS, "first": twice, "mirror": twice}
    crawl = TrapCrawl(sites, budget, workers=workers, slots=slots, pace=pace, linked=("mirror",))
    costs = await crawl.run(5_000)
    assert (costs.pop("good"), costs.pop("first")) == (good.pages, twice.pages)
    most = budget + budget // 10  # some pages of a closed group are fetched all the same
    assert {name: cost for name, cost in costs.items() if cost >= most} == {}, costs


@pytest.mark.slow
@pytest.mark.parametrize(("budget", "workers"), [(150, 1), (500, 1), (500, 3)])
@pytest.mark.parametrize("has_items", [True, False])
async def test_a_good_site_is_complete_although_its_host_has_every_trap(
    budget: int, workers: int, has_items: bool
) -> None:
    good = GoodSite(1_000)
    crawl = TrapCrawl(
        {"h.test": join_traps(good, has_items=has_items)}, budget, workers=workers, slots=8, pace=300
    )
    await crawl.run(8_000)
    pages = crawl.visited["h.test"]
    own = {url.removeprefix("http://h.test") for url in pages} & paths_of(good)
    assert own == paths_of(good)
    assert len(pages) - len(own) < 4 * budget, "many traps at once have less than a budget each"


@pytest.mark.parametrize("kind", ["forum", "catalogue"])
async def test_pages_under_one_heading_are_not_taken_for_a_trap(kind: str) -> None:
    """Threads of many pages, and a catalogue whose pages share their heading and most of their text."""
    app, pages = (_call_forum, 1 + 30 * 20) if kind == "forum" else (_call_catalogue, 1 + 1_000)
    crawl = TrapCrawl({"h.test": app}, 150, workers=1, slots=8, pace=300)
    assert await crawl.run(5_000) == {"h.test": pages}
    assert not crawl.meters[0].has_traps


def _call_forum(path: str, headers: Mapping[str, str]) -> SiteResponse:
    place, _, page = path.partition("?page=")
    if path == "/":
        return _write_page("Forum", "", [f"/thread/{number}" for number in range(30)])
    number = int(page or 1)
    return _write_page(place, _make_text(path, 60), [f"{place}?page={number + 1}"] if number < 20 else [])


def _call_catalogue(path: str, headers: Mapping[str, str]) -> SiteResponse:
    links = [f"/part/{number}" for number in range(1_000)] if path == "/" else []
    return _write_page("Parts", _make_text("all pages", 100) + _make_text(path, 8), links)


def _make_text(seed: str, words: int) -> str:
    random = Random(seed)
    return "".join(f" {random.choice(WORDS)}{random.choice(WORDS)}" for _ in range(words))


def _write_page(title: str, text: str, links: list[str]) -> SiteResponse:
    anchors = "".join(f'<a href="{link}">on</a>' for link in links)
    return SiteResponse(body=f"<title>{title}</title><p>{text}</p>{anchors}".encode())
