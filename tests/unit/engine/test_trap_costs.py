"""What a site without an end costs: less than its budget, of each kind, with one worker and with several."""

from __future__ import annotations

import pytest

from gossamer.testing.traps import TRAPS, GoodSite
from kit.trap_crawls import TrapCrawl

PRODUCTS, MIRRORED = 300, 1_500


@pytest.mark.parametrize(
    ("budget", "workers", "slots", "pace"),
    [(100, 1, 8, 500), (500, 1, 8, 500), (300, 3, 2, 100), (500, 3, 4, 300), (1_000, 8, 2, 200)],
)
async def test_each_trap_costs_less_than_its_budget_and_the_good_sites_are_complete(
    budget: int, workers: int, slots: int, pace: float
) -> None:
    good, twice = GoodSite(PRODUCTS), GoodSite(MIRRORED, "twice")
    sites = {"good": good, **TRAPS, "first": twice, "mirror": twice}
    costs = await TrapCrawl(sites, budget, workers=workers, slots=slots, pace=pace).run(5_000)
    assert costs["good"] == good.pages
    whole, *copied = sorted((costs.pop("first"), costs.pop("mirror")), reverse=True)
    assert whole == twice.pages
    over = {name: cost for name, cost in {**costs, "mirror": copied[0]}.items() if cost >= budget}
    over.pop("good", None)
    assert over == {}, costs
