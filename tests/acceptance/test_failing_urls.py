"""Sites some of whose URLs always fail, over a real network: good pages arrive soon, bad ones are given up.

On virtual time, with all orders of the URLs: tests/unit/engine/test_pages_that_always_fail.py; on a fleet:
tests/acceptance/fleet/test_fleet_failing_urls.py.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from kit import programs
from kit.failing_hosts import CASES, REASONS, FailingHosts, Row, serving
from kit.proxies import SquidProcess, TinyproxyProcess

pytestmark = pytest.mark.timeout(300)
BY_PROXY = {
    **REASONS,
    "reset": frozenset({"connect", "gateway", "proxy_answer"}),  # a proxy answers in the host's place
}


def crawl(hosts: FailingHosts, folder: Path, **more: str | float) -> list[Row]:
    """Crawl all hosts in one process; the ledger."""
    spider = hosts.write_spider(folder)
    flags = hosts.case.flags(**more)
    done = programs.run("crawl", spider, "-q", "--data", folder / "data", *flags, cwd=folder, timeout=240)
    assert done.returncode == 0, done.stderr
    return [
        Row(*row) for row in programs.rows(folder / "data", "select url, verdict, reason, at from attempt")
    ]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name == "http" else pytest.mark.thorough)
        for name in CASES
    ],
)
async def test_good_pages_arrive_within_twice_the_time(name: str, tmp_path: Path) -> None:
    async with serving(CASES[name]) as hosts:
        rows = await asyncio.to_thread(crawl, hosts, tmp_path)
    hosts.judge(rows, "embedded")


@pytest.mark.thorough
async def test_good_pages_arrive_within_twice_the_time_through_proxies(tmp_path: Path) -> None:
    with SquidProcess() as squid, TinyproxyProcess() as tinyproxy:
        urls = json.dumps([squid.start().url(), tinyproxy.start().url()])
        async with serving(CASES["http"]) as hosts:
            rows = await asyncio.to_thread(crawl, hosts, tmp_path, **{"proxies.urls": urls})
            used = programs.rows(
                tmp_path / "data", "select distinct proxy from attempt where verdict = 'success'"
            )
    assert len(used) == 2
    assert all(name for (name,) in used)
    hosts.judge(rows, "proxies", BY_PROXY)
