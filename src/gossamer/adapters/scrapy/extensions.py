"""``EXTENSIONS``: those of a project, and those of Scrapy that work here."""

from __future__ import annotations

import warnings
from typing import Any

from scrapy import Spider
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.extension import ExtensionManager
from scrapy.extensions.closespider import CloseSpider
from scrapy.settings import Settings
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object

from gossamer.adapters.scrapy.crawler import AdaptedCrawler
from gossamer.core.errors import UsageError
from gossamer.core.text import describe_error

_OURS = frozenset(
    f"scrapy.extensions.{name}"
    for name in (
        *("corestats.CoreStats", "feedexport.FeedExporter", "logstats.LogStats", "telnet.TelnetConsole"),
        *(
            "memusage.MemoryUsage",
            "memdebug.MemoryDebugger",
            "spiderstate.SpiderState",
            "throttle.AutoThrottle",
        ),
        *("remote_control.RemoteControl", "closespider.CloseSpider"),
    )
)
"""Extensions that Gossamer replaces, or that need Scrapy's engine."""
_NO_ITEM = ("CLOSESPIDER_TIMEOUT_NO_ITEM", "CLOSESPIDER_PAGECOUNT_NO_ITEM")
"""Limits that only Scrapy's own extension knows: by the items of its own process."""


def limits_of_items(settings: Settings) -> tuple[str, ...]:
    """Return the names of such limits that are set."""
    return tuple(limit for limit in _NO_ITEM if settings.getfloat(limit) > 0)


def open_extensions(crawler: AdaptedCrawler) -> None:
    """Make the extensions before anything else is made from the crawler, as Scrapy does.

    Raises ``UsageError`` if one cannot be imported or made.
    """
    try:
        with warnings.catch_warnings():  # old code is what this is for
            warnings.simplefilter("ignore", ScrapyDeprecationWarning)
            crawler.extensions = AdaptedExtensions.from_crawler(crawler)
    except (Exception, SystemExit) as error:
        raise UsageError(f"EXTENSIONS cannot be opened: {describe_error(error)}") from error


class AdaptedExtensions(ExtensionManager):
    """Scrapy's manager without the extensions that have no work here."""

    @classmethod
    def _get_mwlist_from_settings(cls, settings: Settings) -> list[Any]:
        listed = build_component_list(settings.get_component_priority_dict_with_base("EXTENSIONS"))
        if limits_of_items(settings):
            listed = [ItemLimits if load_object(one) is CloseSpider else one for one in listed]
        return [extension for extension in listed if not _is_ours(extension)]


class ItemLimits(CloseSpider):
    """Scrapy's extension, which ends no crawl that several processes work on: it sees the items of one."""

    crawler: AdaptedCrawler

    def spider_opened_no_item(self, spider: Spider) -> None:
        """Begin to watch the time without an item."""
        if not self.crawler.is_shared:
            super().spider_opened_no_item(spider)

    def _close_spider(self, reason: str) -> None:
        if not self.crawler.is_shared:
            super()._close_spider(reason)


def _is_ours(extension: Any) -> bool:
    kind = load_object(extension)
    return f"{kind.__module__}.{kind.__qualname__}" in _OURS
