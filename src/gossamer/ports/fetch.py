"""From a request to a page, and whether it may be asked for."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.requests import Request
from gossamer.core.results import FetchResult, RobotsDecision


class Fetcher(Protocol):
    """One way to get a page."""

    rung: str  # its name on the ladder and in the ledger
    touches_network: bool  # False: no server is there to be polite to

    async def fetch(self, request: Request) -> FetchResult:
        """One response, bounded in size and time, redirects not followed.

        Raises :class:`~gossamer.core.errors.FetchError`, and nothing else.
        """
        ...

    async def close(self) -> None:
        """Let go of connections. Idempotent."""
        ...


class RobotsGate(Protocol):
    """What a site's robots.txt says, fetched once per origin and remembered."""

    async def check_request(self, request: Request) -> RobotsDecision:
        """Whether the request may be fetched; may fetch robots.txt first, and says so."""
        ...
