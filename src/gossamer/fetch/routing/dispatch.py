"""One fetcher for all ways to fetch: each request takes the way of its route."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from contextlib import AsyncExitStack
from typing import Any, Protocol, runtime_checkable

from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import DIRECT, Route
from gossamer.ports.fetcher import Fetcher


@runtime_checkable
class NamedFetcher(Protocol):
    """A fetcher over several services, of which a way names one after its colon (``gateway:NAME``)."""

    def open_name(self, name: str) -> object:
        """Be ready for one (empty: the first). Raises an ``OperatorError`` where it cannot be used."""
        ...


class RoutedFetcher:
    """A :class:`~gossamer.ports.fetcher.Fetcher` that chooses the fetcher of a route's way.

    ``open_way`` makes the fetcher of a way, or raises an ``OperatorError``. It is called once for each: at
    the start for ``ways``, so that anything missing is reported before the first page, and on demand for
    others. The part after a colon (``gateway:NAME``) is for a :class:`NamedFetcher` to judge.
    """

    touches_network = True

    def __init__(self, open_way: Callable[[str], Fetcher], ways: Iterable[str] = ()) -> None:
        self._open_way = open_way
        self._fetchers: dict[str, Fetcher] = {}  # by rung; several rungs may have the same fetcher
        self._opened: dict[str, Fetcher] = {}  # by way
        for way in ways:
            self.open_way(way)

    def __repr__(self) -> str:
        return f"RoutedFetcher({', '.join(self._opened)})"

    def fetch(self, request: Request, route: Route = DIRECT) -> Coroutine[Any, Any, FetchResult]:
        """See :class:`~gossamer.ports.fetcher.Fetcher`."""
        fetcher = self._fetchers.get(route.rung)
        if fetcher is None:
            fetcher = self._fetchers[route.rung] = self.open_way(route.way)
        return fetcher.fetch(request, route)

    async def close(self) -> None:
        """Close every way, even if one of them raises."""
        async with AsyncExitStack() as closing:
            for fetcher in self._opened.values():
                closing.push_async_callback(fetcher.close)

    def open_way(self, way: str) -> Fetcher:
        """Return the fetcher of a way, opened on first use. Errors of opening it are passed on."""
        way, _, name = way.partition(":")
        if way not in self._opened:
            self._opened[way] = self._open_way(way)
        fetcher = self._opened[way]
        if isinstance(fetcher, NamedFetcher):
            fetcher.open_name(name)
        return fetcher
