"""The rung ``gateway``: fetch a page through an HTTP API.

The gateway receives the page's URL, method and headers, and the cookies of the route's session; cookies
that the page sets are stored like those of any other page. The API key is in the call alone, which neither
results nor errors contain. Pages with private addresses are refused: a gateway could not reach them, and
must not learn of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec.structs import replace

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import DIRECT, Route
from gossamer.fetch.gateway.gateway import WAY, Gateway
from gossamer.fetch.guard import AddressGuard, is_private_name
from gossamer.fetch.http.target import parse_target
from gossamer.fetch.sessions.request_cookies import put_cookies
from gossamer.policy.url_parser import normalise_url
from gossamer.ports.clock import Clock
from gossamer.ports.cookie_store import CookieStore


class GatewayFetcher:
    """A :class:`~gossamer.ports.fetcher.Fetcher` over gateways: ``gateway:NAME``, or ``gateway``, the first.

    ``find_gateway`` makes the gateway of a name (empty: the first); it is called once for each.
    """

    touches_network = True

    def __init__(
        self,
        find_gateway: Callable[[str], Gateway],
        *,
        clock: Clock,
        guard: AddressGuard,
        cookies: CookieStore,
        max_body_bytes: int,
    ) -> None:
        self._find_gateway = find_gateway
        self._clock = clock
        self._guard = guard
        self._cookies = cookies
        self._max_body_bytes = max_body_bytes
        self._gateways: dict[str, Gateway] = {}

    def __repr__(self) -> str:
        return f"GatewayFetcher({', '.join(filter(None, self._gateways))})"

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """See :class:`~gossamer.ports.fetcher.Fetcher`."""
        gateway = self.open_name(route.way.partition(":")[2] if route.way.startswith(WAY) else "")
        try:
            return await self._fetch_by(gateway, request, route.session_for(request))
        except FetchError as error:
            error.rung = gateway.rung
            raise

    def open_name(self, name: str) -> Gateway:
        """Return the gateway of a name (empty: the first). Errors of the look-up are passed on."""
        if name not in self._gateways:
            self._gateways[name] = self._find_gateway(name)
        return self._gateways[name]

    async def close(self) -> None:
        """Close the connections. Idempotent."""
        for gateway in {id(gateway): gateway for gateway in self._gateways.values()}.values():
            await gateway.close()

    async def _fetch_by(self, gateway: Gateway, request: Request, session: str) -> FetchResult:
        self._check_page(gateway, request)
        started_at, start = self._clock.now(), asyncio.get_running_loop().time()
        cookies = request.headers.get("Cookie") or request.headers.get("cookie")
        put_cookies(self._cookies, session, request, started_at)
        keeps = "cookie" not in (request.omit_headers or ())
        if cookies is None and keeps:
            cookies = self._cookies.cookie_header(session, request.url, started_at)
        answer, fetched, cost = await gateway.call(request, session=session, cookies=cookies or "")
        most = request.max_size or self._max_body_bytes
        if len(answer.body) > most:
            limit = f"the body is larger than {most:,} bytes"
            raise FetchError(Fault.TOO_LARGE, limit, cost=cost)
        if answer.cookie_lines and keeps:
            self._cookies.store_cookies(session, request.url, answer.cookie_lines, self._clock.now())
        return replace(
            fetched,
            url=request.url,
            status=answer.status,
            headers=answer.headers,
            body=answer.body,
            started_at=started_at,
            elapsed_s=asyncio.get_running_loop().time() - start,
            rung=gateway.rung,
            address="",
            cost=cost,
            raw=None,
        )

    def _check_page(self, gateway: Gateway, request: Request) -> None:
        """Raise ``FetchError`` for a page that must not be requested from this gateway."""
        origin = parse_target(request.url).origin
        meant = parse_target(normalise_url(request.url) or request.url).origin.host
        if not self._guard.is_trusted(origin.host, origin.port) and is_private_name(meant):
            raise FetchError(Fault.GUARD, f"{origin.host}: a private address is not sent to {gateway.rung}")
        if request.method not in gateway.account.template.methods:
            raise FetchError(Fault.BAD_URL, f"{gateway.rung} cannot send the method {request.method}")
