"""User hooks on requests before sending and on their responses."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.errors import FetchError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult


class ExchangeHooks(Protocol):
    """The hooks of a crawl, as fetchers call them, including for robots.txt and log-ins.

    Guarantee: any failure of user code (an exception, a wrong return value, an endless wait) becomes a
    :class:`~gossamer.core.hooks.HookError`, in bounded time as long as the code awaits. The request passed in
    is never changed.
    """

    async def prepare_request(self, request: Request) -> Request | FetchResult:
        """Return the request to send, which is not stored, or a response that replaces the fetch."""
        ...

    async def pass_answer(self, request: Request, fetched: FetchResult) -> FetchResult:
        """An answer as the crawl is to see it; ``request`` is the one that is stored."""
        ...

    async def pass_failure(self, request: Request, error: FetchError) -> FetchResult | None:
        """The answer that takes the place of a failure; ``None``: it stays one."""
        ...
