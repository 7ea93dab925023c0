"""The statistics collector of a project, whose own counts also reach Gossamer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from inspect import signature
from typing import Any

from scrapy.statscollectors import StatsCollector

from gossamer.core.errors import UsageError
from gossamer.policy.spider_stats import LONGEST_NAME
from gossamer.spiders.stats import SpiderStats

_SCRAPYS = (
    *("downloader/", "scheduler/", "log_count/", "item_", "response_received_count", "retry/", "httperror/"),
    *("robotstxt/", "offsite/", "dupefilter/", "request_depth", "spider_exceptions/", "file_", "image_"),
    *("httpcache/", "memusage/", "feedexport/", "start_time", "finish_", "elapsed_time"),
)
"""Prefixes of Scrapy's own names, for which Gossamer has its own counts."""


class TellingCollector(StatsCollector):
    """Forwards the counts of a project's code to the spider's own statistics."""

    told: SpiderStats | None = None

    def get_value(self, key: str, default: Any = None, spider: Any = None) -> Any:
        """Scrapy's."""
        self._take_counts()
        return super().get_value(key, default)

    def get_stats(self, spider: Any = None) -> Any:
        """Scrapy's."""
        self._take_counts()
        return super().get_stats()

    def open_spider(self, spider: Any = None) -> None:
        """Open Scrapy's collector; those of older projects expect the spider."""
        super().open_spider(**self._spider_for(super().open_spider))

    def close_spider(self, spider: Any = None, reason: str | None = None) -> None:
        """Scrapy's."""
        self._take_counts()
        super().close_spider(reason=reason, **self._spider_for(super().close_spider))

    def inc_value(self, key: str, count: int = 1, start: int = 0, spider: Any = None) -> None:
        """Scrapy's, and ``stats.inc`` of the spider."""
        super().inc_value(key, count, start)
        self._tell("inc", key, count)

    def max_value(self, key: str, value: Any, spider: Any = None) -> None:
        """Scrapy's, and ``stats.max`` of the spider."""
        super().max_value(key, value)
        self._tell("max", key, value)

    def min_value(self, key: str, value: Any, spider: Any = None) -> None:
        """Scrapy's, and ``stats.min`` of the spider."""
        super().min_value(key, value)
        self._tell("min", key, value)

    def set_value(self, key: str, value: Any, spider: Any = None) -> None:
        """Scrapy's, and ``stats.set`` of the spider."""
        self._take_counts()
        super().set_value(key, value)
        self._tell("set", key, value)

    def _spider_for(self, method: Callable[..., Any]) -> dict[str, Any]:
        """Return the spider, for a method that takes one."""
        return {"spider": self._crawler.spider} if "spider" in signature(method).parameters else {}

    def _take_counts(self) -> None:
        """Take over what Gossamer has counted: all at once, since collectors take their time."""
        crawler: Any = self._crawler
        for key, count in crawler.take_counts().items():
            super().inc_value(key, count)

    def _tell(self, method: str, key: str, value: Any) -> None:
        told = self.told
        if told is None or not isinstance(value, int | float) or not 0 < len(key) <= LONGEST_NAME:
            return
        if key.startswith(_SCRAPYS):
            return
        try:
            getattr(told, method)(key, value)
        except UsageError:  # counted in two ways under one name, as is usual: set to 0, and counted on
            with suppress(UsageError):  # one that was counted first stays so
                told.set(key, self.get_value(key))


def make_collector_type(kind: type[StatsCollector]) -> type[TellingCollector]:
    """Return a class of collectors that forwards its counts."""
    return type(kind.__name__, (TellingCollector, kind), {"__module__": kind.__module__})
