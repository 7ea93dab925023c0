"""``EXTENSIONS``: those of a project, and of Scrapy's own the ones that do here what they do there."""

from __future__ import annotations

import warnings
from typing import Any

from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.extension import ExtensionManager
from scrapy.settings import Settings
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object

from gossamer.adapters.scrapy.crawler import AdaptedCrawler
from gossamer.core.errors import UsageError

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
"""What Gossamer does itself, or what looks into an engine that is not there."""
_NO_ITEM = ("CLOSESPIDER_TIMEOUT_NO_ITEM", "CLOSESPIDER_PAGECOUNT_NO_ITEM")
"""Limits that only Scrapy's own extension knows."""


def open_extensions(crawler: AdaptedCrawler) -> None:
    """Make the extensions, before anything else is made from the crawler, as Scrapy does.

    Raises ``UsageError`` for what cannot be imported or made.
    """
    try:
        with warnings.catch_warnings():  # old code is what this is for
            warnings.simplefilter("ignore", ScrapyDeprecationWarning)
            crawler.extensions = AdaptedExtensions.from_crawler(crawler)
    except (Exception, SystemExit) as error:
        raise UsageError(f"EXTENSIONS cannot be opened: {type(error).__name__}: {error}") from error


class AdaptedExtensions(ExtensionManager):
    """Scrapy's manager without the extensions that have no work here."""

    @classmethod
    def _get_mwlist_from_settings(cls, settings: Settings) -> list[Any]:
        listed = build_component_list(settings.get_component_priority_dict_with_base("EXTENSIONS"))
        return [extension for extension in listed if not _is_ours(extension, settings)]


def _is_ours(extension: Any, settings: Settings) -> bool:
    kind = load_object(extension)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if name.endswith(".CloseSpider") and any(settings.getfloat(limit) for limit in _NO_ITEM):
        return False
    return name in _OURS
