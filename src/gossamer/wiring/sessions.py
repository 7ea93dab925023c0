"""Sessions by the settings, and where cookies kept in shared state meet fetching and committing."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.config.settings import Settings
from gossamer.core.jobs import Job, tag_of
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult, VisitResult
from gossamer.core.routes import DIRECT, Route
from gossamer.fetch.sessions.pool import SessionPool
from gossamer.fetch.sessions.shared_cookies import SharedCookieStore
from gossamer.policy.sessions import SessionRules
from gossamer.ports.clock import Clock
from gossamer.ports.committer import Committer
from gossamer.ports.fetcher import Fetcher
from gossamer.ports.shared_state import SharedState


def session_pool_of(
    settings: Settings,
    shared: SharedState,
    clock: Clock,
    job: Job,
    *,
    profiles: Sequence[str] = (),
    is_alone: bool = False,
) -> SessionPool:
    """The identities of a job; ``profiles`` are the browsers that they may pretend to be."""
    wanted = settings.sessions
    rules = SessionRules(
        per_host=wanted.per_host,
        max_uses=wanted.max_uses,
        max_age_s=wanted.max_age,
        max_errors=wanted.max_errors,
        profiles=tuple(profiles),
    )
    return SessionPool(shared, clock, tag_of(job), rules, is_alone=is_alone)


class SessionFetcher:
    """A fetcher that knows, before each request, the cookies that other workers have saved."""

    def __init__(self, fetcher: Fetcher, cookies: SharedCookieStore) -> None:
        self._fetcher = fetcher
        self._cookies = cookies
        self.touches_network = fetcher.touches_network

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """See :class:`~gossamer.ports.fetcher.Fetcher`. Raises ``StorageError``, too."""
        await self._cookies.prepare_cookies(route.session_for(request), request.url)
        return await self._fetcher.fetch(request, route)

    async def close(self) -> None:
        """Let go of connections."""
        await self._fetcher.close()


class SessionCommitter:
    """A committer that saves the cookies first: whoever leases what a page has led to finds them."""

    def __init__(self, committer: Committer, cookies: SharedCookieStore) -> None:
        self._committer = committer
        self._cookies = cookies

    async def commit(self, results: Sequence[VisitResult]) -> list[bool]:
        """See :class:`~gossamer.ports.committer.Committer`."""
        await self._cookies.save_cookies()
        return await self._committer.commit(results)
