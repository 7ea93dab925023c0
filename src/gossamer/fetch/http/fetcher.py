"""The rung ``http``: pages by plain HTTP/1.1.

Every fetch is bounded in time and in decoded bytes, never follows a redirect (each hop is a request of its
own, with its own guard, robots.txt and politeness), connects to no private address that nobody named, and
ends in a response or in one precise :class:`FetchError`. A connection whose response was not read to its
end is closed, never drained.
"""

from __future__ import annotations

import asyncio
import re
import ssl

from msgspec.structs import replace

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult, RawExchange
from gossamer.core.routes import DIRECT, Route
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.connection import HttpConnection
from gossamer.fetch.http.decode import BodyDecoder
from gossamer.fetch.http.faults import RAISED, translate_error
from gossamer.fetch.http.limits import ACCEPT, ACCEPT_ENCODING, REDIRECT_BODY_BYTES, HttpOptions
from gossamer.fetch.http.pool import ConnectionPool
from gossamer.fetch.http.target import Origin, RequestTarget, parse_target
from gossamer.fetch.http.wire import ConnectionClosedError, Headers, WireResponse, request_head
from gossamer.fetch.resolver import Resolver
from gossamer.fetch.sessions.cookies import CookieJar
from gossamer.policy import urls
from gossamer.policy.redirects import is_credential
from gossamer.ports.clock import Clock
from gossamer.ports.cookie_store import CookieStore

SLICE_BYTES = 8 * 1024  # of an encoded body, decoded at once
BREATH_BYTES = 256 * 1024
_IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})  # RFC 9110, 9.2.2
_BODILESS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "DELETE"})
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch  # RFC 9110, 5.6.2: methods, names of fields
_FRAMING = frozenset({"content-length", "transfer-encoding"})  # said by us: the body is sent as it is


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
        self._clock = clock
        self._guard = guard or AddressGuard()
        self._pool = ConnectionPool(options, self._guard, tls, resolver)
        self._unfolding = asyncio.Lock()
        self._cookies = CookieJar(options.max_cookie_jars) if cookies is None else cookies
        manners = {
            "User-Agent": options.user_agent,
            "Accept": ACCEPT,
            "Accept-Language": options.accept_language,
            "Accept-Encoding": ACCEPT_ENCODING,
        }
        overridden = {name.lower() for name in options.headers}
        kept = [(name, value) for name, value in manners.items() if name.lower() not in overridden]
        self._fields = [*kept, *options.headers.items()]
        # Credentials in settings are for hosts that the operator named, never for those only linked to.
        self._guarded_fields = [field for field in self._fields if not is_credential(field[0])]
        others = [field for field in self._fields if field[0].lower() != "authorization"]
        self._origin_fields = {
            origin: [*others, ("Authorization", value)] for origin, value in options.authorizations.items()
        }

    def __repr__(self) -> str:
        return f"HttpFetcher({self._options.user_agent!r}, {len(self._cookies)} cookie jars)"

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """One response. Redirects are returned, cookies of the route's session sent and kept."""
        session = route.session_for(request)
        try:
            target = parse_target(request.url)
            head = self._build_head(request, target, session)
            started_at = self._clock.now()
            start = asyncio.get_running_loop().time()
            origin = target.origin
            try:
                answer, address = await self._send_request(request, origin, head, start)
            except RAISED as error:
                raise translate_error(error, host=origin.host, tls=self._options.tls) from error
            except FetchError as error:
                raise FetchError(error.fault, f"{origin.host}: {error.detail}") from error
            result = await self._build_result(request, answer, address, (started_at, start), session=session)
        except FetchError as error:
            error.rung = self.rung
            raise
        if not self._options.keeps_exchanges:
            return result
        raw = RawExchange(request_header=head, response_header=answer.raw_header, body=answer.body)
        return replace(result, raw=raw)

    async def close(self) -> None:
        """Close the connections. Idempotent."""
        await self._pool.close()

    # ------------------------------------------------------------------ the request

    def _build_head(self, request: Request, target: RequestTarget, session: str) -> bytes:
        """The header as bytes: the request's own fields go before the settings'."""
        origin = target.origin
        fields = self._fields if self._guard.is_trusted(origin.host) else self._guarded_fields
        if self._origin_fields:
            fields = self._origin_fields.get(urls.origin_of(request.url), fields)
        own = request.headers
        if not all(map(_TOKEN, (request.method, *own))):
            raise FetchError(Fault.BAD_URL, f"{origin.host}: a method or header that cannot be sent")
        if own:
            taken = {name.lower() for name in own}
            given = [field for field in own.items() if field[0].lower() not in _FRAMING]
            fields = [*given, *(field for field in fields if field[0].lower() not in taken)]
        else:
            taken = set()
            fields = list(fields)
        if "host" not in taken:
            fields.insert(0, ("Host", origin.host_header))
        if origin.credentials and "authorization" not in taken:
            fields.append(("Authorization", origin.credentials))
        if "cookie" not in taken:
            cookies = self._cookies.cookie_header(session, request.url, self._clock.now())
            if cookies:
                fields.append(("Cookie", cookies))
        if request.body or request.method not in _BODILESS:
            fields.append(("Content-Length", str(len(request.body))))
        try:
            return request_head(request.method, target.path, fields)
        except ValueError:  # UnicodeError too
            raise FetchError(Fault.BAD_URL, f"{origin.host}: a request that cannot be sent") from None

    async def _send_request(
        self, request: Request, origin: Origin, head: bytes, start: float
    ) -> tuple[WireResponse, str]:
        """The answer and the address that gave it.

        A connection from the pool that closes before a byte came back was closed while it was idle: then the
        request is sent once more, on a new one.
        """
        connection = self._pool.take_idle(origin)
        if connection is not None:
            try:
                return await self._send_over(connection, request, origin, head, start)
            except ConnectionClosedError:
                if request.method not in _IDEMPOTENT:
                    raise
        connection = await self._pool.open_connection(origin)
        return await self._send_over(connection, request, origin, head, start)

    async def _send_over(
        self, connection: HttpConnection, request: Request, origin: Origin, head: bytes, start: float
    ) -> tuple[WireResponse, str]:
        try:
            answer = await connection.send_request(
                head, request.body, start, is_head=request.method == "HEAD"
            )
        except BaseException:  # cancellation, too: nobody reads the rest
            self._pool.drop_connection(connection)
            raise
        self._pool.give_back(origin, connection)
        return answer, connection.address

    # ------------------------------------------------------------------ the response

    async def _build_result(
        self,
        request: Request,
        answer: WireResponse,
        address: str,
        began: tuple[float, float],
        *,
        session: str,
    ) -> FetchResult:
        """The result; ``began``: when, by the clock and by the loop."""
        started_at, start = began
        encoding, cookies = _encoding_and_cookies(answer.headers)
        if cookies:
            self._cookies.store_cookies(session, request.url, cookies, self._clock.now())
        flags: tuple[str, ...] = ("truncated",) if answer.is_cut else ()
        body = answer.body
        if encoding and body:
            try:
                body, flags = await self._decode_body(encoding, answer)
            except FetchError as error:
                raise (answer.shortfall.error if answer.shortfall else error) from None
        if answer.shortfall is not None and (flags or len(body) != answer.shortfall.announced):
            raise answer.shortfall.error
        return FetchResult(
            url=request.url,
            status=answer.status,
            headers=tuple(answer.headers),
            body=body,
            started_at=started_at,
            latency_s=answer.latency_s,
            elapsed_s=asyncio.get_running_loop().time() - start,
            rung=self.rung,
            wire_bytes=len(answer.body),
            flags=flags,
            address=address,
        )

    async def _decode_body(self, encoding: str, answer: WireResponse) -> tuple[bytes, tuple[str, ...]]:
        """Decode in small steps, with a breath after each quarter of a megabyte.

        Large bodies take turns: sixty small steps are a long one, and sixty bodies are much memory.
        """
        is_redirect = 300 <= answer.status < 400
        limit = self._options.max_body_bytes
        decoder = BodyDecoder(encoding, min(limit, REDIRECT_BODY_BYTES) if is_redirect else limit)
        data, breath, is_alone = answer.body, BREATH_BYTES, False
        try:
            for start in range(0, len(data), SLICE_BYTES):
                for _ in decoder.feed_in_steps(data[start : start + SLICE_BYTES]):
                    if decoder.decoded_bytes < breath:
                        continue
                    breath = decoder.decoded_bytes + BREATH_BYTES
                    if not is_alone:
                        await self._unfolding.acquire()
                        is_alone = True
                    await asyncio.sleep(0)
            return decoder.finish_body()
        except FetchError:
            if is_redirect:  # nobody needs its body
                return b"", ("truncated",)
            raise
        finally:
            if is_alone:
                self._unfolding.release()


def _encoding_and_cookies(headers: Headers) -> tuple[str, list[str]]:
    """The Content-Encoding and the Set-Cookie lines."""
    encoding = ""
    cookies: list[str] = []
    for name, value in headers:
        if name == "content-encoding":
            encoding = f"{encoding}, {value}" if encoding else value
        elif name == "set-cookie":
            cookies.append(value)
    return encoding, cookies
