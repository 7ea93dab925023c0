"""Whether a site's robots.txt lets a request pass."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.requests import Request
from gossamer.core.results import RobotsDecision
from gossamer.core.routes import DIRECT, Route


class RobotsGate(Protocol):
    """What a site's robots.txt says, fetched once per origin and remembered.

    Guarantee: of all requests to an origin that ask at the same time, one makes the gate fetch robots.txt;
    a file that could not be fetched closes its origin for a time (RFC 9309), and never opens it.
    """

    async def check_request(self, request: Request, route: Route = DIRECT) -> RobotsDecision:
        """Whether the request may be fetched; may fetch robots.txt first, by the same route, and says so.

        Never raises for what a site does: an unreachable robots.txt is a decision with ``retry_at``. Raises
        :class:`~gossamer.core.errors.StorageError` when what workers share cannot be reached.
        """
        ...

    def crawl_delay_for(self, url: str) -> float | None:
        """The Crawl-delay of a URL that was just allowed, in seconds; ``None`` without one."""
        ...
