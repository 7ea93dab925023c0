"""What gets pages, runs spiders on them and takes their items: for a crawl, and for single pages."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gossamer.config import Settings
from gossamer.discovery import Target
from gossamer.engine.clock import SystemClock
from gossamer.extractor import ExtractOptions, SpiderExtractor
from gossamer.fetch.guard import Guard
from gossamer.fetch.http import HttpFetcher
from gossamer.fetch.jar import Cookies
from gossamer.fetch.limits import HttpOptions
from gossamer.fetch.machine import raise_open_files
from gossamer.fetch.replay import ReplayFetcher
from gossamer.fetch.robots_cache import RobotsCache
from gossamer.parse.isolate import Isolation
from gossamer.parse.isolate_limits import ParseLimits
from gossamer.pipeline.pipeline import DefaultPipeline
from gossamer.spider import Spider
from gossamer.store.memory import MemorySharedState
from gossamer.watchdog import Watchdog
from gossamer.words.clock import Clock
from gossamer.words.errors import UsageError
from gossamer.words.model import ItemRecord, Request
from gossamer.words.ports import Fetcher, RobotsGate

log = logging.getLogger("gossamer.crawl")


def fetcher_of(
    settings: Settings,
    guard: Guard,
    clock: Clock,
    *,
    cookies: Cookies | None = None,
    authorizations: Mapping[str, str] | None = None,
) -> Fetcher:
    """The way to get pages; without ``cookies`` they are kept in memory only.

    ``authorizations`` are values of Authorization by origin.
    """
    if settings.replay.folder is not None:
        return ReplayFetcher(Path(settings.replay.folder), settings.replay.rules, clock=clock)
    http = settings.http
    options = HttpOptions(
        user_agent=settings.user_agent,
        headers=http.headers,
        authorizations=dict(authorizations or {}),
        connect_s=http.connect_timeout,
        headers_s=http.headers_timeout,
        idle_s=http.read_timeout,
        body_s=http.total_timeout,
        max_body_bytes=http.max_size_bytes,
        insecure_hosts=frozenset(http.insecure_hosts),
        tls=http.tls,
    )
    raise_open_files()
    return HttpFetcher(options, clock=clock, guard=guard, cookies=cookies)


def touches_network(settings: Settings) -> bool:
    """Whether there is a server to be polite to."""
    return settings.replay.folder is None


def extractor_of(settings: Settings, target: Target, closing: ExitStack) -> SpiderExtractor:
    """What runs the spiders, with a process for suspicious pages and a watch on the event loop."""
    parse = settings.parse
    isolation = Isolation(
        ParseLimits(
            cpu_s=parse.timeout,
            memory_bytes=parse.max_memory_mb * 1024 * 1024,
            max_depth=parse.max_depth,
            max_tags=parse.max_tags,
        )
    )
    closing.callback(isolation.close)
    closing.enter_context(Watchdog(asyncio.get_running_loop()))
    options = ExtractOptions(
        follow_nofollow=settings.follow_nofollow,
        max_links=parse.max_links,
        max_inline_bytes=parse.max_inline_bytes,
        callback_timeout_s=parse.callback_timeout,
    )
    return SpiderExtractor(target.choose, options, isolation=isolation)


class SpiderPipelines:
    """Port ``Pipeline``: an item passes the pipeline of the spider that its page went to."""

    def __init__(self, choose: Callable[[Request], Spider], *, timeout_s: float) -> None:
        self._choose = choose
        self._timeout_s = timeout_s
        self._open: dict[int, DefaultPipeline] = {}
        self._opening = asyncio.Lock()
        self.failures: list[str] = []
        """Tracebacks of the steps that did not close."""

    async def process(self, item: Any, url: str) -> ItemRecord:
        """See :class:`~gossamer.words.ports.Pipeline`."""
        spider = self._choose(Request(url))
        return await (self._open.get(id(spider)) or await self.open(spider)).process(item, url)

    async def open(self, spider: Spider) -> DefaultPipeline:
        """A spider's pipeline, opened. Raises ``UsageError`` for what its steps raise: the crawl ends."""
        async with self._opening:  # nobody uses a pipeline that is still being opened
            if id(spider) not in self._open:
                try:
                    pipeline = DefaultPipeline(
                        require_fields=spider.require_fields,
                        steps=spider.pipelines,
                        spider=spider,
                        timeout_s=self._timeout_s,
                    )
                    await pipeline.open()
                except (Exception, SystemExit) as error:  # users' code
                    raise UsageError(
                        f"a pipeline of the spider {spider.name!r} does not open: "
                        f"{type(error).__name__}: {error}"
                    ) from error
                self._open[id(spider)] = pipeline
            return self._open[id(spider)]

    async def close(self) -> None:
        """Close all that were opened; steps that raise are logged and kept in ``failures``. Idempotent."""
        opened, self._open = self._open, {}
        for pipeline in opened.values():
            for failure in await pipeline.close():
                log.error("%s", failure.rstrip())
                self.failures.append(failure)


@dataclass(frozen=True)
class PageParts:
    """What fetches single pages as politely as a crawl does, without a data directory."""

    fetcher: Fetcher
    robots: RobotsGate
    clock: Clock


def page_parts(settings: Settings, host: str, authorizations: Mapping[str, str]) -> PageParts:
    """The parts for pages of a host that the operator named."""
    clock = SystemClock()
    fetcher = fetcher_of(settings, Guard({host}), clock, authorizations=authorizations)
    shared = MemorySharedState(clock)
    robots = RobotsCache(fetcher, shared, clock, user_agent=settings.user_agent, obey=settings.robots)
    return PageParts(fetcher, robots, clock)
