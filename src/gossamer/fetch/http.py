"""The rung ``http``: pages by plain HTTP/1.1 on aiohttp.

Every fetch is bounded in time and in decoded bytes, never follows a redirect (each hop is a request of its
own, with its own guard, robots.txt and politeness), connects to no private address that nobody named, and
ends in a response or in one precise :class:`FetchError`. A connection whose response was not read to its
end is closed, never drained.
"""

from __future__ import annotations

import asyncio
import ssl

import aiohttp
import can_ada
from aiohttp.abc import AbstractResolver
from yarl import URL

from gossamer.fetch.cookies import CookieBook
from gossamer.fetch.decode import Decoder
from gossamer.fetch.faults import RAISED, translate
from gossamer.fetch.guard import Guard
from gossamer.fetch.limits import REDIRECT_BODY_BYTES, HttpOptions
from gossamer.fetch.pool import CONNECTED, Pools
from gossamer.words.clock import Clock
from gossamer.words.errors import Fault, FetchError
from gossamer.words.model import Fetched, Request

SLICE_BYTES = 2 * 1024  # of an encoded body, decoded at once
BREATH_BYTES = 512 * 1024
DENSE = 20  # decoded bytes for one on the wire; pages have 3 to 10
_IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})  # RFC 9110, 9.2.2
_CLOSED_IDLE = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError)


class HttpFetcher:
    """A :class:`~gossamer.words.ports.Fetcher`. Belongs to the event loop that fetches first.

    ``tls`` replaces the system's certificate authorities, ``resolver`` its name look-ups.
    """

    rung = "http"
    touches_network = True

    def __init__(
        self,
        options: HttpOptions,
        *,
        clock: Clock,
        guard: Guard | None = None,
        tls: ssl.SSLContext | None = None,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._options = options
        self._clock = clock
        self._pools = Pools(options, guard or Guard(), tls, resolver)
        self._cookies = CookieBook(options.max_cookie_jars)

    def __repr__(self) -> str:
        return f"HttpFetcher({self._options.user_agent!r}, {len(self._cookies)} cookie jars)"

    async def fetch(self, request: Request) -> Fetched:
        """One response. Redirects are returned, cookies of ``request.session`` sent and kept."""
        url = sendable(request.url)
        try:
            return await self._exchange(request, url)
        except _ClosedIdle:
            pass
        try:
            return await self._exchange(request, url)
        except _ClosedIdle as error:  # a second stale connection in a row: the host is at fault
            raise FetchError(error.fault, error.detail) from error

    async def close(self) -> None:
        """Close the connections. Idempotent."""
        await self._pools.close()

    async def _exchange(self, request: Request, url: URL) -> Fetched:
        loop = asyncio.get_running_loop()
        options = self._options
        host = url.raw_host or ""
        response: aiohttp.ClientResponse | None = None
        started_at = self._clock.now()
        start = loop.time()
        try:
            async with asyncio.timeout(options.connect_s + options.headers_s) as limit:
                response = await self._pools.session(host).request(
                    request.method,
                    url,
                    headers=self._headers(request, url),
                    data=request.body or None,
                    allow_redirects=False,
                    ssl=host not in options.insecure_hosts,
                )
                latency_s = loop.time() - start
                body, flags, wire_bytes = await self._body(request, response, limit)
        except RAISED as error:
            raise _failure(request, error, host, response) from error
        finally:
            if response is not None:
                response.close()  # nothing happens when it was read to its end
        headers = _header_pairs(response)
        if "Set-Cookie" in response.headers:
            self._cookies.take(request.session, url, response.headers.getall("Set-Cookie"))
        return Fetched(
            url=request.url,
            status=response.status,
            headers=headers,
            body=body,
            started_at=started_at,
            latency_s=latency_s,
            elapsed_s=loop.time() - start,
            rung=self.rung,
            wire_bytes=wire_bytes,
            flags=flags,
            address=CONNECTED.get()[0],
        )

    def _headers(self, request: Request, url: URL) -> dict[str, str] | None:
        """The request's own headers, and its session's cookies unless it brings a Cookie header."""
        cookies = self._cookies.header(request.session, url)
        if not cookies:
            return request.headers or None
        if any(name.lower() == "cookie" for name in request.headers):
            return request.headers
        return {**request.headers, "Cookie": cookies}

    async def _body(
        self, request: Request, response: aiohttp.ClientResponse, limit: asyncio.Timeout
    ) -> tuple[bytes, tuple[str, ...], int]:
        """The decoded body, its flags and its size on the wire."""
        encoding = response.headers.get("Content-Encoding", "")
        if 300 <= response.status < 400 and "Location" in response.headers:
            decoder = Decoder(encoding, min(self._options.max_body_bytes, REDIRECT_BODY_BYTES))
            limit.reschedule(None)
            try:
                async with asyncio.timeout(self._options.idle_s) as patience:
                    return await self._read(response, decoder, patience)
            except (FetchError, *RAISED):
                return b"", ("truncated",), decoder.wire_bytes
        decoder = Decoder(encoding, self._options.max_body_bytes)
        announced = response.content_length
        if announced and announced > self._options.max_body_bytes and request.method != "HEAD":
            raise FetchError(Fault.TOO_LARGE, f"{announced} bytes announced")
        return await self._read(response, decoder, limit)

    async def _read(
        self, response: aiohttp.ClientResponse, decoder: Decoder, limit: asyncio.Timeout
    ) -> tuple[bytes, tuple[str, ...], int]:
        loop = asyncio.get_running_loop()
        content = response.content
        end = loop.time() + self._options.body_s
        while not content.at_eof():
            if not content.is_eof():
                limit.reschedule(min(loop.time() + self._options.idle_s, end))
            data = await content.readany()
            if decoder.is_plain:
                decoder.feed(data)
            else:
                await self._unfold(decoder, data)
        error = content.exception()
        if error is not None:
            raise error
        body, flags = decoder.finish()
        return body, flags, decoder.wire_bytes

    @staticmethod
    async def _unfold(decoder: Decoder, data: bytes) -> None:
        """Decode in slices, with a breath after each half megabyte: few bytes can become very many."""
        start = 0
        while start < len(data):
            is_dense = decoder.decoded_bytes > DENSE * decoder.wire_bytes
            end = start + (SLICE_BYTES // 8 if is_dense else SLICE_BYTES)
            before = decoder.decoded_bytes // BREATH_BYTES
            decoder.feed(data[start:end])
            start = end
            if decoder.decoded_bytes // BREATH_BYTES > before:
                await asyncio.sleep(0)


class _ClosedIdle(FetchError):
    """A connection from the pool was closed before a byte came back: the request may be sent again."""


def _failure(
    request: Request, error: Exception, host: str, response: aiohttp.ClientResponse | None
) -> FetchError:
    failure = translate(error, host=host, answered=response is not None)
    if (
        response is None
        and failure.fault is Fault.CONNECT
        and isinstance(error, _CLOSED_IDLE)
        and request.method in _IDEMPOTENT
        and CONNECTED.get()[1]
    ):
        return _ClosedIdle(failure.fault, failure.detail)
    return failure


def sendable(url: str) -> URL:
    """The URL byte for byte as it is, when nothing in it can break a request line; else canonicalised.

    Raises :class:`FetchError` (``BAD_URL``) for what is no http(s) URL by the WHATWG standard.
    """
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        try:
            url = can_ada.parse(url).href
        except ValueError:
            raise FetchError(Fault.BAD_URL, "no URL by the WHATWG standard") from None
    if not url.startswith(("http://", "https://")):
        raise FetchError(Fault.BAD_URL, f"the scheme {url.partition(':')[0][:20]!r} is not spoken here")
    try:
        parsed = URL(url, encoded=True)
        known = bool(parsed.raw_host) and parsed.port is not None
    except ValueError:
        known = False
    if not known:
        raise FetchError(Fault.BAD_URL, "a URL without a usable host or port")
    return parsed


def _header_pairs(response: aiohttp.ClientResponse) -> tuple[tuple[str, str], ...]:
    """Names in lower case, values as text: UTF-8 where it is, else Latin-1 (RFC 9110, 5.5)."""
    return tuple(
        (name.lower(), value if value.isascii() else _readable(value))
        for name, value in response.headers.items()
    )


def _readable(value: str) -> str:
    raw = value.encode("utf-8", "surrogateescape")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
