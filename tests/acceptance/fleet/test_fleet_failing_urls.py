"""Sites some of whose URLs always fail, crawled by two workers: the same holds as for one process."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

from kit.failing_hosts import CASES, Row, serving
from kit.fleet.processes import Fleet, Servers

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(600)]
ON_FLEET = {"delay": "none", "per_host": 1, "concurrency": 4}
"""As polite as by default; one shift has not all requests in its hands."""
HOSTS = 9
"""So many allow so much side by side that there is work for two shifts."""


@pytest.fixture(scope="module")
def pair(folder: Path, places: Servers) -> Iterator[Fleet]:
    """A supervisor and two workers, each with a browser, for all crawls."""
    settings = {"cluster.lanes": '["http", "browser"]'}
    with Fleet(folder, places, workers=2, slots=1, settings=settings) as fleet:
        yield fleet


@pytest.mark.parametrize("name", CASES)
async def test_good_pages_arrive_within_twice_the_time(name: str, pair: Fleet, tmp_path: Path) -> None:
    case = replace(CASES[name], fillers=HOSTS - 1 - len(CASES[name].kinds))
    async with serving(case) as hosts:
        spider = hosts.write_spider(tmp_path)
        job = await asyncio.to_thread(pair.submit, spider, *hosts.case.flags(**ON_FLEET))
        try:
            ended = await asyncio.to_thread(pair.wait, job, timeout_s=400)
        finally:  # of a job that has ended this changes nothing
            await asyncio.to_thread(pair.run, "cancel", job)
        rows, workers = await read_ledger(pair.servers.database, job)
    assert ended["finish_reason"] == "finished"
    assert len(workers) == 2
    assert min(workers.values()) >= len(rows) // 10, f"both had a part in it: {workers}"
    hosts.judge(rows, "fleet")


async def read_ledger(url: str, job: str) -> tuple[list[Row], Counter[str]]:
    """Every attempt of a job, and who made them."""
    connection = await asyncpg.connect(url, server_settings={"search_path": "gossamer"})
    try:
        number = await connection.fetchval("select id from job where name = $1", job)
        found = await connection.fetch(
            "select url, verdict, reason, at, worker from attempt where job = $1", number
        )
    finally:
        await connection.close()
    rows = [Row(row["url"], row["verdict"], row["reason"], row["at"]) for row in found]
    return rows, Counter(row["worker"] for row in found)
