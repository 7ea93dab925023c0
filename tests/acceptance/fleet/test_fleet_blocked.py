"""What one worker of a fleet learns about a site that refuses plain clients, no other worker learns again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
import pytest

from kit.blocked_site import BANNED, HOSTS, WELL, BlockedSite, Try, judge
from kit.fleet.processes import FULL, Fleet, Servers

pytestmark = pytest.mark.timeout(300)
PAGES, FREE = (1000, 50) if FULL else (100, 5)
PER_HOST = 8
IN_FLIGHT_S = 2.0
"""So long after a climb, requests that began before it may still come."""
QUERY = "SELECT url, verdict, reason, rung, proxy, cost, at, detail, worker FROM attempt ORDER BY at, id"


@pytest.mark.thorough
def test_four_workers_climb_once_for_all_of_them(servers: Servers, tmp_path: Path) -> None:
    settings = {"per_host": PER_HOST, "concurrency": 4}
    with BlockedSite(tmp_path, pages=PAGES, free=FREE) as site:
        with Fleet(tmp_path, servers, workers=4, slots=1, settings={**site.settings, **settings}) as fleet:
            result = fleet.crawl(site.write_spider(tmp_path), timeout_s=240)
            said = "".join(worker.log.read_text() for worker in fleet.workers)
        visits = site.visits()
    tries = [Try(*row) for row in asyncio.run(read_ledger(servers.database))]
    judge(site, tries, said)
    assert (result["finish_reason"], result["dead"]) == ("finished", 0)
    assert result["cost"] == pytest.approx(sum(one.cost for one in tries))
    for host in HOSTS:
        here = [visit for visit in visits if visit.host == host]
        climbed_at = min(visit.at for visit in here if not visit.is_plain)
        plain = [visit for visit in here if visit.is_plain]
        assert [visit for visit in plain if visit.at > climbed_at + IN_FLIGHT_S] == []
        assert sum(visit.status == 403 for visit in plain) <= (WELL + BANNED) * PER_HOST
    print(f"{result['pages_per_second']} pages/s by {sorted({one.worker for one in tries})}")


async def read_ledger(url: str) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(url, server_settings={"search_path": "gossamer"})
    try:
        return await connection.fetch(QUERY)
    finally:
        await connection.close()
