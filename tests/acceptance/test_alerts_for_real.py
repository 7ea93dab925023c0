"""Incidents for real: a site that changed its markup, proxies that die, Redis killed under a fleet."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer import Spider, crawl
from gossamer.runtime.cancelling import end_tasks
from gossamer.testing.site import SiteResponse, serve
from kit.alert_services import AlertService, serve_webhook
from kit.fake_proxy import FakeProxy, Forwarding, hang_up
from kit.fleet import spiders
from kit.fleet.processes import Fleet, Servers
from kit.fleet.serving import ServedSite
from kit.servers import PostgresProcess, RedisProcess

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(180)]
QUICK = {
    "holds": 1.0,
    "clears": 1.0,
    "away": 1.0,
    "no_items_pages": 20,
    "targets": {"ops": {"url_env": "OPS_URL"}},
}
PATIENCE_S = 60.0
SLACK_S = 3.0
"""For a machine that is busy."""


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - what is waited for happens in another thread
            await asyncio.sleep(0.1)


def told(service: AlertService, alert: str) -> list[str]:
    return [document["change"] for document in service.received if document["alert"] == alert]


class Titles(Spider):
    """Follows one page after the other, and takes their titles."""

    name = "titles"

    async def parse(self, response):
        for title in response.css("h1.title::text").getall():
            yield {"title": title}
        for link in response.css("a"):
            yield response.follow(link)


class ChangingSite:
    """Pages in a row, without an end; their markup can change."""

    def __init__(self) -> None:
        self.mark = "title"

    def __call__(self, path: str, headers: object) -> SiteResponse:
        if path == "/robots.txt":
            return SiteResponse(404, b"", "text/plain")
        number = int(path.strip("/") or 0)
        text = f'<h1 class="{self.mark}">Page {number}</h1><a href="/{number + 1}">next</a>'
        return SiteResponse(200, text.encode(), "text/html")


async def test_a_site_that_changes_its_markup(tmp_path, monkeypatch):
    site = ChangingSite()
    with serve_webhook() as service:
        monkeypatch.setenv("OPS_URL", f"http://127.0.0.1:{service.port}/")
        async with serve(site) as served:
            crawling = asyncio.create_task(run_crawl(served.url, tmp_path, delay=0.1))
            await asyncio.sleep(6)
            site.mark = "headline"
            await until(lambda: told(service, "no_items") == ["begun"])
            site.mark = "title"
            await until(lambda: told(service, "no_items") == ["begun", "ended"])
            crawling.cancel()
            await asyncio.gather(crawling, return_exceptions=True)
    assert service.received[0]["text"].startswith("titles-1 has found no item on its latest ")


async def run_crawl(url: str, folder: Path, **given: object) -> None:
    class Here(Titles):
        start_urls = (url,)
        settings = {"alerts": QUICK, **given}

    await crawl(Here, data=str(folder / "data"))


class RefusingSite:
    """Answers 503 to everything from its first request on, and keeps when that was."""

    def __init__(self) -> None:
        self.since = 0.0

    def __call__(self, path: str, headers: object) -> SiteResponse:
        self.since = self.since or time.monotonic()
        return SiteResponse(503, b"", "text/plain")


async def test_a_host_that_answers_nothing_well(tmp_path, monkeypatch):
    """The time to the alert: the limit, then the next request to the host, then the next look.

    Only its start URL is asked for, which waits for its next try most of the time.
    """
    site, limit_s, between_looks_s = RefusingSite(), 6.0, 5.0
    with serve_webhook() as service:
        monkeypatch.setenv("OPS_URL", f"http://127.0.0.1:{service.port}/")
        async with serve(site) as served:
            alerts = {**QUICK, "no_success": limit_s}
            crawling = asyncio.create_task(run_crawl(served.url, tmp_path, alerts=alerts, robots=False))
            await until(lambda: bool(told(service, "no_success")))
            took_s = time.monotonic() - site.since
            await end_tasks(crawling)
    # The pauses between two requests double, and such a pause is drawn around its length.
    assert limit_s <= took_s <= 3 * limit_s + between_looks_s + SLACK_S
    (notice,) = [document for document in service.received if document["alert"] == "no_success"]
    assert "has answered nothing but 429 or 503 since" in notice["text"]
    assert notice["severity"] == "needs_you"


async def test_proxies_that_die(tmp_path, monkeypatch):
    works = Forwarding()
    with serve_webhook() as service:
        monkeypatch.setenv("OPS_URL", f"http://127.0.0.1:{service.port}/")
        async with serve(ChangingSite()) as served, FakeProxy(works) as proxy:
            proxies = {
                "urls": (f"http://127.0.0.1:{proxy.port}",),
                "max_quarantine": 2.0,
            }
            settings = {"proxies": proxies, "delay": 0.2}
            crawling = asyncio.create_task(run_crawl(served.url, tmp_path, **settings))
            await asyncio.sleep(6)
            proxy.behaviour = hang_up
            await until(lambda: told(service, "proxies") == ["begun"])
            proxy.behaviour = works
            await until(lambda: told(service, "proxies") == ["begun", "ended"])
            crawling.cancel()
            await asyncio.gather(crawling, return_exceptions=True)


def test_redis_is_killed_under_a_fleet(
    redis_server: RedisProcess, postgres_server: PostgresProcess, postgres_url: str, tmp_path: Path
) -> None:
    servers = Servers(redis_server.start(), postgres_server.start(), postgres_url)
    servers.empty()
    with serve_webhook() as service, ServedSite(tmp_path / "site", "catalogue", 2000, 0.01) as site:
        spider = spiders.write(tmp_path, "catalogue", spiders.CATALOGUE, url=site.url)
        settings = {
            "alerts.holds": 1,
            "alerts.clears": 1,
            "alerts.away": 1,
            "alerts.targets.ops.url_env": "OPS_URL",
            "delay": 0.5,
        }
        env = {"OPS_URL": f"http://127.0.0.1:{service.port}/"}
        with Fleet(tmp_path, servers, workers=1, supervisors=2, settings=settings, env=env) as fleet:
            fleet.submit(spider)
            asyncio.run(asyncio.sleep(8))
            servers.redis.kill()
            asyncio.run(until(lambda: bool(told(service, "away"))))
            asyncio.run(asyncio.sleep(12))
            servers.redis.start()
            asyncio.run(until(lambda: "ended" in told(service, "away")))
    assert told(service, "away") == ["begun", "ended"]
    assert "Redis does not answer" in service.received[0]["text"]
