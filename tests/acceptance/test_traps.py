"""A site without an end of each kind beside a good one: what it costs, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gossamer.testing.shop import Shop
from gossamer.testing.site import serve_in_thread
from gossamer.testing.traps import TRAPS, GoodSite
from kit.programs import crawl, rows, run
from kit.trap_sites import check_costs, join_traps, paths_of, serve_all, write_spider

BUDGET, DEFAULT_BUDGET = 150, 500

QUICK = ("--delay", "0", "--per-host", "8", "--no-robots", "-q", "-s", f"traps.max_worthless={BUDGET}")


def reported(data: Path) -> list[dict[str, Any]]:
    done = run("report", "traps", "--data", data, "--json")
    assert done.returncode == 0, done.stderr
    traps: list[dict[str, Any]] = json.loads(done.stdout)["traps"]
    return traps


def crawl_left_out(data: Path) -> int:
    """Links that the latest crawl has left out for a trap."""
    done = run("status", "follow", "--data", data, "--json")
    dropped: dict[str, int] = json.loads(done.stdout)["dropped"]
    return sum(count for reason, count in dropped.items() if reason.startswith("link:trap_"))


@pytest.mark.long
def test_traps_cost_less_than_their_budget_and_the_good_site_is_complete(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_all() as sites:
        spider = write_spider(tmp_path, sites)
        result = crawl(spider, "--data", data, *QUICK)
        assert result["finish_reason"] == "finished"
        check_costs(sites, BUDGET)
        traps = reported(data)
        for name in TRAPS:
            here = [trap for trap in traps if f"//{sites[name].host}/" in trap["urls"]]
            assert here or name == "repeats", name
            assert all(trap["pages"] <= len(sites[name].hits) for trap in here), name
        rules = {
            name: {trap["rule"] for trap in traps if f"//{sites[name].host}/" in trap["urls"]}
            for name in sites
        }
        assert rules["good"] == set()
        assert "trap_session" in rules["session_ids"]
        assert "trap_session" in rules["session_queries"]
        assert "trap_calendar" in rules["calendar"]
        assert "trap_parameters" in rules["parameters"]
        assert "trap_soft_404" in rules["soft_404"]
        assert "trap_near_duplicate" in rules["near_duplicates"]
        assert rules["first"] | rules["mirror"] == {"trap_mirror"}
        # The report, the ledger and `explain` tell the same.
        far = f"{sites['calendar'].url}/events/2999/01"
        done = run("explain", far, "--data", data, "--spider", spider)
        assert "The rule is trap_calendar: " in done.stdout, done.stdout
        assert f"of {sites['calendar'].url}/events/" in done.stdout
        assert "brought nothing new" in done.stdout
        (skipped,) = rows(data, "select count(*) from attempt where reason = 'trap' and status = 0")
        assert skipped[0] > 0
        # What was counted is kept: links to traps are refused from the first page of the next run on.
        before = {name: len(site.hits) for name, site in sites.items()}
        link = f"{sites['calendar'].url}/events/2991/07"
        sites["good"].app.links = (link,)  # type: ignore[attr-defined]
        done = run("explain", link, "--data", data, "--spider", spider)
        assert "It is in a trap" in done.stdout
        assert {name: len(site.hits) for name, site in sites.items()} == before


@pytest.mark.parametrize(("limit", "urls"), [("max_per_pattern", "/product/#"), ("max_per_domain", "*.")])
def test_links_over_a_limit_are_counted_in_the_report_as_in_the_summary(
    limit: str, urls: str, tmp_path: Path
) -> None:
    """A bug it would catch: the summary has 80 links that were left out, the report none."""
    data = tmp_path / "data"
    with serve_in_thread(Shop(60, page_bytes=2_000)) as site:
        spider = tmp_path / "follow.py"
        spider.write_text(
            "from gossamer import Spider\n\n\n"
            f"class Follow(Spider):\n    name = 'follow'\n    start_urls = ['{site.url}/catalog']\n\n"
            "    def parse(self, response):\n"
            "        yield from response.follow_all(css='a.product, a.next')\n"
        )
        result = crawl(spider, "--data", data, *QUICK, "-s", f"traps.{limit}=10")
        left_out = crawl_left_out(data)
    (trap,) = [trap for trap in reported(data) if urls in trap["urls"]]
    assert (result["pages"], trap["pages"]) == (13 if limit == "max_per_pattern" else 10, 10)
    assert trap["refused"] == left_out > 0


EVERY_PAGE = """
from gossamer import Spider


class EveryPage(Spider):
    name = "every"
    start_urls = ["{url}/"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        yield {{"url": response.url, "title": response.css("title::text").get()}}
        yield from response.follow_all(response.links())
"""


@pytest.mark.long
def test_two_processes_that_are_stopped_between_find_all_products_beside_every_trap(tmp_path: Path) -> None:
    """Default budgets; with every page an item that names it, all traps on the host of the shop."""
    good, spider = GoodSite(400), tmp_path / "every.py"
    with serve_in_thread(join_traps(good)) as site:
        spider.write_text(EVERY_PAGE.format(url=site.url))
        quick = ("--data", tmp_path / "data", "--delay", "0", "--per-host", "8", "--no-robots", "-q")
        command = (spider, *quick, "--processes", "2")
        stopped = crawl(*command, "--max-pages", "300")
        result = crawl(*command, "--max-pages", "5000")
    assert (stopped["finish_reason"], result["finish_reason"]) == ("max_pages", "finished")
    assert paths_of(good) <= {hit.path for hit in site.hits}
    assert len(site.hits) - good.pages < 4 * DEFAULT_BUDGET, "nine traps at once have less than a budget each"


def test_a_trap_that_was_closed_is_said_everywhere(tmp_path: Path) -> None:
    """With ``-q``, in ``--json`` and in the status; with ``--strict`` the crawl exits with 1."""
    data, quick = tmp_path / "data", ("--delay", "0", "--per-host", "8", "-q")
    with serve_in_thread(TRAPS["calendar"]) as site:
        done = run("crawl", f"{site.url}/", "--data", data, *quick, "--json", "-s", "traps.max_worthless=60")
        assert done.returncode == 0
        found = json.loads(done.stdout)
        links = found["left_out"]["link:trap_calendar"]
        for said in (*found["warnings"], done.stderr):
            assert f"{links} links of {site.url}/events/*" in said
            assert "traps.max_worthless" in said
            assert f"`gossamer report traps {found['job']}`" in said
            assert "--fresh -s traps.max_worthless=none" in said
        status = json.loads(run("status", found["job"], "--data", data, "--json").stdout)
        assert status["warnings"] == found["warnings"]
        # The command that is named queues them again.
        more = ("--fresh", "--strict", "--max-pages", "200", "--json")
        done = run("crawl", f"{site.url}/", "--data", data, *quick, *more, "-s", "traps.max_worthless=none")
        assert (json.loads(done.stdout)["pages"], json.loads(done.stdout)["warnings"]) == (200, [])
        assert "trap" not in done.stderr
        more = ("--fresh", "--strict", "-s", "traps.max_worthless=60")
        assert run("crawl", f"{site.url}/", "--data", data, *quick, *more).returncode == 1
