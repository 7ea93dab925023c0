"""A spider that logs in gets every page on a fleet, whoever is killed when."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.testing.site import serve_in_thread
from kit.fleet.processes import FULL, Fleet, Servers
from kit.log_in_site import PAGES, Club, spider_file

pytestmark = pytest.mark.timeout(300)
KILLS = 10 if FULL else 1
"""Each costs some seconds, until what a dead worker had in hand is taken back."""


@pytest.mark.long
def test_every_page_behind_a_log_in_is_had_though_workers_are_killed(
    servers: Servers, tmp_path: Path
) -> None:
    app = Club(delay_s=0.1, uses=15)
    settings = {"per_host": 2, "concurrency": 2, "frontier.lease_ttl": 2}
    with (
        serve_in_thread(app) as site,
        Fleet(tmp_path, servers, workers=2, slots=1, settings=settings) as fleet,
    ):
        job = fleet.submit(spider_file(tmp_path, site.url))
        for kill in range(KILLS):
            before = app.requests
            wait_until(lambda before=before: app.requests >= before + 2)
            fleet.workers[kill % 2].kill()
            fleet.workers[kill % 2].start()
        result = fleet.wait(job)
        stored = fleet.stored(job)
    assert (result["finish_reason"], result["dead"]) == ("finished", 0)
    assert len({url for url in stored.pages if "/page/" in url}) == PAGES
    assert len(stored.lines) == PAGES
    pages_read = app.requests - len(app.refused) - 4 * app.log_ins
    assert app.log_ins <= -(-pages_read // app.uses) + KILLS, "workers share the log-in"


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.005)
    assert is_so()
