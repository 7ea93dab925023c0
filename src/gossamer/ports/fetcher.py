"""From a request to a response."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import DIRECT, Route


class Fetcher(Protocol):
    """One way to get a page.

    Guarantee: every fetch ends in bounded time with a bounded result, whatever the server does; what one
    fetch left behind never reaches another.
    """

    touches_network: bool  # False: no server is there to be polite to

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """One response, bounded in size and time, redirects not followed.

        ``route`` says through which proxy and with whose cookies. The result says in its ``rung`` which way
        of fetching gave it. A body that is wanted as a file (``request.saves``) may be in one (``saved``), of
        any size: all of it, or the fetch has failed. Raises :class:`~gossamer.core.errors.FetchError`, which
        says the same, for what the host, the page or the proxy does; an
        :class:`~gossamer.core.errors.OperatorError` where this way cannot be used at all until somebody mends
        it (no browser, a key that is refused); and nothing else.
        """
        ...

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        ...
