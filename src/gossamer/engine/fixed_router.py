"""The router of a crawl that fetches everything the same way."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.errors import MissingServiceError
from gossamer.core.requests import Request
from gossamer.core.routes import DIRECT, Advice, Detour, Route, RouteReport
from gossamer.core.rungs import AUTO, explain_missing_proxies, kind_of

_ANY = ("", AUTO)


class FixedRouter:
    """Port ``Router``: one route for all requests except those that name a rung, and nothing to learn.

    With ``is_only``, requests that name a rung take the same route, the only one without a network.
    """

    is_fixed = True

    def __init__(self, route: Route = DIRECT, *, is_only: bool = False) -> None:
        self._route = route
        self._is_only = is_only

    def __repr__(self) -> str:
        return f"FixedRouter({self._route!r})"

    async def choose_route(self, request: Request, host: str) -> Route | Detour:
        """See :class:`~gossamer.ports.router.Router`."""
        rung = request.fetch
        if self._is_only or rung in _ANY:
            return self._route
        if kind_of(rung):
            raise MissingServiceError(explain_missing_proxies(rung))
        return replace(self._route, rung=rung)

    async def learn_from(self, report: RouteReport) -> Advice | None:
        """See :class:`~gossamer.ports.router.Router`."""
        return None

    async def release_route(self, request: Request, route: Route, host: str) -> None:
        """See :class:`~gossamer.ports.router.Router`."""

    def lane_for(self, request: Request, host: str) -> str:
        """See :class:`~gossamer.ports.router.Router`."""
        return request.lane

    def has_ladder(self, request: Request, host: str) -> bool:
        """See :class:`~gossamer.ports.router.Router`."""
        return False

    def may_render(self, request: Request, host: str) -> bool:
        """See :class:`~gossamer.ports.router.Router`."""
        return False

    def skip_rung(self, request: Request, host: str, route: Route, error: MissingServiceError) -> bool:
        """See :class:`~gossamer.ports.router.Router`."""
        return False

    async def close(self) -> None:
        """See :class:`~gossamer.ports.router.Router`."""
