"""Deferred extraction by the settings: which pages another worker reads, and from where."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack

from gossamer.core.jobs import tag_of
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.shifts import BROWSER_LANE
from gossamer.engine.fixed_router import FixedRouter
from gossamer.fetch.archived import ArchivedFetcher
from gossamer.ports.fetcher import Fetcher
from gossamer.ports.router import Router
from gossamer.targets.discovery import CrawlTarget
from gossamer.wiring.archives import open_reader
from gossamer.wiring.hooks import with_response_hooks
from gossamer.wiring.routing import RouteParts, open_router, plan_of


def page_deferral_of(target: CrawlTarget) -> Callable[[Request, FetchResult], bool]:
    """Return a test of whether a page can be parsed later from the archive.

    It fails for pages whose callback may have them fetched again in another way or with another identity, and
    for pages that the archive has only in part.
    """

    def defers_page(request: Request, fetched: FetchResult) -> bool:
        spider = target.choose(request)
        return not (spider.logs_in or spider.required(request.callback or "parse") or fetched.captured)

    return defers_page


async def open_archived_ways(parts: RouteParts, opening: AsyncExitStack) -> tuple[Fetcher, Router]:
    """Open the fetcher of a job's archived responses, and the router of new requests.

    Raises the errors of opening the archive and of reading the lists of proxies.
    """
    archived = ArchivedFetcher(open_reader(parts.settings), tag_of(parts.job))
    fetcher = with_response_hooks(archived, parts.hooks)
    opening.push_async_callback(fetcher.close)
    if BROWSER_LANE not in parts.lanes:
        return fetcher, FixedRouter()
    router = await open_router(parts, plan_of(parts.settings, parts.target), {})
    opening.push_async_callback(router.close)
    return fetcher, router
