"""``response.request.headers`` for Scrapy's code: the request's own headers and those added when it was
sent."""

from __future__ import annotations

from collections.abc import Mapping

from scrapy import Request as ScrapyRequest
from scrapy.http import Headers

from gossamer.core.requests import Request
from gossamer.version import __version__

_REFERER = b"Referer"


class SentHeaders:
    """The headers that the settings of one spider add to its requests."""

    def __init__(self, settings: Mapping[str, object]) -> None:
        """``settings`` are ours."""
        given: object = settings.get("http.headers") or {}
        own = dict(given) if isinstance(given, Mapping) else {}
        agent = str(settings.get("user_agent") or f"gossamer/{__version__}")
        self._fields = [*dict.items(Headers({"User-Agent": agent, **own}))]
        self._says_referer = bool(settings.get("http.referer"))

    def add_to(self, request: ScrapyRequest, asked: Request) -> None:
        """Put them where a request has none of their names."""
        headers = request.headers
        for name, values in self._fields:
            if not dict.__contains__(headers, name):
                dict.__setitem__(headers, name, [*values])
        if self._says_referer and asked.via and not dict.__contains__(headers, _REFERER):
            dict.__setitem__(headers, _REFERER, [asked.via.encode("latin-1", "replace")])
