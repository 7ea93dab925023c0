"""The beginning and the end of a crawl, as signalled to a Scrapy project's code."""

from __future__ import annotations

import logging
import time
import warnings
from datetime import UTC, datetime
from functools import partial
from typing import Any

from scrapy import signals
from scrapy.exceptions import CloseSpider, ScrapyDeprecationWarning
from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.misc import build_from_crawler, load_object

from gossamer.adapters.scrapy.crawler import AdaptedCrawler
from gossamer.adapters.scrapy.deferreds import await_any
from gossamer.adapters.scrapy.feeds import open_feeds
from gossamer.adapters.scrapy.reactor import follow_loop
from gossamer.adapters.scrapy.state import read_state, write_state
from gossamer.core.text import format_count

log = logging.getLogger("gossamer.crawl")
_REASONS = {
    "cancelled": "cancelled",
    "max_errors": "closespider_errorcount",
    "max_items": "closespider_itemcount",
    "max_pages": "closespider_pagecount",
    "max_time": "closespider_timeout",
    "paused": "shutdown",
    "signal": "shutdown",
    "stopped": "cancelled",
}
"""Scrapy's words for why a crawl ends; the others are the same, or Gossamer's alone."""


async def open_crawl(crawler: AdaptedCrawler) -> ItemPipelineManager:
    """Make and open the item pipelines, and signal the begin of the crawl. Their errors are passed on."""
    follow_loop()
    read_state(crawler)  # before anything is open that would have to be closed
    with warnings.catch_warnings():  # old code is what this is for
        warnings.simplefilter("ignore", ScrapyDeprecationWarning)
        crawler.feeds = open_feeds(crawler)
        kind = load_object(crawler.settings["ITEM_PROCESSOR"])
        chain: ItemPipelineManager = build_from_crawler(kind, crawler)
    crawler.adapted_engine.scraper.itemproc = chain
    await await_any(chain.open_spider_async())
    crawler.stats.open_spider()
    crawler.began_at = time.monotonic()
    crawler.stats.set_value("start_time", datetime.now(tz=UTC))
    told = await crawler.signals.send_catch_log_async(
        signals.spider_opened, spider=crawler.open_spider, dont_log=CloseSpider
    )
    for _, answer in told:
        if isinstance(answer, CloseSpider):
            crawler.adapted_engine.close_spider(reason=answer.reason)
    await crawler.signals.send_catch_log_async(signals.engine_started)
    return chain


async def close_crawl(crawler: AdaptedCrawler, reason: str) -> None:
    """Signal the end of the crawl, with Gossamer's reason.

    All listeners are called; the first of their errors is raised afterwards.
    """
    told: Any = _REASONS.get(reason, reason)
    if reason in ("finished", "stopped"):
        told = crawler.adapted_engine.close_reason or told
    crawler.stats.set_value("elapsed_time_seconds", time.monotonic() - crawler.began_at)
    crawler.stats.set_value("finish_time", datetime.now(tz=UTC))
    crawler.stats.set_value("finish_reason", told)
    if crawler.feeds:
        await crawler.signals.send_catch_log_async(signals.feed_exporter_closed)
    answers = await crawler.signals.send_catch_log_async(
        signals.spider_closed, spider=crawler.open_spider, reason=told
    )
    raised = [answer for _, answer in answers if isinstance(answer, BaseException)]
    steps = (
        partial(write_state, crawler),
        partial(crawler.duplicates.close, told),
        partial(crawler.stats.close_spider, reason=told),
    )
    for step in steps:
        try:
            step()
        except Exception as error:  # noqa: BLE001 - users' code, or a full disk: reported at the end
            raised.append(error)
    await crawler.signals.send_catch_log_async(signals.engine_stopped)
    _tell_unsent(crawler)
    if raised:
        raise raised[0]


def _tell_unsent(crawler: AdaptedCrawler) -> None:
    """Count the requests that code gave the engine after the last page, and that were not sent."""
    if left := crawler.adapted_engine.take_requests():
        log.warning(
            "%s that code gave to crawler.engine.crawl() %s not sent: the crawl of the spider %r has ended",
            format_count(len(left), "request"),
            "was" if len(left) == 1 else "were",
            crawler.open_spider.name,
        )
