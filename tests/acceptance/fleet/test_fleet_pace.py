"""Hosts at their delays, by the fleet as a whole: what is allowed is used, and no more, by one job or two."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from gossamer.testing.site import SiteResponse, serve_in_thread
from kit.fleet import nemesis, spiders
from kit.fleet.history import judge, pace
from kit.fleet.nemesis import Nemesis
from kit.fleet.processes import FULL, Fleet, Servers
from kit.fleet.serving import ServedSite, host_names
from kit.fleet.site import Hosts

HOSTS, PAGES = (200, 150) if FULL else (30, 40)
DELAY_S = 0.2
USED, KEPT = (0.97, 0.99) if FULL else (0.75, 0.9)
"""Shares of the allowed rate and of the gaps. The full ones need a machine that has nothing else to do: a gap
is measured where it arrives, late as that may be, and a turn that is taken 6 ms late is 3 % of the rate."""
LONG_S = 300 if FULL else 120
WANTS_MIRRORS = {"traps.max_worthless": "none"}  # the hosts have the same pages, more than a trap may cost
POLITE: Mapping[str, str | float] = {"delay": DELAY_S, "per_host": 1, "concurrency": 64, **WANTS_MIRRORS}

pytestmark = pytest.mark.timeout(2 * LONG_S)


@pytest.mark.long
@pytest.mark.parametrize("is_stalled", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_the_delay_of_every_host_is_kept_and_used(is_stalled: bool, servers: Servers, tmp_path: Path) -> None:
    names = host_names(HOSTS)
    with ServedSite(tmp_path / "site", "hosts", HOSTS, PAGES) as site:
        urls = repr([f"http://{name}:{site.port}/" for name in names])
        spider = spiders.write(tmp_path, "hosts", spiders.HOSTS, urls=urls)
        with Fleet(tmp_path, servers, workers=2, settings=POLITE) as fleet:
            every = (HOSTS * PAGES // 6, HOSTS * PAGES // 4)
            if is_stalled:
                with Nemesis(nemesis.stall_one_worker, fleet, site, seed=3, every=every) as at_it:
                    result = fleet.crawl(spider, timeout_s=LONG_S)
                assert len(at_it.deeds) >= 2
            else:
                result = fleet.crawl(spider, timeout_s=LONG_S)
            stored = fleet.stored(result["job"])
        hits = site.hits()
    judge(Hosts(names, PAGES).truth(site.port), hits, stored)
    found = pace(hits, DELAY_S)
    print(found)
    assert found.kept >= KEPT, found
    if (
        not is_stalled
    ):  # one that stands still holds the turns of the hosts in its hands; nobody may take them
        assert found.used >= USED, found


LISTED = """
from gossamer import Spider

class {name}(Spider):
    name = "{name}"
    start_urls = [f"{url}/{name}/{{n}}" for n in range({pages})]

    def parse(self, response):
        yield {{"url": response.url}}
"""


@pytest.mark.long
def test_two_jobs_of_different_size_keep_one_pace_and_take_turns(servers: Servers, tmp_path: Path) -> None:
    """What the host's own log says, while two workers work on both."""
    page = SiteResponse(200, b"<!doctype html><title>Page</title>")
    settings = {"delay": DELAY_S, "per_host": 1, "robots": "false"}
    with serve_in_thread(lambda path, headers: page) as site, Fleet(
        tmp_path, servers, workers=2, settings=settings
    ) as fleet:  # fmt: skip
        jobs = {}
        for name, pages in (("large", 500), ("small", 12)):
            spider = tmp_path / f"{name}.py"
            spider.write_text(LISTED.format(name=name, url=site.url, pages=pages))
            jobs[name] = fleet.submit(spider)
            while not any(hit.path.startswith(f"/{name}/") for hit in site.hits):
                assert fleet.run("status", jobs[name]).returncode == 0
        assert fleet.wait(jobs["small"], timeout_s=60)["pages"] == 12
        hits = list(site.hits)
        fleet.run("cancel", jobs["large"])
    begun = max(min(hit.at for hit in hits if hit.path.startswith(f"/{name}/")) for name in jobs)
    both = [hit for hit in hits if hit.at >= begun]
    gaps = [later.at - sooner.at for sooner, later in pairwise(both)]
    assert sum(gaps) >= 0.9 * DELAY_S * len(gaps), "one delay for both"
    close = [gap for gap in gaps if gap < 0.6 * DELAY_S]
    assert len(close) <= len(gaps) // 3, gaps  # two at a time would make it half of them
    taken = [hit.path.split("/")[1] for hit in both]
    assert 8 <= taken.count("large") <= 24, f"by turns: {taken}"
