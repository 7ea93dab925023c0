"""Requests that say much arrive as they were written, whichever worker of a fleet sends them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.testing.site import SiteResponse, serve_in_thread
from kit.fleet.processes import Fleet, Servers
from kit.written_requests import CalledSite, write_spider

pytestmark = pytest.mark.timeout(240)


@pytest.mark.thorough
def test_workers_send_them_whole(servers: Servers, tmp_path: Path) -> None:
    with serve_in_thread(lambda path, headers: SiteResponse(200, b"<html>other</html>")) as other:
        app = CalledSite(elsewhere=other.url.replace("127.0.0.1", "localhost"), delay_s=0.1)
        settings = {"per_host": 4, "concurrency": 2, "delay": 0}
        with (
            serve_in_thread(app) as site,
            Fleet(tmp_path, servers, workers=2, slots=2, settings=settings) as fleet,
        ):
            result = fleet.wait(fleet.submit(write_spider(tmp_path, site.url, delay=1.0)))
        landed = [hit.headers for hit in other.hits if hit.path == "/landed"]
    assert (result["finish_reason"], result["dead"]) == ("finished", 0)
    app.all_calls_were_whole()
    assert len(app.later) == 1
    assert landed
    assert not any({"authorization", "cookie"} & headers.keys() for headers in landed)
