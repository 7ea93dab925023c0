"""The rung ``impersonate``: pages as a browser would get them, by HTTP/2 if the server supports it.

wreq provides the TLS and HTTP/2 of browsers. The rest equals the rung ``http``: addresses resolved and
judged here, cookies, decoding, bounds in time and in bytes. wreq does not expose the raw exchange, so
results never carry one.
"""

from __future__ import annotations

import asyncio
from typing import Any

import wreq

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import IDEMPOTENT, Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import DIRECT, Proxy, Route
from gossamer.fetch.guard import AddressGuard, GuardError
from gossamer.fetch.http.faults import RAISED as LOOKUP_ERRORS
from gossamer.fetch.http.faults import translate_error
from gossamer.fetch.http.fields import BODILESS, Field, RequestHeaders
from gossamer.fetch.http.limits import ExchangeLimits, HttpOptions, limits_of, own_limits_of
from gossamer.fetch.http.memory_budget import MemoryBudget
from gossamer.fetch.http.proxied import ProxyJudge, check_answer, place_of
from gossamer.fetch.http.result import ResultReader
from gossamer.fetch.http.target import Origin, RequestTarget, parse_target
from gossamer.fetch.http.wire import WireResponse, request_head
from gossamer.fetch.impersonate.answer import AnswerReader
from gossamer.fetch.impersonate.clients import ClientKey, ClientPool, HostClient
from gossamer.fetch.impersonate.faults import (
    HTTP1_WANTED,
    RAISED,
    is_stale,
    os_code_of,
    translate_head_error,
    wants_http1,
)
from gossamer.fetch.impersonate.profiles import BrowserProfile, find_profile, learn_headers, wire_name
from gossamer.fetch.machine import LocalErrorThrottle
from gossamer.fetch.resolver import CachingResolver, Resolver, ThreadResolver
from gossamer.fetch.sessions.cookies import CookieJar
from gossamer.ports.clock import Clock
from gossamer.ports.cookie_store import CookieStore

_METHODS = {
    name: getattr(wreq.Method, name)
    for name in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH")
}
_MOST_ORIGINS = 10_000
"""Origins that want HTTP/1.1 which are remembered."""


class ImpersonatingFetcher:
    """A :class:`~gossamer.ports.fetcher.Fetcher`. Belongs to the event loop that fetches first.

    ``profile`` is the browser of routes that name none, ``platform`` where it runs (empty: this machine's),
    ``accept_language`` replaces the browser's own. ``authorities`` (PEM) replace the system's certificate
    authorities, ``resolver`` its name look-ups, ``cookies`` those that are kept in memory only.
    """

    rung = "impersonate"
    touches_network = True

    def __init__(
        self,
        options: HttpOptions,
        *,
        clock: Clock,
        profile: str = "chrome",
        platform: str = "",
        accept_language: str = "",
        guard: AddressGuard | None = None,
        authorities: bytes | None = None,
        resolver: Resolver | None = None,
        cookies: CookieStore | None = None,
    ) -> None:
        self._options = options
        self._bounds = limits_of(options)
        self._clock = clock
        self._profile = find_profile(profile, platform)
        self._platform = platform
        self._accept_language = accept_language
        self._guard = guard or AddressGuard()
        self._names: CachingResolver | None = None
        self._given_resolver = resolver
        self._clients = ClientPool(options, authorities)
        self._room = MemoryBudget(options.large_bodies_bytes)
        self._trouble = LocalErrorThrottle(options.local_pause_s)
        self._judge = ProxyJudge()
        self._cookies = CookieJar(options.max_cookie_jars) if cookies is None else cookies
        self._headers: dict[BrowserProfile, RequestHeaders] = {}
        self._learning = asyncio.Lock()
        self._http1_origins: set[tuple[str, int]] = set()  # that want HTTP/1.1 where HTTP/2 is offered
        self._results = ResultReader(options, self._cookies, clock, self.rung)

    def __repr__(self) -> str:
        return f"ImpersonatingFetcher({self._profile.name!r}, {self._clients!r})"

    @property
    def profile(self) -> str:
        """The browser of routes that name none."""
        return self._profile.name

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """Fetch one response. Redirects are returned; the route's session sends and stores cookies."""
        session, through = route.session_for(request), "" if route.proxy is None else route.proxy.name
        try:
            target = parse_target(request.url)
            key = self._key_for(target.origin, route)
            fields = await self._list_fields(request, target, session, key.profile)
            began = (self._clock.now(), asyncio.get_running_loop().time())
            try:
                bounds = own_limits_of(request, self._bounds, began[1])
                answer, address = await self._send_request(request, target, fields, key, bounds)
            except FetchError as error:
                if route.proxy is not None:
                    error = self._judge.attribute_failure(
                        error, request.url, place_of(target.origin, route.proxy)
                    )
                raise error.with_detail(f"{key.host}: {error.detail}") from error
            return await self._results.read_result(
                request, answer, address, began, session=session, proxy=through
            )
        except FetchError as error:
            error.rung, error.proxy = self.rung, through
            raise

    async def close(self) -> None:
        """Close the connections. Idempotent."""
        self._clients.close()
        self._names = None

    # ------------------------------------------------------------------ the request

    def _key_for(self, origin: Origin, route: Route) -> ClientKey:
        profile = find_profile(route.profile, self._platform) if route.profile else self._profile
        is_forwarded = route.proxy is not None and place_of(origin, route.proxy).origin is None
        is_http1_only = (origin.host, origin.port) in self._http1_origins
        return ClientKey(origin.host, route.proxy, profile, is_forwarded, is_http1_only)

    def _note_http1(self, origin: Origin, key: ClientKey) -> ClientKey:
        """Use HTTP/1.1 for an origin from now on; return the key of a client for that."""
        if len(self._http1_origins) >= _MOST_ORIGINS:
            self._http1_origins.clear()
        self._http1_origins.add((origin.host, origin.port))
        return key._replace(is_http1_only=True)

    async def _list_fields(
        self, request: Request, target: RequestTarget, session: str, profile: BrowserProfile
    ) -> list[Field]:
        """Return the header; invalid fields are found here, since wreq's errors do not name them."""
        origin = target.origin
        if request.method not in _METHODS:
            raise FetchError(Fault.BAD_URL, f"{origin.host}: the method {request.method} is not impersonated")
        headers = self._headers.get(profile) or await self._learn_headers(profile)
        fields = headers.list_fields(request, origin, session, self._clock.now())
        if request.body or request.method not in BODILESS:
            fields.append(("Content-Length", str(len(request.body))))
        try:
            request_head(request.method, target.path, fields)
        except ValueError:  # UnicodeError too
            raise FetchError(Fault.BAD_URL, f"{origin.host}: a request that cannot be sent") from None
        return fields

    async def _learn_headers(self, profile: BrowserProfile) -> RequestHeaders:
        async with self._learning:
            if profile not in self._headers:
                try:
                    manners = await learn_headers(profile)
                except (OSError, *RAISED) as error:
                    raise FetchError(Fault.LOCAL, "the headers of the browser could not be read") from error
                if self._accept_language:
                    language = ("accept-language", self._accept_language)
                    manners = tuple(
                        language if name == language[0] else (name, value) for name, value in manners
                    )
                self._headers[profile] = RequestHeaders(self._options, manners, self._guard, self._cookies)
            return self._headers[profile]

    async def _find_addresses(self, origin: Origin, proxy: Proxy | None) -> dict[str, list[str]]:
        """Return the addresses for a client by the name that it looks up; raises as a look-up and the
        guard do."""
        if self._names is None:
            resolver = self._given_resolver or ThreadResolver(self._options.dns_threads)
            self._names = CachingResolver(resolver, self._options.dns_cache_s)
        if proxy is not None:
            self._guard.check_target(origin.host, origin.port)  # names are the proxy's to look up
            rows = await self._names.resolve(proxy.host, proxy.port)
            return {proxy.host: [row[4][0] for row in rows]}
        self._guard.check_port(origin.host, origin.port)
        rows = self._guard.open_to(
            origin.host, origin.port, await self._names.resolve(origin.host, origin.port)
        )
        return {origin.host: [row[4][0] for row in rows]}

    async def _open_client(self, origin: Origin, key: ClientKey, until: float) -> HostClient:
        until = min(asyncio.get_running_loop().time() + self._options.connect_s, until)
        try:
            async with asyncio.timeout_at(until):
                addresses = await self._find_addresses(origin, key.proxy)
        except GuardError as error:
            raise FetchError(Fault.GUARD, error.strerror or "not a public address") from error
        except LOOKUP_ERRORS as error:
            if key.proxy is not None:
                raise FetchError(Fault.PROXY, f"proxy {key.proxy.name} cannot be found") from error
            raise translate_error(error, host="") from error
        return self._clients.client_for(key, addresses)

    async def _send_request(
        self,
        request: Request,
        target: RequestTarget,
        fields: list[Field],
        key: ClientKey,
        bounds: ExchangeLimits,
    ) -> tuple[WireResponse, str]:
        """Return the answer and the address that gave it.

        If a reused connection closes before the first byte, the request is sent once more; also, by
        HTTP/1.1, if an HTTP/2 server demands that.
        """
        loop, origin, is_repeated = asyncio.get_running_loop(), target.origin, False
        while True:
            client = await self._open_client(origin, key, bounds.until)
            had_idle = not key.is_forwarded and loop.time() - client.last_heard_at < self._options.keepalive_s
            try:
                response, latency_s = await self._send_over(
                    client, request, target, fields, key, bounds=bounds
                )
            except RAISED as error:
                if wants_http1(error) and not key.is_http1_only:
                    key = self._note_http1(origin, key)
                    continue
                if is_stale(error) and had_idle and not is_repeated and request.method in IDEMPOTENT:
                    is_repeated = True
                    self._clients.forget_client(key)  # its other connections may be closed as well
                    continue
                raise await self._translate(error, origin, key) from None
            break
        client.last_heard_at = loop.time()
        client.is_http1 = response.version != wreq.Version.HTTP_2
        reader = AnswerReader(self._options, bounds, self._room, latency_s)
        try:
            answer = await reader.read_answer(response, is_head=request.method == "HEAD")
        except FetchError as error:
            if HTTP1_WANTED in error.detail:  # the next try goes by that
                self._note_http1(origin, key)
            raise
        if key.proxy is not None:
            self._judge.note_answer(key.proxy)
            check_answer(answer, place_of(origin, key.proxy))
        peer = response.remote_addr if key.proxy is None else None
        return answer, str(peer.ip()) if peer is not None else ""

    async def _send_over(
        self,
        client: HostClient,
        request: Request,
        target: RequestTarget,
        fields: list[Field],
        key: ClientKey,
        *,
        bounds: ExchangeLimits,
    ) -> tuple[wreq.Response, float]:
        """Send the request; return the answer's header and its latency in seconds."""
        loop, origin = asyncio.get_running_loop(), target.origin
        is_http1 = not origin.is_tls or client.is_http1
        if key.is_forwarded:
            fields = [*fields, ("Connection", "close")]
        said = key.profile.order_fields(fields, is_tls=origin.is_tls, is_http1=is_http1)
        headers = wreq.HeaderMap()
        for name, value in said:
            headers.append(name, value)
        names = ("host", *(name for name, _ in said))
        scheme = "https" if origin.is_tls else "http"
        body: dict[str, Any] = {"body": request.body} if request.body else {}
        start = loop.time()
        until = min(start + self._options.connect_s + bounds.headers_s, bounds.until)
        try:
            async with asyncio.timeout_at(until):
                response = await client.client.request(
                    _METHODS[request.method],
                    f"{scheme}://{origin.host_header}{target.path}",
                    headers=headers,
                    orig_headers=[wire_name(name, key.profile.family) for name in names],
                    **body,
                )
        except TimeoutError:
            raise FetchError(Fault.TIMEOUT_HEADERS, "the header did not arrive in time") from None
        self._trouble.reset_pause()
        return response, loop.time() - start

    async def _translate(self, error: Exception, origin: Origin, key: ClientKey) -> FetchError:
        """Return the fetch error; this machine's failures are passed on after a pause."""
        failure = translate_head_error(error, origin.host, key.proxy)
        if failure.fault is Fault.LOCAL:
            trouble = OSError(os_code_of(error), failure.detail)
            await asyncio.sleep(self._trouble.report_error(trouble, asyncio.get_running_loop().time()))
        elif self._names is not None:  # who was connected to may have moved
            peer = key.proxy or origin
            self._names.forget_host(peer.host, peer.port)
        return failure
