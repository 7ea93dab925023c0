"""Gossamer: crawl and scrape the web, from one file on a laptop to a fleet of workers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gossamer.version import __version__

if TYPE_CHECKING:
    from gossamer.crawling import CrawlResult, crawl
    from gossamer.items import Item, key, key_field
    from gossamer.response import Response
    from gossamer.sitemap import SitemapSpider
    from gossamer.spider import Spider
    from gossamer.words.errors import DropItem
    from gossamer.words.model import Request

# Imported when first used: `gossamer --help` needs none of it.
_HOMES = {
    "CrawlResult": "gossamer.crawling",
    "DropItem": "gossamer.words.errors",
    "Item": "gossamer.items",
    "Request": "gossamer.words.model",
    "Response": "gossamer.response",
    "SitemapSpider": "gossamer.sitemap",
    "Spider": "gossamer.spider",
    "crawl": "gossamer.crawling",
    "key": "gossamer.items",
    "key_field": "gossamer.items",
}
__all__ = [
    "CrawlResult",
    "DropItem",
    "Item",
    "Request",
    "Response",
    "SitemapSpider",
    "Spider",
    "__version__",
    "crawl",
    "key",
    "key_field",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        from gossamer.words.scrapy import IMPORTS

        if name in IMPORTS:  # an AttributeError's words would not reach who imports it
            raise ImportError(f"gossamer has no {name}: {IMPORTS[name]}", name=name)
        raise AttributeError(f"module 'gossamer' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
