"""The extractor of a crawl, by its settings."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from importlib import import_module
from typing import TYPE_CHECKING

from gossamer.callbacks.extractor import ExtractorOptions, SpiderExtractor
from gossamer.callbacks.watchdog import Watchdog
from gossamer.config.settings import Settings
from gossamer.parse.engines import engine_named
from gossamer.parse.isolation.limits import ParseLimits
from gossamer.parse.isolation.process import IsolatedExaminer
from gossamer.ports.extractor import Extractor
from gossamer.targets.discovery import CrawlTarget
from gossamer.wiring.scope import fragment_rule_of

if TYPE_CHECKING:
    from gossamer.callbacks.hooks import SpiderHooks


def extractor_of(
    settings: Settings, target: CrawlTarget, closing: ExitStack, hooks: SpiderHooks | None = None
) -> Extractor:
    """Return the extractor, with a process for suspicious pages and a watch on the event loop."""
    parse = settings.parse
    isolation = IsolatedExaminer(
        ParseLimits(
            cpu_s=parse.timeout,
            memory_bytes=parse.max_memory_mb * 1024 * 1024,
            max_depth=parse.max_depth,
            max_tags=parse.max_tags,
            guesses_charset=parse.guess_charset,
        )
    )
    closing.callback(isolation.close)
    watchdog = closing.enter_context(Watchdog(asyncio.get_running_loop()))
    options = ExtractorOptions(
        follow_nofollow=settings.follow_nofollow,
        keeps_fragment=fragment_rule_of(settings),
        max_links=parse.max_links,
        max_inline_bytes=parse.max_inline_bytes,
        callback_timeout_s=parse.callback_timeout,
        guesses_charset=parse.guess_charset,
    )
    passage = None if hooks is None else hooks.pass_output
    engine = engine_named(parse.engine)
    extractor = SpiderExtractor(
        target.choose, options, isolation=isolation, pass_output=passage, engine=engine
    )
    if hooks is not None:
        hooks.read_response = extractor.read_response
        watchdog.finders = (*watchdog.finders, hooks.find_call)
    return compare_pages(settings, extractor)


def compare_pages(settings: Settings, extractor: Extractor) -> Extractor:
    """Return the extractor, which also finds near-duplicate pages if the settings say so."""
    rules = settings.duplicates
    if rules.near == "off":
        return extractor
    copies = import_module("gossamer.callbacks.near_duplicates")
    simhash = import_module("gossamer.policy.simhash")
    made: Extractor = copies.CopyExtractor(
        extractor, simhash.PageIndex(rules.distance), min_words=rules.min_words, skips=rules.near == "skip"
    )
    return made
