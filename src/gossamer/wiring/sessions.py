"""Sessions by the settings, and where cookies kept in shared state meet fetching and committing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module

from gossamer.callbacks.extractor import SpiderExtractor
from gossamer.config.sessions import OF_LOG_INS, SessionSettings
from gossamer.config.settings import Settings
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult, VisitResult
from gossamer.core.routes import DIRECT, Route
from gossamer.engine.parts import VisitParts
from gossamer.fetch.sessions.shared_cookies import SharedCookieStore
from gossamer.ports.committer import Committer
from gossamer.ports.fetcher import Fetcher
from gossamer.ports.login_gate import LoginGate
from gossamer.ports.shared_state import SharedState
from gossamer.targets.discovery import CrawlTarget


def has_identities(settings: Settings) -> bool:
    """Whether the settings ask for more than one identity that lasts as long as the crawl."""
    said = settings.sessions
    return any(
        getattr(said, name) != field.default
        for name, field in SessionSettings.model_fields.items()
        if name not in OF_LOG_INS
    )


def login_gate_of(
    settings: Settings,
    target: CrawlTarget,
    parts: VisitParts,
    shared: SharedState,
    job: str,
    *,
    save_cookies: Callable[[], Awaitable[None]] | None = None,
    is_alone: bool,
    is_fleet: bool = False,
) -> LoginGate | None:
    """Return the gate that logs a job's sessions in, from a visit's parts; ``None`` if no spider logs in.

    Without ``save_cookies`` they are in memory only. A fleet makes a new gate for each shift.
    """
    extractor = parts.extractor
    if not target.logs_in or not isinstance(extractor, SpiderExtractor):  # or no spider is to see the pages
        return None
    if not parts.fetcher.touches_network:  # saved pages need no session
        return None
    login = import_module("gossamer.wiring.login")  # most crawls do not use it
    gate: LoginGate = login.open_login_gate(
        settings,
        target,
        extractor,
        parts,
        shared,
        job=job,
        save_cookies=save_cookies,
        is_alone=is_alone,
        is_fleet=is_fleet,
    )
    return gate


class SessionFetcher:
    """A fetcher that knows, before each request, the cookies that other workers have saved."""

    def __init__(self, fetcher: Fetcher, cookies: SharedCookieStore) -> None:
        self._fetcher = fetcher
        self._cookies = cookies
        self.touches_network = fetcher.touches_network

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """See :class:`~gossamer.ports.fetcher.Fetcher`. Also raises ``StorageError``."""
        await self._cookies.prepare_cookies(route.session_for(request), request.url)
        return await self._fetcher.fetch(request, route)

    async def close(self) -> None:
        """Let go of connections."""
        await self._fetcher.close()


class SessionCommitter:
    """A committer that saves the cookies first, so that workers that lease the page's links have them."""

    def __init__(self, committer: Committer, cookies: SharedCookieStore) -> None:
        self._committer = committer
        self._cookies = cookies

    async def commit(self, results: Sequence[VisitResult]) -> list[bool]:
        """See :class:`~gossamer.ports.committer.Committer`."""
        await self._cookies.save_cookies()
        return await self._committer.commit(results)
