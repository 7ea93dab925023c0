"""A fleet in which only some workers have a browser: what needs one goes straight to them."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import asyncpg
import pytest

from gossamer.testing.site import SiteResponse, serve_in_thread
from kit.fleet.processes import Fleet, Servers

pytestmark = pytest.mark.timeout(180)
PAGES = 12

SPIDER = """
from gossamer import Spider


class Scripted(Spider):
    name = "scripted"
    start_urls = ["{start}/"]

    def parse(self, response):
        yield {"page": response.css("h1::text").get()}
        yield from response.follow_all(css="a")
"""


class ScriptedPages:
    """Without scripts there is neither a title nor a link. Each page links to some others."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        if path in ("/robots.txt", "/favicon.ico"):
            return SiteResponse(404)
        with self._lock:
            self.asked.append(path)
        links = [f"/{number}" for number in range(1, PAGES)] if path == "/" else []
        script = f"""document.body.innerHTML = '<h1>Page {path}</h1>' +
            {json.dumps(links)}.map(link => '<a href="' + link + '">x</a>').join('')"""
        body = f"<!doctype html><title>x</title><body><script>{script}</script></body>"
        return SiteResponse(200, body.encode(), delay_s=0.1)


@pytest.mark.long
def test_pages_that_need_a_browser_go_to_the_workers_that_have_one(servers: Servers, tmp_path: Path) -> None:
    app = ScriptedPages()
    settings = {"cluster.lanes": '["http", "browser"]', "fetch": "browser", "per_host": 2, "concurrency": 2}
    with (
        serve_in_thread(app) as site,
        Fleet(tmp_path, servers, workers=0, slots=1, settings=settings) as fleet,
    ):
        plain = fleet.add_worker("--lanes", "http")
        browser = fleet.add_worker("--lanes", "browser")
        fleet.ready()
        spider = tmp_path / "scripted.py"
        spider.write_text(SPIDER.replace("{start}", site.url))
        job = fleet.submit(spider)
        deadline = time.monotonic() + 60
        while len(app.asked) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        plain.kill()  # the links go to the other at once, without its help
        result = fleet.wait(job)
        tried = asyncio.run(read_ledger(servers.database))
        pid = browser.pid
    assert (result["finish_reason"], result["pages"], result["dead"]) == ("finished", PAGES, 0)
    assert len(app.asked) == PAGES == len(tried), "nobody but the browser asked, and once"
    assert {(rung, verdict) for rung, verdict, _ in tried} == {("browser", "success")}
    assert len({worker for *_, worker in tried}) == 1
    assert str(pid) in tried[0][2]


async def read_ledger(url: str) -> list[tuple[str, str, str]]:
    connection = await asyncpg.connect(url, server_settings={"search_path": "gossamer"})
    try:
        found = await connection.fetch("SELECT rung, verdict, worker FROM attempt")
    finally:
        await connection.close()
    return [(row["rung"], row["verdict"], row["worker"]) for row in found]
