"""Add the per-domain settings to requests: a fetcher around the fetchers.

Values are added when a request is sent and are stored nowhere. A request's own values take precedence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gossamer.core.record import Record
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import DIRECT, Route
from gossamer.policy.domains import find_domain
from gossamer.policy.urls import host_key
from gossamer.ports.clock import Clock
from gossamer.ports.cookie_store import CookieStore
from gossamer.ports.fetcher import Fetcher

OF_BROWSERS = "impersonate"
"""The way to fetch whose User-Agent belongs to the impersonated browser."""


class DomainOptions(Record, frozen=True, kw_only=True):
    """Default values for requests to one domain."""

    user_agent: str = ""
    headers: dict[str, str] = {}
    auth: str = ""
    cookies: dict[str, str] = {}
    timeout: float | None = None
    max_size: int | None = None

    def __repr__(self) -> str:
        return f"<DomainOptions with the headers {', '.join(self.headers) or 'of all'}>"


class DomainFetcher:
    """A :class:`~gossamer.ports.fetcher.Fetcher`; ``options`` are by domain, in small letters."""

    def __init__(
        self, fetcher: Fetcher, options: Mapping[str, DomainOptions], cookies: CookieStore, clock: Clock
    ) -> None:
        self._fetcher = fetcher
        self._options = options
        self._cookies = cookies
        self._clock = clock
        self.touches_network = fetcher.touches_network

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """See :class:`~gossamer.ports.fetcher.Fetcher`."""
        options = find_domain(self._options, host_key(request.url))
        if options is not None:
            request = request.replace(**self._missing_in(request, options, route))
        return await self._fetcher.fetch(request, route)

    async def close(self) -> None:
        """Let go of connections."""
        await self._fetcher.close()

    def _missing_in(self, request: Request, options: DomainOptions, route: Route) -> dict[str, Any]:
        """Return the fields of the request that the domain's options fill in."""
        taken = {*(name.lower() for name in request.headers), *(request.omit_headers or ())}
        headers = dict(options.headers)
        if options.user_agent and route.way != OF_BROWSERS:
            headers["User-Agent"] = options.user_agent
        added = {name: value for name, value in headers.items() if name.lower() not in taken}
        filled: dict[str, Any] = {"headers": {**request.headers, **added}} if added else {}
        if options.auth and request.auth is None:
            filled["auth"] = options.auth
        for name in ("timeout", "max_size"):
            if getattr(request, name) is None:
                filled[name] = getattr(options, name)
        if options.cookies and request.cookies is None:
            filled["cookies"] = self._missing_cookies(request, options, route) or None
        return filled

    def _missing_cookies(self, request: Request, options: DomainOptions, route: Route) -> dict[str, str]:
        """Return the cookies that the session does not have yet, so that the site's own values stay."""
        session, now = route.session_for(request), self._clock.now()
        known = {cookie.name for cookie in self._cookies.list_cookies(session, request.url, now)}
        return {name: value for name, value in options.cookies.items() if name not in known}
