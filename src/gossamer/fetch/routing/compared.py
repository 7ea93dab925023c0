"""A fetcher that doubts the errors of requests through proxies.

Every rung uses it for pages, robots.txt, log-ins and probes of a host in trouble. A doubted error is raised
as ``Fault.PROXY_ANSWER``, which is not counted against the page or its host; any other error is the host's
answer.
"""

from __future__ import annotations

from collections.abc import Callable

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import IDEMPOTENT, Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import DIRECT, Proxy, Route
from gossamer.fetch.routing.proxies import ProxyPool
from gossamer.policy.faults import UNREACHABLE
from gossamer.policy.proxy_answers import is_error, is_signed
from gossamer.policy.retry import fault_of_status
from gossamer.policy.urls import host_key
from gossamer.ports.fetcher import Fetcher


class ComparingFetcher:
    """Port ``Fetcher``: another one, whose answers through the proxies of a pool are compared.

    ``is_block`` says whether an answer refuses us, which is judged elsewhere.
    """

    def __init__(self, fetcher: Fetcher, pool: ProxyPool, is_block: Callable[[FetchResult], bool]) -> None:
        self._fetcher = fetcher
        self._pool = pool
        self._is_block = is_block
        self.touches_network = fetcher.touches_network

    def __repr__(self) -> str:
        return f"ComparingFetcher({self._fetcher!r}, {self._pool!r})"

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """See :class:`~gossamer.ports.fetcher.Fetcher`."""
        proxy = route.proxy
        if proxy is None:
            return await self._fetcher.fetch(request, route)
        host = host_key(request.url)
        try:
            fetched = await self._fetcher.fetch(request, route)
        except FetchError as error:  # a proxy may blame the host for its own failure
            if (error.status < 500 and not error.is_unclear) or error.fault not in UNREACHABLE:
                raise
            if not self._doubts_error(request, route, host):
                raise
            said = f"status {error.status}" if error.status else "no connection to the host"
            raise _doubt_of(proxy, said, error.rung, error.cost, error.browser_s) from error
        fields = [name for name, _ in fetched.headers]
        if not is_error(fetched.status, fields):
            if fault_of_status(fetched.status) in (None, Fault.GONE):
                self._pool.note_answer(proxy, host, request.url)
            return fetched
        if self._is_block(fetched):
            return fetched
        if not self._doubts_error(request, route, host, is_signed=is_signed(fetched.status, fields)):
            return fetched
        raise _doubt_of(proxy, f"status {fetched.status}", fetched.rung, fetched.cost, fetched.browser_s)

    def _doubts_error(self, request: Request, route: Route, host: str, *, is_signed: bool = False) -> bool:
        """Return whether to doubt an error. It stands if the request must not be sent twice."""
        is_doubted = self._pool.doubt_error(route, host, request.url, is_signed=is_signed)
        return is_doubted and request.method in IDEMPOTENT

    async def close(self) -> None:
        """See :class:`~gossamer.ports.fetcher.Fetcher`."""
        await self._fetcher.close()


def _doubt_of(proxy: Proxy, said: str, rung: str, cost: float, browser_s: float) -> FetchError:
    detail = f"{said} through the proxy {proxy.name}, which may be its own"
    error = FetchError(Fault.PROXY_ANSWER, detail, rung=rung, proxy=proxy.name, cost=cost)
    error.browser_s = browser_s
    return error
