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
    """Which pages give the same when they are read from the archive.

    Not those whose callback decides whether the page is to be fetched again, in another way or as somebody
    else; and not those of which the archive has only a part.
    """

    def defers_page(request: Request, fetched: FetchResult) -> bool:
        spider = target.choose(request)
        return not (spider.logs_in or spider.required(request.callback or "parse") or fetched.captured)

    return defers_page


async def open_archived_ways(parts: RouteParts, opening: AsyncExitStack) -> tuple[Fetcher, Router]:
    """What gives the answers of a job again, and what chooses the lanes of new requests.

    Raises what opening the archive raises, and what reading the lists of proxies raises.
    """
    archived = ArchivedFetcher(open_reader(parts.settings), tag_of(parts.job))
    fetcher = with_response_hooks(archived, parts.hooks)
    opening.push_async_callback(fetcher.close)
    if BROWSER_LANE not in parts.lanes:
        return fetcher, FixedRouter()
    router = await open_router(parts, plan_of(parts.settings, parts.target), {})
    opening.push_async_callback(router.close)
    return fetcher, router
