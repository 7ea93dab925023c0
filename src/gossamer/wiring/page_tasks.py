"""Tasks beside parsing: actions in a browser, screenshots, files, and notes for later crawls.

Imports only modules that most crawls need.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gossamer.callbacks.page_scripts import SpiderGuide
from gossamer.config.settings import Settings
from gossamer.core.jobs import Job
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.engine.parts import EngineParts, VisitParts
from gossamer.fetch.browser.screenshots import ScreenshotFolder
from gossamer.spiders.stats import changes_of
from gossamer.targets.discovery import CrawlTarget
from gossamer.wiring.backends import Backends

if TYPE_CHECKING:
    from gossamer.engine.file_keeper import FileKeeper
    from gossamer.engine.inline_fetcher import InlineFetcher


def guide_of(settings: Settings, target: CrawlTarget) -> SpiderGuide:
    """Return the guide to the spiders' wishes for a browser."""
    return SpiderGuide(target.choose, timeout_s=settings.parse.callback_timeout)


def screenshots_of(settings: Settings, job: Job) -> ScreenshotFolder | None:
    """Return the folder of the job's screenshots; ``None``: none are kept."""
    browser = settings.browser
    if browser.screenshots == "never" or settings.memory:
        return None
    return ScreenshotFolder(
        Path(settings.data) / "screenshots",
        job.id,
        max_files=browser.max_screenshots,
        keeps_all=browser.screenshots == "always",
        keeps_html=browser.screenshot_html,
    )


def files_of(settings: Settings, backends: Backends, job: Job, parts: VisitParts) -> Callable[[], FileKeeper]:
    """Return an opener that creates the keeper of the job's files with the first file."""

    @cache
    def open_files() -> FileKeeper:
        room = import_module("gossamer.wiring.files")
        keeper: FileKeeper = room.open_keeper(settings, backends, job, parts.fetcher)
        return keeper

    return open_files


def give_fetcher(settings: Settings, target: CrawlTarget, parts: VisitParts) -> None:
    """Give the spider a fetcher for its callbacks, and the canonical form of their URLs."""

    @cache
    def make_inline() -> InlineFetcher:
        delay_s = settings.min_delay if settings.delay is None else settings.delay
        room = import_module("gossamer.engine.inline_fetcher")
        made: InlineFetcher = room.InlineFetcher(
            parts, delay_s=delay_s, max_redirects=settings.http.max_redirects
        )
        return made

    async def fetch_page(request: Request) -> tuple[Request, FetchResult]:
        return await make_inline().fetch_page(request)

    target.spider.take_fetcher(fetch_page)
    target.spider.take_url_rule(parts.admission.canonicalise)


async def add_keepers(
    settings: Settings, target: CrawlTarget, backends: Backends, parts: EngineParts
) -> EngineParts:
    """Return parts that also keep files, the spider's counters and, if wanted, known pages."""
    give_fetcher(settings, target, parts)
    files = files_of(settings, backends, parts.job, parts)
    parts = replace(parts, open_files=files, changes=changes_of(target.spider))
    if not settings.freshness.is_on:
        return parts
    freshness = import_module("gossamer.wiring.freshness")
    found: EngineParts = await freshness.add_memory(settings, target, backends, parts)
    return found


async def due_requests(settings: Settings, backends: Backends, parts: EngineParts) -> AsyncIterator[Request]:
    """Yield the requests of known pages that are due, in a re-crawl."""
    if settings.freshness.recrawl != "off":
        async for request in import_module("gossamer.wiring.freshness").read_due(settings, backends, parts):
            yield request
