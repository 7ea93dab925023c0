"""A project's way to recognise duplicate requests: a fingerprint, or its own filter."""

from __future__ import annotations

import warnings
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter, RFPDupeFilter
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.utils.deprecate import method_is_overridden
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.request import RequestFingerprinter

SETTING = "DUPEFILTER_CLASS"
SHARED = "scrapy_redis"
"""The package whose filters query a server for other processes' requests; here the frontier does that."""


class ProjectFilter:
    """The project's duplicate filter and fingerprinter."""

    def __init__(self, crawler: Crawler) -> None:
        kind: Any = load_object(crawler.settings[SETTING])
        self.is_on = kind is not BaseDupeFilter
        """Whether duplicates are filtered at all."""
        self._filter: Any = None
        self._fingerprinter: Any = crawler.request_fingerprinter
        self._is_asked = self._is_named = False
        if self.is_on and isinstance(kind, type) and not _is_shared(kind):
            self._is_asked = not _is_usual(kind, "request_seen")
            self._is_named = not self._is_asked and not _is_usual(kind, "request_fingerprint")
        if self._is_asked or self._is_named:
            with warnings.catch_warnings():  # old code is what this is for
                warnings.simplefilter("ignore", ScrapyDeprecationWarning)
                self._filter = build_from_crawler(kind, crawler)
            if open_filter := getattr(self._filter, "open", None):
                open_filter()

    @property
    def has_keys(self) -> bool:
        """Whether the frontier filters duplicates; if not, each request counts as new."""
        return self.is_on and not self._is_asked

    @property
    def fingerprints(self) -> bool:
        """Whether requests have fingerprints of the project's own."""
        return self._is_named or type(self._fingerprinter) is not RequestFingerprinter

    def fingerprint(self, request: Request) -> bytes:
        """Return the project's own fingerprint of a request."""
        if self._is_named:
            return bytes.fromhex(self._filter.request_fingerprint(request))
        found: bytes = self._fingerprinter.fingerprint(request)
        return found

    def close(self, reason: str) -> None:
        """Close the filter at the end of the crawl."""
        if close_filter := getattr(self._filter, "close", None):
            close_filter(reason)

    def is_wanted(self, request: Request) -> bool:
        """Return whether the project's own filter has not seen the request; the filter then knows it."""
        return not self._is_asked or request.dont_filter or not self._filter.request_seen(request)


def _is_shared(kind: type) -> bool:
    return any(one.__module__.partition(".")[0] == SHARED for one in kind.__mro__)


def _is_usual(kind: type, method: str) -> bool:
    """Return whether a class inherits a method of Scrapy's default filter."""
    return issubclass(kind, RFPDupeFilter) and not method_is_overridden(kind, RFPDupeFilter, method)
