"""A crawl that runs in another process follows whoever steers it, measured by the site's own log."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.testing.shop import Shop
from gossamer.testing.site import Site, serve_in_thread
from kit.command_line import asked, gossamer
from kit.fleet.steps import until
from kit.programs import rows, start

SLOW_S = 20.0
"""A delay by which a crawl would take minutes."""


@pytest.fixture
def shop() -> Iterator[Site]:
    with serve_in_thread(Shop(60, per_page=10, related=0)) as site:
        yield site


@pytest.mark.slow
def test_a_running_crawl_follows(shop: Site, tmp_path: Path) -> None:
    crawling = start("crawl", shop.url, "--delay", str(SLOW_S), "--concurrency", "3", "-q", cwd=tmp_path)
    try:
        until(lambda: len(shop.hits) >= 1, 15, "robots.txt was asked for")
        (name,) = (job["job"] for job in asked("jobs", cwd=tmp_path))
        at = time.time()
        (changed,) = asked("set", name, "delay=0.2", cwd=tmp_path)
        assert (changed["key"], changed["before"], changed["after"]) == ("delay", SLOW_S, 0.2)
        until(lambda: len(shop.hits) >= 6, 15, "faster crawl")
        later = [hit.at for hit in shop.hits if hit.at > at]
        assert later[0] - at < 2.0, "it follows within a second or two"
        gaps = [after - before for before, after in itertools.pairwise(later)]
        assert min(gaps) > 0.2 * 0.9, "and is no faster than that"

        held = asked("host", name, shop.host, "--hold", "1h", cwd=tmp_path)
        assert held["next_at"] == held["hold_until"]
        count = len(shop.hits)
        asked("host", name, shop.host, "--ask", cwd=tmp_path)
        until(lambda: len(shop.hits) > count + 1, 15, "request after the hold")

        gossamer("pause", name, cwd=tmp_path)
        assert crawling.wait(15) == 3, "it stopped early"
        (status,) = asked("jobs", cwd=tmp_path)
        assert (status["state"], status["finish_reason"]) == ("paused", "paused")

        count = len(shop.hits)
        crawling = start("crawl", shop.url, "--delay", str(SLOW_S), "--concurrency", "3", "-q", cwd=tmp_path)
        until(lambda: len(shop.hits) >= count + 4, 15, "crawl at the changed delay after its resume")
        asked("set", name, "max_time=0.1", cwd=tmp_path)
        assert crawling.wait(15) == 0, "the run is over by its time"
        (status,) = asked("jobs", cwd=tmp_path)
        assert status["finish_reason"] == "max_time"

        (back,) = asked("set", name, "delay", "--back", cwd=tmp_path)
        assert (back["before"], back["after"]) == (0.2, SLOW_S)
        kept = [json.loads(record)["key"] for (record,) in rows(tmp_path / ".gossamer", CHANGES)]
        assert kept == ["max_time"]
    finally:
        crawling.kill()
        crawling.wait()


CHANGES = "SELECT record FROM job_setting"
