"""A crawl of a site of the test, within the test's own process."""

from __future__ import annotations

import asyncio
import gc
import resource
import time
from pathlib import Path
from typing import Any

from gossamer import SitemapSpider, Spider, crawl
from gossamer.crawl.result import CrawlResult
from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import Site
from kit.programs import rows

QUICK: dict[str, Any] = {"delay": 0.0, "per_host": 8, "max_retries": 0, "robots": False}
NOT_FOUND = SiteResponse(404)
SILENT = [type("Silent", (), {"emit": lambda self, event: None})()]


def html(text: str) -> SiteResponse:
    return SiteResponse(body=text.encode())


async def run(spider: type[Spider], data: Path, **settings: Any) -> CrawlResult:
    return await crawl(spider, sinks=SILENT, data=str(data), **{**QUICK, **settings})


def follower(*urls: str, **attributes: Any) -> type[Spider]:
    """A spider that follows every link."""

    def parse(self: Spider, response: Any) -> Any:
        yield from response.follow_all(response.links())

    return type("Follower", (Spider,), {"name": "follower", "start_urls": urls, "parse": parse, **attributes})


def mapped(*urls: str, **attributes: Any) -> type[Spider]:
    """A spider that reads sitemaps and keeps the URL of every page."""

    def parse(self: Spider, response: Any) -> Any:
        yield {"url": response.url}

    return type("Mapped", (SitemapSpider,), {"name": "m", "sitemap_urls": urls, "parse": parse, **attributes})


class Probe:
    """How long the loop works between two looks 20 ms apart, and how much memory is taken meanwhile.

    In its thread's own CPU time: on a busy machine it comes late without fault of its own.
    """

    def __init__(self) -> None:
        gc.collect()
        gc.freeze()  # what other tests have left is not this one's to look through
        self.worst_s = 0.0
        self._worked_s = time.thread_time()
        self._before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self._loop = asyncio.get_running_loop()
        self._loop.call_later(0.02, self._tick)

    def _tick(self) -> None:
        before, self._worked_s = self._worked_s, time.thread_time()
        self.worst_s = max(self.worst_s, self._worked_s - before)
        self._loop.call_later(0.02, self._tick)

    @property
    def grown_mb(self) -> int:
        return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - self._before) // 1024


def endings(data: Path) -> dict[str, str]:
    """How the last try at each URL ended."""
    return {url: reason or verdict for url, verdict, reason in rows(
        data, "select url, verdict, reason from attempt order by id")}  # fmt: skip


def paths(site: Site) -> list[str]:
    return [hit.path for hit in site.hits]
