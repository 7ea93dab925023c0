"""The extractor of a crawl, by its settings."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

from gossamer.callbacks.extractor import ExtractorOptions, SpiderExtractor
from gossamer.callbacks.watchdog import Watchdog
from gossamer.config.settings import Settings
from gossamer.parse.isolation.limits import ParseLimits
from gossamer.parse.isolation.process import IsolatedExaminer
from gossamer.targets.discovery import CrawlTarget


def extractor_of(settings: Settings, target: CrawlTarget, closing: ExitStack) -> SpiderExtractor:
    """What runs the spiders, with a process for suspicious pages and a watch on the event loop."""
    parse = settings.parse
    isolation = IsolatedExaminer(
        ParseLimits(
            cpu_s=parse.timeout,
            memory_bytes=parse.max_memory_mb * 1024 * 1024,
            max_depth=parse.max_depth,
            max_tags=parse.max_tags,
        )
    )
    closing.callback(isolation.close)
    closing.enter_context(Watchdog(asyncio.get_running_loop()))
    options = ExtractorOptions(
        follow_nofollow=settings.follow_nofollow,
        max_links=parse.max_links,
        max_inline_bytes=parse.max_inline_bytes,
        callback_timeout_s=parse.callback_timeout,
    )
    return SpiderExtractor(target.choose, options, isolation=isolation)
