"""A fleet beside every trap: all workers spend one budget; a callback ends the job of all of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gossamer.testing.site import serve_in_thread
from gossamer.testing.traps import TRAPS, GoodSite
from kit.fleet.processes import Fleet, Servers
from kit.trap_sites import check_costs, serve_all, write_spider

WORKERS = 3
BUDGET = 450

pytestmark = pytest.mark.timeout(300)


@pytest.mark.long
def test_three_workers_spend_one_budget(servers: Servers, tmp_path: Path) -> None:
    with serve_all() as sites:
        spider = write_spider(tmp_path, sites)
        settings: dict[str, str | float] = {"traps.max_worthless": BUDGET, "robots": "false", "per_host": 4}
        with Fleet(tmp_path, servers, workers=WORKERS, slots=1, settings=settings) as fleet:
            result = fleet.crawl(spider, timeout_s=240)
            done = fleet.run("report", "traps", result["job"], "--json")
            far = f"{sites['calendar'].url}/events/2999/01"
            told = fleet.run("explain", far, "--job", result["job"], "--spider", spider)
        assert result["finish_reason"] == "finished"
        check_costs(sites, BUDGET)
        traps = json.loads(done.stdout)["traps"]
        for name in TRAPS:
            assert [trap for trap in traps if f"//{sites[name].host}/" in trap["urls"]], name
        assert not [trap for trap in traps if f"//{sites['good'].host}/" in trap["urls"]]
        assert "trap_calendar" in told.stdout, told.stdout + told.stderr


STOPPING = """
from gossamer import Spider


class Stopping(Spider):
    name = "stopping"
    start_urls = ["{url}/"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        if response.url.endswith("/product/25"):
            response.stop("enough is known")
        yield {{"url": response.url}}
        yield from response.follow_all(response.links())
"""


@pytest.mark.long
def test_a_callback_ends_the_job_of_all_workers(servers: Servers, tmp_path: Path) -> None:
    app = GoodSite(2_000)
    with serve_in_thread(lambda path, headers: replace(app(path, headers), delay_s=0.05)) as site:
        spider = tmp_path / "stopping.py"
        spider.write_text(STOPPING.format(url=site.url))
        with Fleet(
            tmp_path, servers, workers=2, slots=1, settings={"robots": "false", "per_host": 8}
        ) as fleet:
            result = fleet.crawl(spider, timeout_s=120)
            shown = fleet.run("status", result["job"])
        assert result["finish_reason"] == "stopped: enough is known"
        assert 26 <= result["items"] < app.pages
        assert "stopped: enough is known" in shown.stdout
