"""``ITEM_PIPELINES``: Scrapy's chain of item pipelines as one step of the crawl's pipeline.

An item that the chain drops, or on which a member fails, is dropped alone, as in Scrapy; both are counted
by reason, with some items as examples. The chain's result is stored in place of the item.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from pathlib import Path
from types import TracebackType
from typing import Any

import scrapy
from scrapy import signals
from scrapy.exceptions import DropItem as ScrapyDropItem
from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.log import logformatter_adapter
from twisted.python.failure import Failure

from gossamer.adapters.scrapy.crawler import AdaptedCrawler
from gossamer.adapters.scrapy.deferreds import await_any
from gossamer.adapters.scrapy.items import AdaptedItem, is_output
from gossamer.adapters.scrapy.lifecycle import open_crawl
from gossamer.core.errors import DropItem

log = logging.getLogger("scrapy.core.scraper")
_SCRAPY = str(Path(scrapy.__file__).parent)


class AdaptedPipeline:
    """The item pipelines of one spider, with the signals and the counts that Scrapy has of items."""

    def __init__(self, crawler: AdaptedCrawler) -> None:
        self._crawler = crawler
        self._chain: ItemPipelineManager | None = None

    def __repr__(self) -> str:
        return f"<AdaptedPipeline of {self._crawler.spidercls.__name__}>"

    async def open_spider(self, spider: Any) -> None:
        """Make and open the members; then the crawl begins. Their errors are passed on."""
        self._members = await open_crawl(self._crawler)
        if self._members.methods["process_item"]:
            self._chain = self._members

    async def close_spider(self, spider: Any) -> None:
        """Close the members. Their errors are passed on."""
        await await_any(self._members.close_spider_async())

    def process_item(self, item: AdaptedItem, spider: Any) -> AdaptedItem | Awaitable[AdaptedItem]:
        """Return the chain's result for an item. Raises ``DropItem`` if it has none."""
        if self._chain is not None or self._crawler.signals.is_heard(signals.item_scraped):
            return self._process_item(item)
        self._note_scraped(item.item, item.response)
        return item

    async def _process_item(self, item: AdaptedItem) -> AdaptedItem:
        output = given = item.item
        if self._chain is not None:
            try:
                output = await await_any(self._chain.process_item_async(given))
            except ScrapyDropItem as drop:
                await self._tell_dropped(given, drop, item.response)
                raise DropItem(str(drop) or type(drop).__name__) from None
            except Exception as error:  # noqa: BLE001 - users' code: one item, as in Scrapy
                await self._tell_failed(given, error, item.response)
                raise DropItem(f"{type(error).__name__} in {_find_place(error.__traceback__)}") from None
            if not is_output(output):  # Scrapy counts it as scraped, although no feed can take it
                await self._tell_scraped(output, item.response)
                kind = type(output).__name__
                log.error("the item pipelines returned %s instead of an item, for %r", kind, given)
                raise DropItem(f"the item pipelines returned {kind}")
        await self._tell_scraped(output, item.response)
        return item if output is given else AdaptedItem(output, item.key, item.response)

    def _note_scraped(self, output: Any, response: Any) -> None:
        crawler = self._crawler
        crawler.count("item_scraped_count")
        crawler.item_types.setdefault(type(output).__name__, type(output))
        if log.isEnabledFor(logging.DEBUG):
            _log(crawler.logformatter.scraped(output, response, crawler.open_spider))

    async def _tell_scraped(self, output: Any, response: Any) -> None:
        self._note_scraped(output, response)
        crawler = self._crawler
        if crawler.signals.is_heard(signals.item_scraped):
            await crawler.signals.send_catch_log_async(
                signals.item_scraped, item=output, response=response, spider=crawler.open_spider
            )

    async def _tell_dropped(self, item: Any, drop: ScrapyDropItem, response: Any) -> None:
        crawler = self._crawler
        _log(crawler.logformatter.dropped(item, drop, response, crawler.open_spider))
        crawler.count("item_dropped_count")
        crawler.count(f"item_dropped_reasons_count/{type(drop).__name__}")
        await crawler.signals.send_catch_log_async(
            signals.item_dropped, item=item, response=response, spider=crawler.open_spider, exception=drop
        )

    async def _tell_failed(self, item: Any, error: Exception, response: Any) -> None:
        crawler = self._crawler
        _log(crawler.logformatter.item_error(item, error, response, crawler.open_spider), is_error=True)
        failure = Failure()  # type: ignore[no-untyped-call]
        await crawler.signals.send_catch_log_async(
            signals.item_error, item=item, response=response, spider=crawler.open_spider, failure=failure
        )


def _find_place(trace: TracebackType | None) -> str:
    """Return the first place in a traceback outside Scrapy: the member that failed."""
    place = "the item pipelines"
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename != __file__ and not code.co_filename.startswith(_SCRAPY):
            return code.co_qualname
        trace = trace.tb_next
    return place


def _log(said: Any, *, is_error: bool = False) -> None:
    if said is not None:
        level, message, values = logformatter_adapter(said)
        log.log(level, message, values, exc_info=is_error)
