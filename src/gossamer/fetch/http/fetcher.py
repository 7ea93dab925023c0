"""The rung ``http``: pages by plain HTTP/1.1.

Every fetch is bounded in time and in decoded bytes, follows no redirect (each hop is a request of its own,
with its own guard, robots.txt and politeness), connects to no private address except those that the
operator named, and ends in a response or one precise :class:`FetchError`. A connection whose response was
not read to its end is closed, never drained.
"""

from __future__ import annotations

import asyncio
import ssl
from importlib import import_module
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import IDEMPOTENT, Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import DIRECT, Proxy, Route
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.connection import HttpConnection
from gossamer.fetch.http.faults import RAISED, translate_error
from gossamer.fetch.http.fields import BODILESS, RequestHeaders, manners_of
from gossamer.fetch.http.limits import HttpOptions, limits_of, own_limits_of
from gossamer.fetch.http.pool import ConnectionPool, Place, ProxiedPlace
from gossamer.fetch.http.proxied import (
    ProxyJudge,
    check_answer,
    head_for,
    may_serve_again,
    place_of,
    target_for,
)
from gossamer.fetch.http.result import ResultReader
from gossamer.fetch.http.target import Origin, RequestTarget, parse_target
from gossamer.fetch.http.wire import ConnectionClosedError, WireResponse, request_head
from gossamer.fetch.resolver import Resolver
from gossamer.fetch.sessions.cookies import CookieJar
from gossamer.ports.clock import Clock
from gossamer.ports.cookie_store import CookieStore

if TYPE_CHECKING:
    from gossamer.fetch.http.file_body import FileBody


class HttpFetcher:
    """A :class:`~gossamer.ports.fetcher.Fetcher`. Belongs to the event loop that fetches first.

    ``tls`` replaces the system's certificate authorities, ``resolver`` its name look-ups, ``cookies`` those
    that are kept in memory only.
    """

    rung = "http"
    touches_network = True

    def __init__(
        self,
        options: HttpOptions,
        *,
        clock: Clock,
        guard: AddressGuard | None = None,
        tls: ssl.SSLContext | None = None,
        resolver: Resolver | None = None,
        cookies: CookieStore | None = None,
    ) -> None:
        self._options = options
        self._bounds = limits_of(options)
        self._clock = clock
        self._guard = guard or AddressGuard()
        self._pool = ConnectionPool(options, self._guard, tls, resolver)
        self._judge = ProxyJudge()
        self._cookies = CookieJar(options.max_cookie_jars) if cookies is None else cookies
        self._headers = RequestHeaders(options, manners_of(options), self._guard, self._cookies)
        self._results = ResultReader(options, self._cookies, clock, self.rung)

    def __repr__(self) -> str:
        return f"HttpFetcher({self._options.user_agent!r}, {len(self._cookies)} cookie jars)"

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """Fetch one response. Redirects are returned; the route's session sends and stores cookies."""
        session, proxy = route.session_for(request), route.proxy
        through = "" if proxy is None else proxy.name
        try:
            target = parse_target(request.url)
            if proxy is not None:
                target = target_for(target, proxy)
            head = self._build_head(request, target, session)
            file = None if request.saves is None else self._open_file(request)
            started_at = self._clock.now()
            start = asyncio.get_running_loop().time()
            origin = target.origin
            try:
                if proxy is None:
                    answer, address = await self._send_request(request, origin, head, start, file=file)
                else:
                    answer = await self._send_through(proxy, request, origin, head, start, file=file)
                    address = ""
            except RAISED as error:
                raise translate_error(error, host=origin.host, tls=self._options.tls) from error
            except FetchError as error:
                if file is not None:
                    file.check_disk()
                detail = f"{origin.host}: {error.detail}"
                raise error.with_detail(detail) from error
            result = await self._results.read_result(
                *(request, answer, address, (started_at, start)),
                session=session,
                proxy=through,
                head=head if self._options.keeps_exchanges else b"",
            )
            if file is not None and answer.status == 200:
                result = await self._with_file(result, file)
        except FetchError as error:
            error.rung, error.proxy = self.rung, through
            raise
        return result

    def _open_file(self, request: Request) -> FileBody | None:
        """Return the file for a body that is wanted as one; ``None`` for memory."""
        limits = self._options.files
        if limits is None:
            return None
        if request.max_size is not None:
            limits = replace(limits, max_bytes=request.max_size)
        body: FileBody = import_module("gossamer.fetch.http.file_body").FileBody(limits)  # few crawls need it
        return body

    async def _with_file(self, result: FetchResult, file: FileBody) -> FetchResult:
        saved, flags, body = await file.finish_file()
        return replace(result, saved=saved, flags=flags, body=body, wire_bytes=file.size)

    async def close(self) -> None:
        """Close the connections. Idempotent."""
        await self._pool.close()

    # ------------------------------------------------------------------ the request

    def _build_head(self, request: Request, target: RequestTarget, session: str) -> bytes:
        """Return the header as bytes."""
        origin = target.origin
        fields = self._headers.list_fields(request, origin, session, self._clock.now())
        own = request.headers
        if not own or not any(name.lower() == "host" for name in own):
            fields.insert(0, ("Host", origin.host_header))
        if request.body or request.method not in BODILESS:
            fields.append(("Content-Length", str(len(request.body))))
        try:
            return request_head(request.method, target.path, fields)
        except ValueError:  # UnicodeError too
            raise FetchError(Fault.BAD_URL, f"{origin.host}: a request that cannot be sent") from None

    async def _send_request(
        self, request: Request, place: Place, head: bytes, start: float, *, file: FileBody | None
    ) -> tuple[WireResponse, str]:
        """Return the answer and the address that gave it.

        A connection from the pool that closes before a byte came back was closed while it was idle: then the
        request is sent once more, on a new one.
        """
        connection = self._pool.take_idle(place)
        if connection is not None:
            try:
                return await self._send_over(connection, request, place, head, start, file=file)
            except ConnectionClosedError:
                if request.method not in IDEMPOTENT:
                    raise
        until = None if request.timeout is None else start + request.timeout
        async with asyncio.timeout_at(until):
            connection = await self._pool.open_connection(place)
        return await self._send_over(connection, request, place, head, start, file=file)

    async def _send_through(
        self,
        proxy: Proxy,
        request: Request,
        origin: Origin,
        head: bytes,
        start: float,
        *,
        file: FileBody | None,
    ) -> WireResponse:
        """Return the host's answer. An answer of the proxy itself is raised as its failure."""
        self._guard.check_target(origin.host, origin.port)
        place = place_of(origin, proxy)
        try:
            answer, _ = await self._send_request(request, place, head_for(head, place), start, file=file)
        except FetchError as error:
            raise self._judge.attribute_failure(error, request.url, place) from error
        self._judge.note_answer(proxy)
        check_answer(answer, place)
        return answer

    async def _send_over(
        self,
        connection: HttpConnection,
        request: Request,
        place: Place,
        head: bytes,
        start: float,
        *,
        file: FileBody | None,
    ) -> tuple[WireResponse, str]:
        bounds = own_limits_of(request, self._bounds, start)
        try:
            answer = await connection.send_request(
                head, request.body, start, bounds, is_head=request.method == "HEAD", file=file
            )
        except BaseException:  # also on cancellation: the rest stays unread
            self._pool.drop_connection(connection)
            raise
        if isinstance(place, ProxiedPlace) and not may_serve_again(place, request):
            connection.is_reusable = False
        self._pool.give_back(place, connection)
        return answer, connection.address
