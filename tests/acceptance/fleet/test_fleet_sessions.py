"""A crawl that logs in once is logged in on every worker of a fleet, killed ones included."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from gossamer.testing.site import serve_in_thread
from kit.fleet.processes import Fleet, Servers
from kit.members_site import MOVED, PAGES, Members, spider_file

pytestmark = pytest.mark.timeout(240)


@pytest.mark.thorough
def test_all_workers_are_logged_in(servers: Servers, tmp_path: Path) -> None:
    app = Members(delay_s=0.2)
    settings = {"per_host": 6, "concurrency": 2, "frontier.lease_ttl": 2}
    with (
        serve_in_thread(app) as site,
        Fleet(tmp_path, servers, workers=2, slots=2, settings=settings) as fleet,
    ):
        job = fleet.submit(spider_file(tmp_path, site.url))
        deadline = time.monotonic() + 60
        while len(app.read) < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        fleet.workers[0].kill()
        fleet.workers[0].start()
        result = fleet.wait(job)
        stored = fleet.stored(job)
        log_ins = sum(hit.method == "POST" for hit in site.hits)
    assert (result["finish_reason"], result["dead"], log_ins) == ("finished", 0, 1)
    assert result["redirects_to_known"] >= MOVED, "a worker that was killed may have recorded one half"
    assert app.refused == [], "every page was asked for by somebody who was logged in"
    assert len({url for url in stored.pages if "/page/" in url}) == PAGES
    assert len(stored.lines) == PAGES
