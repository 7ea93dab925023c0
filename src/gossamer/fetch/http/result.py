"""Turn an answer on the wire into the result of the fetch."""

from __future__ import annotations

import asyncio

from gossamer.core.errors import FetchError
from gossamer.core.requests import Request
from gossamer.core.results import TRUNCATED, FetchResult, RawExchange
from gossamer.fetch.http.decode import BodyDecoder
from gossamer.fetch.http.limits import REDIRECT_BODY_BYTES, HttpOptions
from gossamer.fetch.http.wire import Headers, WireResponse
from gossamer.ports.clock import Clock
from gossamer.ports.cookie_store import CookieStore

_FRAMES = frozenset({"content-length", "transfer-encoding"})
"""Fields of headers that say where a body ends; without them it ends with the connection."""
SLICE_BYTES = 8 * 1024  # of an encoded body, decoded at once
BREATH_BYTES = 256 * 1024


class ResultReader:
    """Reads the answers that one fetcher gets: decodes their bodies and keeps their cookies."""

    def __init__(self, options: HttpOptions, cookies: CookieStore, clock: Clock, rung: str) -> None:
        self._limit = options.max_body_bytes
        self._cookies = cookies
        self._clock = clock
        self._rung = rung
        self._unfolding = asyncio.Lock()

    async def read_result(
        self,
        request: Request,
        answer: WireResponse,
        address: str,
        began: tuple[float, float],
        *,
        session: str,
        proxy: str = "",
        head: bytes = b"",
    ) -> FetchResult:
        """Return the result. ``began``: start by the clock and by the loop; ``head``: the request's, to
        keep."""
        started_at, start = began
        encoding, cookies = _encoding_and_cookies(answer.headers)
        if cookies and "cookie" not in (request.omit_headers or ()):
            self._cookies.store_cookies(session, request.url, cookies, self._clock.now())
        flags: tuple[str, ...] = (TRUNCATED,) if answer.is_cut else ()
        body = answer.body
        if encoding and body:
            try:
                body, flags = await self._decode_body(encoding, answer, request.max_size)
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
            rung=self._rung,
            wire_bytes=len(answer.body),
            flags=flags,
            address=address,
            proxy=proxy,
            raw=RawExchange(request_header=head, response_header=answer.raw_header, body=answer.body)
            if head
            else None,
        )

    async def _decode_body(
        self, encoding: str, answer: WireResponse, most: int | None
    ) -> tuple[bytes, tuple[str, ...]]:
        """Decode in small steps, with a breath after each quarter of a megabyte.

        Large bodies take turns: sixty small steps are a long one, and sixty bodies are much memory.
        """
        is_redirect = 300 <= answer.status < 400
        limit = most or self._limit
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
            return decoder.finish_body(is_framed=not _FRAMES.isdisjoint(dict(answer.headers)))
        except FetchError:
            if is_redirect:  # its body is not needed
                return b"", (TRUNCATED,)
            raise
        finally:
            if is_alone:
                self._unfolding.release()


def _encoding_and_cookies(headers: Headers) -> tuple[str, list[str]]:
    """Return the Content-Encoding and the Set-Cookie lines."""
    encoding = ""
    cookies: list[str] = []
    for name, value in headers:
        if name == "content-encoding":
            encoding = f"{encoding}, {value}" if encoding else value
        elif name == "set-cookie":
            cookies.append(value)
    return encoding, cookies
