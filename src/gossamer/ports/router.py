"""How requests are fetched: chosen for each, learnt from all."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.errors import MissingServiceError
from gossamer.core.requests import Request
from gossamer.core.routes import Advice, Detour, Route, RouteReport


class Router(Protocol):
    """Chooses the route of every request of one job, and learns what works on which host.

    Guarantee: what one worker has learnt, every worker of the job knows for each choice that begins a second
    later, and the crawl that is resumed knows it too. A choice never costs the request anything.
    """

    is_fixed: bool  # True: all requests take one route, and nothing is learnt: ``learn_from`` is not called

    async def choose_route(self, request: Request, host: str) -> Route | Detour:
        """How to fetch this request of ``host`` (its politeness key) now, or why not now.

        Raises :class:`~gossamer.core.errors.StorageError` when what workers share cannot be reached, and
        :class:`~gossamer.core.errors.FetchError` for a request that is not to be fetched at all.
        """
        ...

    async def learn_from(self, report: RouteReport) -> Advice | None:
        """Take in what came of a route; ``None``: the result stands as it is. Raises like the choice."""
        ...

    async def release_route(self, request: Request, route: Route, host: str) -> None:
        """A request of ``host`` was given back before it was sent by ``route``. Raises like the choice.

        Not called where ``is_fixed``.
        """
        ...

    def lane_for(self, request: Request, host: str) -> str:
        """The lane for a new request of ``host``, by what this worker knows already; never waits."""
        ...

    def has_ladder(self, request: Request, host: str) -> bool:
        """Whether a request of ``host`` that is refused may be fetched in another way."""
        ...

    def may_render(self, request: Request, host: str) -> bool:
        """Whether a request of ``host`` may climb to a rung that runs the scripts of pages."""
        ...

    def skip_rung(self, request: Request, host: str, route: Route, error: MissingServiceError) -> bool:
        """The rung of a route cannot be used here; whether the request has another, which it takes next."""
        ...

    async def close(self) -> None:
        """Save what is not saved yet. Idempotent."""
        ...
