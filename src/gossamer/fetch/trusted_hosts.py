"""The hosts that the operator named, shared by all workers of a fleet.

A spider's ``start()`` names hosts while one worker runs it; their pages may go to any other. A worker whose
guard refuses a host checks here before it fails.
"""

from __future__ import annotations

from gossamer.core.errors import Fault, FetchError
from gossamer.core.jobs import Job, tag_of
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import DIRECT, Route
from gossamer.fetch.guard import AddressGuard, place_of
from gossamer.fetch.spaces import TRUSTED
from gossamer.ports.fetcher import Fetcher
from gossamer.ports.shared_state import SharedState

FOR_S = 10 * 365 * 86400.0


class TrustedHosts:
    """The hosts that the operator of one job named."""

    def __init__(self, shared: SharedState, job: Job) -> None:
        self._shared = shared
        self._job = tag_of(job)

    async def trust_place(self, place: str) -> None:
        """Record that the operator named this host on this port."""
        await self._shared.put(TRUSTED, f"{self._job} {place}", b"1", FOR_S)

    async def is_named(self, place: str) -> bool:
        """Return whether the operator named exactly this host on this port."""
        return await self._shared.get(TRUSTED, f"{self._job} {place}") is not None


class TrustingFetcher:
    """A fetcher whose guard learns of trusted hosts from other workers."""

    def __init__(self, fetcher: Fetcher, guard: AddressGuard, trust: TrustedHosts) -> None:
        self._fetcher = fetcher
        self._guard = guard
        self._trust = trust
        self.touches_network = fetcher.touches_network

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """See :class:`~gossamer.ports.fetcher.Fetcher`."""
        try:
            return await self._fetcher.fetch(request, route)
        except FetchError as error:
            place = place_of(request.url)
            if error.fault is not Fault.GUARD or not await self._trust.is_named(place):
                raise
            self._guard.trust_place(place)
        return await self._fetcher.fetch(request, route)

    async def close(self) -> None:
        """Let go of connections."""
        await self._fetcher.close()
