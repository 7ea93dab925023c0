"""Real crawls of a site that refuses plain clients by their address, through proxies: half are of no use.

The command is killed in the middle and started again. `tests/acceptance/test_blocked_site.py` has the same on
virtual time.
"""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from kit.blocked_site import HOSTS, PRICE, BlockedSite, Try, judge
from kit.environment import environment
from kit.fleet.processes import FULL, variables
from kit.programs import command, rows

pytestmark = pytest.mark.timeout(300 if FULL else 60)
PAGES, FREE = (1000, 50) if FULL else (100, 5)
"""Pages of each host, and how many of them a plain client gets from one address."""
PER_HOST = 8
QUERY = "select url, verdict, reason, rung, proxy, cost, at, detail, worker from attempt order by at, id"


def start_crawl(folder: Path, site: BlockedSite) -> subprocess.Popen[str]:
    """``gossamer crawl`` as a process."""
    settings = {**site.settings, "delay": 0, "per_host": PER_HOST, "data": str(folder / "data")}
    return subprocess.Popen(
        command("crawl", site.write_spider(folder), "--json"),
        cwd=folder,
        env=environment() | variables(settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.long
def test_every_page_arrives_and_nothing_is_learnt_twice_after_a_kill(tmp_path: Path) -> None:
    with BlockedSite(tmp_path, pages=PAGES, free=FREE) as site:
        first = start_crawl(tmp_path, site)
        try:
            is_in_the_middle = site.wait_for_climbed(PAGES // 4, first)
        finally:
            first.kill()
            _, said_before = first.communicate()
        assert is_in_the_middle, said_before
        killed_at = time.time()
        again = start_crawl(tmp_path, site)
        out, said = again.communicate(timeout=240)
        assert again.returncode == 0, said
        visits = site.visits()
        report = json.loads(out)
    tries = [Try(*row) for row in rows(tmp_path / "data", QUERY)]
    judge(site, tries, said_before + said)
    assert (report["finish_reason"], report["dead"]) == ("finished", 0)
    later = [one for one in tries if one.at >= killed_at and one.verdict != "expired"]
    assert later
    assert {one.rung for one in later} <= {"impersonate", "gateway:shop"}
    assert [visit for visit in visits if visit.is_plain and visit.at >= killed_at] == []
    to_dead = sum(one.proxy in site.dead for one in later)
    assert to_dead <= 0.01 * len(later), "at most one request tries each of them out when its time has come"
    assert "climbs from" not in said
    cost = sum(attempt.cost for attempt in tries)
    billed = PRICE * sum(visit.address == "gateway" for visit in visits)
    assert cost <= billed <= cost + PRICE * PER_HOST, "what was in flight at the kill is on the bill alone"
    assert report["cost"] == report["cost_by_rung"]["gateway:shop"] == pytest.approx(cost)
    assert len({visit.host for visit in visits}) == len(HOSTS)
