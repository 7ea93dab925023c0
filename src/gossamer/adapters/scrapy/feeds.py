"""``FEEDS``, written from the store by Scrapy's own exporters and storages at the end of a run.

So a feed has every item once, even after kills. Files are replaced as a whole: a partial file is never
visible, and a continued file has each item of its job once.
"""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import urlparse

from scrapy import Spider
from scrapy.exceptions import NotConfigured, ScrapyDeprecationWarning
from scrapy.extensions.feedexport import FeedExporter, FileFeedStorage, apply_uri_params

from gossamer.adapters.scrapy.crawler import AdaptedCrawler
from gossamer.adapters.scrapy.restoring import restore_item
from gossamer.core.errors import StorageError
from gossamer.core.jobs import StoredItem
from gossamer.export.files import copy_bytes, replace_file

log = logging.getLogger("scrapy.extensions.feedexport")
Ready = Callable[[Path], None]
_FAILED = "feedexport/failed_count/"


def open_feeds(crawler: AdaptedCrawler) -> list[AdaptedFeed]:
    """Return the feeds of a project; none, with a reason in the log, if Scrapy would write none."""
    try:
        with warnings.catch_warnings():  # old names are what this is for
            warnings.simplefilter("ignore", ScrapyDeprecationWarning)
            exporter = AdaptedFeedExporter(crawler)
    except NotConfigured:
        return []
    return [AdaptedFeed(exporter, uri) for uri in exporter.feeds]


class AdaptedFeed:
    """One feed, as a spider's :attr:`~gossamer.spiders.spider.Spider.feeds` has them."""

    def __init__(self, exporter: AdaptedFeedExporter, template: str) -> None:
        self._exporter = exporter
        self._template = template
        self._uri = ""
        options = exporter.feeds[template]
        self.can_grow = not options.get("overwrite", False) and not options["batch_item_count"]

    def __repr__(self) -> str:
        return f"<AdaptedFeed {self._template}>"

    @property
    def name(self) -> str:
        """The feed's URI, as the settings state it."""
        return self._template

    @property
    def path(self) -> Path:
        """The file, if it is one."""
        storage = self._exporter.make_storage(self._find_uri(), self._template)
        return Path(storage.path).absolute() if isinstance(storage, FeedFile) else Path(self._template)

    async def write_items(
        self, items: AsyncIterator[StoredItem], ready: Ready, *, is_continued: bool
    ) -> None:
        """Write the feed. Raises ``StorageError`` if that fails."""
        await self._exporter.write_feed(
            self._template, self._find_uri(), items, ready, is_continued=is_continued
        )

    def _find_uri(self) -> str:
        """Return the feed's URI, which may contain the time: the same at every call."""
        if not self._uri:
            self._uri = self._exporter.fill_template(self._template)
        return self._uri


class AdaptedFeedExporter(FeedExporter):
    """Scrapy's exporter, one feed after the other."""

    _ready: Ready | None = None

    async def write_feed(
        self, template: str, uri: str, items: AsyncIterator[StoredItem], ready: Ready, *, is_continued: bool
    ) -> None:
        """Write a feed, its first file to ``uri``; a continued file stays unchanged without new items."""
        crawler, failed = cast("AdaptedCrawler", self.crawler), self._count_failures()
        spider = crawler.open_spider
        self._ready = None if self.feeds[template]["batch_item_count"] else ready
        self.slots, first = [], True
        try:
            async for item in items:
                if first:
                    self._begin_feed(template, uri)
                    first = False
                self._export_item(restore_item(item, crawler), spider)
            if first and not is_continued:
                self._begin_feed(template, uri)
            for slot in self.slots:
                self._schedule_slot_close(slot, spider)
            await asyncio.gather(*cast("list[asyncio.Task[None]]", self._pending_close_tasks))
        finally:
            for slot in self.slots:
                if isinstance(slot.storage, FeedFile):
                    slot.storage.abandon()
        if self._count_failures() > failed:
            raise StorageError(f"the feed {template} could not be stored; the log says why")

    def fill_template(self, template: str) -> str:
        """Return the URI of a feed's first file."""
        spider = cast("AdaptedCrawler", self.crawler).open_spider
        return apply_uri_params(template, self._get_uri_params(spider, self.feeds[template]["uri_params"]))

    def make_storage(self, uri: str, template: str) -> Any:
        """Return the storage of a feed's file."""
        return self._get_storage(uri, self.feeds[template])

    def _begin_feed(self, template: str, uri: str) -> None:
        spider = cast("AdaptedCrawler", self.crawler).open_spider
        self.slots.append(self._start_new_batch(1, uri, self.feeds[template], spider, template))

    def _export_item(self, item: Any, spider: Spider) -> None:
        try:
            self.item_scraped(item, spider)
        except (OSError, StorageError):
            raise
        except Exception:
            log.exception("%r cannot be written to a feed", item)

    def _count_failures(self) -> int:
        assert self.crawler.stats is not None, "it is made with the crawler"
        counts = self.crawler.stats.get_stats()
        return sum(count for name, count in counts.items() if name.startswith(_FAILED))

    def _get_storage(self, uri: str, feed_options: dict[str, Any]) -> Any:
        kind = self.storages.get(urlparse(uri).scheme, self.storages["file"])
        if kind is FileFeedStorage:
            return FeedFile(uri, feed_options=feed_options, ready=self._ready)
        return super()._get_storage(uri, feed_options)


class FeedFile(FileFeedStorage):
    """A file of this machine, which takes its place when it is complete."""

    def __init__(
        self, uri: str, *, feed_options: dict[str, Any] | None = None, ready: Ready | None = None
    ) -> None:
        super().__init__(uri, feed_options=feed_options)
        options = feed_options or {}
        self._is_continued = self.write_mode == "ab" and not options.get("batch_item_count")
        self._ready: Ready = ready or (lambda part: None)
        self._open = ExitStack()

    def open(self, spider: Spider) -> IO[bytes]:
        """Open the new file, which begins with the old one if that is continued."""
        out, old = self._open.enter_context(
            replace_file(Path(self.path), keep=self._is_continued, ready=self._ready)
        )
        if old is not None:
            copy_bytes(old, out)
        return out

    def store(self, file: IO[bytes]) -> None:
        """Let it take its place. Raises ``StorageError``."""
        self._open.close()

    def abandon(self) -> None:
        """Discard a feed that was not stored, and keep the earlier file."""
        self._open.__exit__(StorageError, StorageError("not complete"), None)
