"""One visit in Scrapy's objects, shared by middlewares and the callback.

Code relies on that: the callback sees the ``meta`` and the response that a middleware has changed. A visit
runs in one task, so its exchange is found by the task's context.
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
        self.error: Exception | None = None  # raised by a middleware
        self.is_noted = False  # whether ``meta`` says what Scrapy's downloader puts there


_CURRENT: ContextVar[Exchange | None] = ContextVar("exchange", default=None)


def begin_exchange(asked: Request, request: ScrapyRequest) -> Exchange:
    """Make this exchange current for the visit."""
    exchange = Exchange(asked, request)
    _CURRENT.set(exchange)
    return exchange


def find_exchange(asked: Request) -> Exchange | None:
    """Return the exchange of a request that middlewares have seen in this visit."""
    exchange = _CURRENT.get()
    if exchange is None or exchange.url != asked.url or exchange.identity != identity_of(asked):
        return None
    return exchange
