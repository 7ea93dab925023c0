"""The choice of a route for each request."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.errors import MissingServiceError
from gossamer.core.requests import Request
from gossamer.core.routes import Advice, Detour, Route, RouteReport


class Router(Protocol):
    """Chooses the route of every request of one job, and learns which routes work on which host.

    Guarantee: all workers of the job know an observation of one worker in each choice that begins a second
    later, and so does a resumed crawl. A choice never counts against the request.
    """

    is_fixed: bool  # True: all requests take one route, and nothing is learnt: ``learn_from`` is not called

    async def choose_route(self, request: Request, host: str) -> Route | Detour:
        """Return the route for this request of ``host`` (its politeness key), or the reason to wait.

        Raises :class:`~gossamer.core.errors.StorageError` if the shared state is unreachable, and
        :class:`~gossamer.core.errors.FetchError` for a request that must not be fetched.
        """
        ...

    async def learn_from(self, report: RouteReport) -> Advice | None:
        """Learn from the result of a route; ``None``: the result stands. Raises like ``choose_route``."""
        ...

    async def release_route(self, request: Request, route: Route, host: str) -> None:
        """Record that a request of ``host`` was given back before it was sent by ``route``. Raises like the
        choice.

        Not called if ``is_fixed``.
        """
        ...

    def lane_for(self, request: Request, host: str) -> str:
        """Return the lane for a new request of ``host`` from this worker's knowledge; never waits."""
        ...

    def has_ladder(self, request: Request, host: str) -> bool:
        """Return whether a refused request of ``host`` has another way of fetching."""
        ...

    def may_render(self, request: Request, host: str) -> bool:
        """Return whether a request of ``host`` may climb to a rung that runs the scripts of pages."""
        ...

    def skip_rung(self, request: Request, host: str, route: Route, error: MissingServiceError) -> bool:
        """Record that a route's rung is unavailable here; return whether the request has another rung to use
        next.
        """
        ...

    async def close(self) -> None:
        """Save unsaved observations. Idempotent."""
        ...
