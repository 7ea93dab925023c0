"""Pages that a callback asks for while it runs: fetched at once, beside the frontier.

robots.txt, the guard and the routes of the crawl hold for them, and of one host they come one after the other
with its delay between them. They are in no ledger, wait in no frontier, and are tried once.
"""

from __future__ import annotations

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import Detour, Route
from gossamer.engine.parts import VisitParts
from gossamer.policy import redirects, urls

ROBOTS_TRIES = 50
ROBOTS_WAIT_S = 0.2
"""How often, and how many seconds each time, to wait for a robots.txt that another worker fetches."""
MOST_HOSTS = 1000
"""Hosts whose next turns are remembered."""


class InlineFetcher:
    """Fetches single pages with the parts of a worker's visits."""

    def __init__(self, parts: VisitParts, *, delay_s: float, max_redirects: int) -> None:
        self._parts = parts
        self._delay_s = delay_s
        self._max_redirects = max_redirects
        self._turns: dict[str, float] = {}

    async def fetch_page(self, request: Request) -> tuple[Request, FetchResult]:
        """Fetch a page; return the last request and its response. Raises ``FetchError``."""
        while True:
            url = self._parts.admission.canonicalise(request)
            if url is None:
                raise FetchError(Fault.BAD_URL, request.url[:200])
            request = request.replace(url=url)
            fetched = await self._fetch_once(request)
            is_wanted = self._parts.extractor.wants_status(request, fetched.status)
            if is_wanted or fetched.status not in redirects.STATUSES:
                return request, fetched
            request = redirects.follow_redirect(
                request, url, fetched.status, fetched.header("location"), limit=self._max_redirects
            )

    async def _fetch_once(self, request: Request) -> FetchResult:
        parts, host = self._parts, urls.host_key(request.url)
        route = await parts.router.choose_route(request, host)
        if isinstance(route, Detour):
            raise FetchError(Fault.PROXY, route.why)
        try:
            await self._ask_robots(request, route)
            await self._await_turn(host)
            return await parts.fetcher.fetch(request, route)
        finally:
            if not parts.router.is_fixed:
                await parts.router.release_route(request, route, host)

    async def _ask_robots(self, request: Request, route: Route) -> None:
        """Raise ``FetchError`` if robots.txt does not allow the request, or cannot be fetched."""
        for _ in range(ROBOTS_TRIES):
            answer = await self._parts.robots.check_request(request, route)
            if answer.signal is None or not answer.allowed:
                if not answer.allowed:
                    raise FetchError(Fault(answer.reason), answer.detail)
                return
            await self._parts.clock.sleep(ROBOTS_WAIT_S)
        raise FetchError(Fault.ROBOTS_UNREACHABLE, "robots.txt was not there in time")

    async def _await_turn(self, host: str) -> None:
        """Wait for the next turn at a host, after those that others wait for already."""
        now = self._parts.clock.now()
        turn = max(now, self._turns.get(host, 0.0))
        if len(self._turns) >= MOST_HOSTS:
            self._turns = {name: at for name, at in self._turns.items() if at > now}
        self._turns[host] = turn + self._delay_s
        if turn > now:
            await self._parts.clock.sleep(turn - now)
