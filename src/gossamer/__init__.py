"""Gossamer: crawl and scrape the web, from one file on a laptop to a fleet of workers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gossamer.version import __version__

if TYPE_CHECKING:
    from gossamer.core.browsing import Browsing, Click, Pdf, Press, Screenshot, Scroll, Type, Wait
    from gossamer.core.errors import (
        DropItem,
        FetchError,
        GossamerError,
        IgnoreRequest,
        JobBusy,
        JobBusyError,
        JsonValueError,
        LogInError,
        MissingServiceError,
        OperatorError,
        SelectorError,
        SettingError,
        StorageError,
        UnknownJobError,
        UsageError,
    )
    from gossamer.core.events import (
        Event,
        JobFinishedEvent,
        JobStartedEvent,
        LeaseLostEvent,
        NoticeEvent,
        PageDoneEvent,
        ProgressEvent,
        ShiftEndedEvent,
        TimeLeftEvent,
    )
    from gossamer.core.form_encoding import FormFile
    from gossamer.core.hooks import Replacement
    from gossamer.core.requests import Request
    from gossamer.crawl.result import CrawlResult
    from gossamer.crawl.run import crawl
    from gossamer.crawl.running_crawl import RunningCrawl, start_crawl
    from gossamer.items.item import FileRef, Item, key, key_field
    from gossamer.parse.selectors import Selector, SelectorList
    from gossamer.queries.stored_items import read_items as items
    from gossamer.spiders.failure import Failure
    from gossamer.spiders.feeds import CSVFeedSpider, XMLFeedSpider
    from gossamer.spiders.login import Login
    from gossamer.spiders.pagination import Paginate
    from gossamer.spiders.response import Response
    from gossamer.spiders.rules import Rule
    from gossamer.spiders.sitemap import SitemapSpider
    from gossamer.spiders.spider import Spider
    from gossamer.spiders.viewing import view

# Imported when first used: `gossamer --help` needs none of it.
_HOMES = {
    "Browsing": "gossamer.core.browsing",
    "CSVFeedSpider": "gossamer.spiders.feeds",
    "Click": "gossamer.core.browsing",
    "CrawlResult": "gossamer.crawl.result",
    "DropItem": "gossamer.core.errors",
    "Event": "gossamer.core.events",
    "Failure": "gossamer.spiders.failure",
    "FetchError": "gossamer.core.errors",
    "FileRef": "gossamer.items.item",
    "FormFile": "gossamer.core.form_encoding",
    "GossamerError": "gossamer.core.errors",
    "IgnoreRequest": "gossamer.core.errors",
    "Item": "gossamer.items.item",
    "JobBusy": "gossamer.core.errors",
    "JobBusyError": "gossamer.core.errors",
    "JobFinishedEvent": "gossamer.core.events",
    "JobStartedEvent": "gossamer.core.events",
    "JsonValueError": "gossamer.core.errors",
    "LeaseLostEvent": "gossamer.core.events",
    "LogInError": "gossamer.core.errors",
    "Login": "gossamer.spiders.login",
    "MissingServiceError": "gossamer.core.errors",
    "NoticeEvent": "gossamer.core.events",
    "OperatorError": "gossamer.core.errors",
    "PageDoneEvent": "gossamer.core.events",
    "Paginate": "gossamer.spiders.pagination",
    "Press": "gossamer.core.browsing",
    "ProgressEvent": "gossamer.core.events",
    "Replacement": "gossamer.core.hooks",
    "Request": "gossamer.core.requests",
    "Response": "gossamer.spiders.response",
    "Rule": "gossamer.spiders.rules",
    "RunningCrawl": "gossamer.crawl.running_crawl",
    "Screenshot": "gossamer.core.browsing",
    "Pdf": "gossamer.core.browsing",
    "Scroll": "gossamer.core.browsing",
    "Selector": "gossamer.parse.selectors",
    "SelectorError": "gossamer.core.errors",
    "SelectorList": "gossamer.parse.selectors",
    "SettingError": "gossamer.core.errors",
    "ShiftEndedEvent": "gossamer.core.events",
    "SitemapSpider": "gossamer.spiders.sitemap",
    "Spider": "gossamer.spiders.spider",
    "StorageError": "gossamer.core.errors",
    "TimeLeftEvent": "gossamer.core.events",
    "Type": "gossamer.core.browsing",
    "UnknownJobError": "gossamer.core.errors",
    "UsageError": "gossamer.core.errors",
    "Wait": "gossamer.core.browsing",
    "XMLFeedSpider": "gossamer.spiders.feeds",
    "crawl": "gossamer.crawl.run",
    "items": "gossamer.items",  # the room itself, which can be called
    "key": "gossamer.items.item",
    "key_field": "gossamer.items.item",
    "start_crawl": "gossamer.crawl.running_crawl",
    "view": "gossamer.spiders.viewing",
}
__all__ = [
    "Browsing",
    "CSVFeedSpider",
    "Click",
    "CrawlResult",
    "DropItem",
    "Event",
    "Failure",
    "FetchError",
    "FileRef",
    "FormFile",
    "GossamerError",
    "IgnoreRequest",
    "Item",
    "JobBusy",
    "JobBusyError",
    "JobFinishedEvent",
    "JobStartedEvent",
    "JsonValueError",
    "LeaseLostEvent",
    "LogInError",
    "Login",
    "MissingServiceError",
    "NoticeEvent",
    "OperatorError",
    "PageDoneEvent",
    "Paginate",
    "Pdf",
    "Press",
    "ProgressEvent",
    "Replacement",
    "Request",
    "Response",
    "Rule",
    "RunningCrawl",
    "Screenshot",
    "Scroll",
    "Selector",
    "SelectorError",
    "SelectorList",
    "SettingError",
    "ShiftEndedEvent",
    "SitemapSpider",
    "Spider",
    "StorageError",
    "TimeLeftEvent",
    "Type",
    "UnknownJobError",
    "UsageError",
    "Wait",
    "XMLFeedSpider",
    "__version__",
    "crawl",
    "items",
    "key",
    "key_field",
    "start_crawl",
    "view",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        from gossamer.compat.scrapy.hints import IMPORTS

        if name in IMPORTS:  # an AttributeError's words would not reach who imports it
            raise ImportError(f"gossamer has no {name}: {IMPORTS[name]}", name=name)
        raise AttributeError(f"module 'gossamer' has no attribute {name!r}")
    value = import_module("gossamer.items") if name == "items" else getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
