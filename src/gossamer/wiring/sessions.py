"""Where cookies kept in shared state meet fetching and committing."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.requests import Request
from gossamer.core.results import Fetched, Harvest
from gossamer.fetch.sessions.shared_cookies import SharedCookies
from gossamer.ports.fetch import Fetcher
from gossamer.ports.store import Committer


class SessionFetcher:
    """A fetcher that knows, before each request, the cookies that other workers have saved."""

    def __init__(self, fetcher: Fetcher, cookies: SharedCookies) -> None:
        self._fetcher = fetcher
        self._cookies = cookies
        self.rung = fetcher.rung
        self.touches_network = fetcher.touches_network

    async def fetch(self, request: Request) -> Fetched:
        """See :class:`~gossamer.ports.fetch.Fetcher`. Raises ``StorageError``, too."""
        await self._cookies.ready(request.session, request.url)
        return await self._fetcher.fetch(request)

    async def close(self) -> None:
        """Let go of connections."""
        await self._fetcher.close()


class SessionCommitter:
    """A committer that saves the cookies first: whoever leases what a page has led to finds them."""

    def __init__(self, committer: Committer, cookies: SharedCookies) -> None:
        self._committer = committer
        self._cookies = cookies

    async def commit(self, harvests: Sequence[Harvest]) -> list[bool]:
        """See :class:`~gossamer.ports.store.Committer`."""
        await self._cookies.save()
        return await self._committer.commit(harvests)
