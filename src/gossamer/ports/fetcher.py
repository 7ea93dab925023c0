"""From a request to a response."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.requests import Request
from gossamer.core.results import FetchResult


class Fetcher(Protocol):
    """One way to get a page.

    Guarantee: every fetch ends in bounded time with a bounded result, whatever the server does; what one
    fetch left behind never reaches another.
    """

    touches_network: bool  # False: no server is there to be polite to

    async def fetch(self, request: Request) -> FetchResult:
        """One response, bounded in size and time, redirects not followed.

        It says in its ``rung`` which way of fetching gave it. Raises
        :class:`~gossamer.core.errors.FetchError`, which says the same, and nothing else.
        """
        ...

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        ...
