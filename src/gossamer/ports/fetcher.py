"""From a request to a response."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import DIRECT, Route


class Fetcher(Protocol):
    """One way to fetch a page.

    Guarantee: every fetch ends in bounded time with a bounded result, whatever the server does; one fetch
    leaves no state for another.
    """

    touches_network: bool  # False: no server is there to be polite to

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """Return one response, bounded in size and time, without following redirects.

        ``route`` selects the proxy and the cookies. The result's ``rung`` names the way of fetching. A body
        to be saved (``request.saves``) may be in a file (``saved``) of any size, which is complete, or the
        fetch fails. Raises :class:`~gossamer.core.errors.FetchError` for failures of the host, the page or
        the proxy, and :class:`~gossamer.core.errors.OperatorError` if this way does not work until an
        operator fixes it (no browser, a refused key); nothing else.
        """
        ...

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        ...
