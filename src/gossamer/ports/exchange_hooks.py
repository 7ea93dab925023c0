"""What users' code does to a request just before it is sent, and to its answer."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.errors import FetchError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult


class ExchangeHooks(Protocol):
    """The hooks of a crawl, as fetchers call them; robots.txt and log-ins pass them, too.

    Guarantee: whatever users' code does (raise, return junk, wait forever) is a
    :class:`~gossamer.core.hooks.HookError`, in bounded time as far as the code waits; the request that was
    handed in is never changed.
    """

    async def prepare_request(self, request: Request) -> Request | FetchResult:
        """The request as it is to be sent, which nobody stores; or its answer, and nobody is asked."""
        ...

    async def pass_answer(self, request: Request, fetched: FetchResult) -> FetchResult:
        """An answer as the crawl is to see it; ``request`` is the one that is stored."""
        ...

    async def pass_failure(self, request: Request, error: FetchError) -> FetchResult | None:
        """The answer that takes the place of a failure; ``None``: it stays one."""
        ...
