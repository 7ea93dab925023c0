"""Single pages for people, fetched as politely as a crawl does: robots.txt, the guard, a turn to wait for."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from gossamer.config.layers import find_project, load_settings
from gossamer.core.errors import Fault, FetchError, UsageError
from gossamer.core.hosts import HostSignal
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.observe.text import one_line, shown_url
from gossamer.policy import redirects, urls
from gossamer.policy.credentials import authorizations_for
from gossamer.spiders.response import Response
from gossamer.spiders.spider import Spider
from gossamer.targets.discovery import find_target, refuse_file
from gossamer.targets.settings import spider_settings
from gossamer.wiring.fetchers import page_parts

T = TypeVar("T")


@dataclass(frozen=True)
class PageVisit:
    """One page that was fetched: the request that got it, the answer, and the answers on the way."""

    request: Request
    fetched: FetchResult
    hops: tuple[FetchResult, ...]  # redirects, oldest first


class PageFetcher:
    """Fetches pages one after the other, with an event loop of its own; for code that has none."""

    def __init__(self, url: str, spider: str | None, arguments: dict[str, str], overrides: list[str]) -> None:
        start = Path.cwd()
        project = find_project(start)
        self.target = find_target(
            spider or self._canonical_url(url), arguments, project.parent if project else None
        )
        self.settings = load_settings(
            overrides=overrides, env=os.environ, spider=spider_settings(self.target.spider), start=start
        ).settings
        # What is typed is named by the operator, and may be a private address.
        parts = page_parts(
            self.settings,
            urls.hostname_of(self._canonical_url(url)),
            {**self.target.authorizations, **authorizations_for([self._absolute_url(url)])},
        )
        self._fetcher, self._robots, self._clock = parts.fetcher, parts.robots, parts.clock
        self._turns: dict[str, float] = {}  # when a host may be asked again
        self._crawl_delays: dict[str, float] = {}
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._fetcher.close())
        self._runner.close()

    def spider_for(self, request: Request) -> Spider:
        """The spider that a crawl would give this request to."""
        return self.target.choose(request)

    def fetch(self, url: str) -> Response:
        """A page, redirects followed. Raises ``FetchError``; ``UsageError`` where robots.txt says no."""
        visit = self.visit_page(url)
        return Response(visit.request, visit.fetched, follow_nofollow=self.settings.follow_nofollow)

    def visit_page(self, url: str) -> PageVisit:
        """The same with everything that is known of the fetch."""
        return self.run_in_loop(self._fetch_hops(Request(self._canonical_url(url))))

    def run_in_loop(self, work: Coroutine[Any, Any, T]) -> T:
        """What a coroutine gives, run in the loop that fetches."""
        return self._runner.run(work)

    @staticmethod
    def _absolute_url(url: str) -> str:
        return url if "://" in url else f"https://{url}"

    @staticmethod
    def _canonical_url(url: str) -> str:
        refuse_file(url)
        canonical = urls.canonicalise_url(PageFetcher._absolute_url(url))
        if canonical is None or not canonical.startswith(("http://", "https://")):
            shown = shown_url(url)
            raise UsageError(f"{shown!r} is not a URL that can be fetched (http or https with a host)")
        return canonical

    async def _fetch_hops(self, request: Request) -> PageVisit:
        hops: list[FetchResult] = []
        while True:
            await self._ask_robots(request)
            await self._wait_for_turn(request.url)
            fetched = await self._fetcher.fetch(request)
            if fetched.status not in redirects.STATUSES:
                return PageVisit(request, fetched, tuple(hops))
            hops.append(fetched)
            location, limit = fetched.header("location"), self.settings.http.max_redirects
            request = redirects.follow_redirect(request, fetched.url, fetched.status, location, limit=limit)
            sys.stderr.write(f"{fetched.status} -> {shown_url(request.url)}\n")

    async def _ask_robots(self, request: Request) -> None:
        answer = await self._robots.check_request(request)
        while answer.signal is not None:  # robots.txt was fetched just now: that was a turn
            self._record_robots(request.url, answer.signal)
            answer = await self._robots.check_request(request)
        if answer.allowed:
            return
        url = shown_url(request.url)
        if answer.reason == Fault.ROBOTS:
            raise UsageError(f"robots.txt does not allow {url}; --no-robots fetches it nevertheless")
        raise FetchError(Fault(answer.reason), answer.detail)

    def _record_robots(self, url: str, signal: HostSignal) -> None:
        """robots.txt was read: it may ask for a delay."""
        host = urls.host_key(url)
        if signal.robots_read:
            self._crawl_delays[host] = min(signal.crawl_delay_s or 0.0, self.settings.crawl_delay_cap)
        self._use_turn(host)

    async def _wait_for_turn(self, url: str) -> None:
        host = urls.host_key(url)
        wait_s = self._turns.get(host, 0.0) - self._clock.now()
        if wait_s > 1:
            sys.stderr.write(f"{one_line(host)}: {wait_s:.0f} s until the next request\n")
        await self._clock.sleep(wait_s)
        self._use_turn(host)

    def _use_turn(self, host: str) -> None:
        delay_s = self.settings.min_delay if self.settings.delay is None else self.settings.delay
        self._turns[host] = self._clock.now() + max(delay_s, self._crawl_delays.get(host, 0.0))
