"""One request on its way, in the objects of Scrapy's that middlewares and callback share.

Code relies on that: what a middleware puts into ``meta``, or the response that it makes, is what the callback
gets. All of one visit happens in one task, so the exchange is found by its context.
"""

from __future__ import annotations

from contextvars import ContextVar

from scrapy.http import Request as ScrapyRequest
from scrapy.http import Response as ScrapyResponse

from gossamer.adapters.scrapy.requests import identity_of
from gossamer.core.requests import Request


class Exchange:
    """A request, and its response as soon as there is one."""

    __slots__ = ("error", "identity", "is_noted", "request", "response", "url")

    def __init__(self, asked: Request, request: ScrapyRequest) -> None:
        self.identity, self.url = identity_of(asked), asked.url
        self.request = request
        self.response: ScrapyResponse | None = None
        self.error: Exception | None = None  # what a middleware has raised
        self.is_noted = False  # whether ``meta`` says what Scrapy's downloader puts there


_CURRENT: ContextVar[Exchange | None] = ContextVar("exchange", default=None)


def begin_exchange(asked: Request, request: ScrapyRequest) -> Exchange:
    """From now on, this is what the visit is about."""
    exchange = Exchange(asked, request)
    _CURRENT.set(exchange)
    return exchange


def find_exchange(asked: Request) -> Exchange | None:
    """The exchange of a request that middlewares have seen in this visit."""
    exchange = _CURRENT.get()
    if exchange is None or exchange.url != asked.url or exchange.identity != identity_of(asked):
        return None
    return exchange
