"""Scrapy's signals of single downloads, for their listeners: a hook next to the wire.

They are sent when an answer is complete: ``headers_received`` and ``bytes_received`` stop no download.
"""

from __future__ import annotations

from typing import Any

from scrapy import signals
from scrapy.http import Request as ScrapyRequest

from gossamer.adapters.scrapy.crawler import AdaptedCrawler
from gossamer.adapters.scrapy.exchanges import begin_exchange, find_exchange
from gossamer.adapters.scrapy.references import LostReferenceError
from gossamer.adapters.scrapy.requests import RequestMapper
from gossamer.adapters.scrapy.responses import make_response
from gossamer.core.requests import Request
from gossamer.spiders.failure import Failure
from gossamer.spiders.response import Response

_OF_DOWNLOADS = (
    signals.request_reached_downloader,
    signals.request_left_downloader,
    signals.response_downloaded,
    signals.headers_received,
    signals.bytes_received,
)


def download_signals(crawler: AdaptedCrawler, mapper: RequestMapper) -> list[Any]:
    """Return the hook that sends the signals, or no hook without listeners."""
    is_heard = any(crawler.signals.is_heard(signal) for signal in _OF_DOWNLOADS)
    return [DownloadSignalHook(crawler, mapper)] if is_heard else []


class DownloadSignalHook:
    """Signals requests that are sent, and their results."""

    def __init__(self, crawler: AdaptedCrawler, mapper: RequestMapper) -> None:
        self._crawler = crawler
        self._mapper = mapper

    def on_request(self, request: Request) -> None:
        """Signal that the request is being sent."""
        self._send(signals.request_reached_downloader, request)

    def on_response(self, response: Response) -> None:
        """Signal the answer."""
        asked = response.request
        given = self._find_request(asked)
        if given is None:
            return
        made = make_response(response, given)
        size = len(made.body)
        self._send(signals.headers_received, asked, headers=made.headers, body_length=size)
        self._send(signals.bytes_received, asked, data=made.body)
        self._send(signals.response_downloaded, asked, response=made)
        self._send(signals.request_left_downloader, asked)

    def on_error(self, request: Request, failure: Failure) -> None:
        """Signal the failure."""
        self._send(signals.request_left_downloader, request)

    def _send(self, signal: Any, asked: Request, **more: Any) -> None:
        if self._crawler.signals.is_heard(signal) and (given := self._find_request(asked)) is not None:
            self._crawler.signals.send_catch_log(signal, request=given, spider=self._crawler.spider, **more)

    def _find_request(self, asked: Request) -> ScrapyRequest | None:
        """Return Scrapy's request; ``None`` if its objects are lost, as its callback will report."""
        exchange = find_exchange(asked)
        if exchange is None:
            try:
                exchange = begin_exchange(asked, self._mapper.to_scrapy(asked, is_taken=False))
            except LostReferenceError:
                return None
        return exchange.request
