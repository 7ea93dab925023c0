"""Permission of requests by robots.txt."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.requests import Request
from gossamer.core.results import RobotsDecision
from gossamer.core.routes import DIRECT, Route


class RobotsGate(Protocol):
    """The rules of robots.txt files, fetched once per origin and remembered.

    Guarantee: of all concurrent requests to an origin, one makes the gate fetch robots.txt. A failed fetch
    closes the origin for a time (RFC 9309) and never opens it.
    """

    async def check_request(self, request: Request, route: Route = DIRECT) -> RobotsDecision:
        """Return whether the request may be fetched, and whether robots.txt was fetched first by the same
        route.

        Never raises for failures of a site: an unreachable robots.txt is a decision with ``retry_at``. Raises
        :class:`~gossamer.core.errors.StorageError` if the shared state is unreachable.
        """
        ...

    def crawl_delay_for(self, url: str) -> float | None:
        """Return the Crawl-delay in seconds of a URL that was just allowed, or ``None``."""
        ...
