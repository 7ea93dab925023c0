"""Hooks on a fleet: every worker signs what it sends, and what they add is in no Redis and no PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import redis

from gossamer.testing.site import SiteResponse, serve_in_thread
from kit.fleet.processes import Fleet, Servers

pytestmark = pytest.mark.timeout(300)
CANARY = "canaryoffleets7d1f"
PAGES = 60
SPIDER = """
from gossamer import Spider


class Sign:
    def open_spider(self, spider):
        self.key = "{canary}"

    async def on_request(self, request):
        request.headers["X-Signature"] = self.key
        return request.replace(url=request.url + "?sig=" + self.key)


class Signed(Spider):
    name = "signed"
    start_urls = ["{url}/"]
    hooks = [Sign]

    def on_response(self, response):
        if response.status == 200:
            return response.from_html(response.url, response.body + b"<a href=/late>x</a>")

    def on_output(self, response, output):
        for thing in output:
            if isinstance(thing, dict):
                thing["passed"] = True
            yield thing

    def parse(self, response):
        yield {{"url": response.url}}
        yield from response.follow_all(css="a")
"""


class Signed:
    """A site that answers those alone who sign."""

    def __init__(self) -> None:
        self.refused: list[str] = []

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        if headers.get("x-signature") != CANARY or not path.endswith(f"?sig={CANARY}"):
            self.refused.append(path)
            return SiteResponse(401)
        if path.startswith("/robots.txt"):
            return SiteResponse(404)
        return SiteResponse(200, "".join(f"<a href=/{n}>x</a>" for n in range(PAGES)).encode(), delay_s=0.02)


@pytest.mark.long
@pytest.mark.parametrize("is_deferred", [False, True], ids=["at_once", "deferred"])
def test_workers_sign_and_tell_nobody(servers: Servers, tmp_path: Path, is_deferred: bool) -> None:
    """Where pages are read later, the worker that reads them passes their answers through hooks."""
    app = Signed()
    settings: dict[str, Any] = {"per_host": 4, "delay": 0.0, "frontier.lease_ttl": 2}
    if is_deferred:
        settings |= {"archive.url": str(tmp_path / "archive"), "extract.deferred": True}
    with (
        serve_in_thread(app) as site,
        Fleet(tmp_path, servers, workers=2, slots=1, settings=settings) as fleet,
    ):
        spider = tmp_path / "signed.py"
        spider.write_text(SPIDER.format(canary=CANARY, url=site.url))
        job = fleet.submit(spider)
        fleet.workers[0].kill()
        fleet.workers[0].start()
        result = fleet.wait(job)
        stored = fleet.stored(job)
        kept = dump_of(servers.redis.url)
    assert (result["finish_reason"], result["dead"]) == ("finished", 0)
    assert len(stored.pages) == len(stored.lines) == PAGES + 2, "one link was added by a hook"
    assert all('"passed":true' in line.replace(" ", "") for line in map(str, stored.lines))
    assert app.refused == []
    assert CANARY.encode() not in kept
    assert not any(CANARY in str(row) for row in (*stored.pages, *stored.lines, *stored.ledger))


def dump_of(url: str) -> bytes:
    """Everything that a Redis holds."""
    with redis.Redis.from_url(url) as server:
        server.config_set("rdbcompression", "no")
        return b"".join(key + (server.dump(key) or b"") for key in server.scan_iter(count=1000))
