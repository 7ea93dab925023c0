"""Reading one answer of wreq's, within the bounds of the rung ``http``: in bytes, in pieces, in time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import wreq

from gossamer.core.errors import Fault, FetchError
from gossamer.fetch.http.body import BodyBuffer
from gossamer.fetch.http.limits import REDIRECT_BODY_BYTES, REDIRECT_BODY_S, ExchangeLimits, HttpOptions
from gossamer.fetch.http.memory_budget import LARGE_BYTES, MemoryBudget
from gossamer.fetch.http.wire import FIELD_BYTES, BodyShortfall, Headers, WireResponse, decode_header_value
from gossamer.fetch.impersonate.faults import RAISED, translate_body_error

_SLACK = 0.25
"""The share of a time limit by which it may come early: so the timer is not moved for every piece."""


def read_headers(response: wreq.Response, options: HttpOptions) -> Headers:
    """Return the header's fields, names in lower case. Raises :class:`FetchError` beyond a bound."""
    headers: Headers = []
    size = 0
    for name, value in response.headers:
        text = bytes(value)
        size += len(name) + len(text) + FIELD_BYTES
        if size > options.max_head_bytes:
            raise FetchError(Fault.TOO_LARGE, f"a header of more than {options.max_head_bytes} bytes")
        key = bytes(name).decode("latin-1").lower()
        shown = text.decode("ascii") if text.isascii() else decode_header_value(text, key)
        headers.append((key, shown))
    codings = [value.strip().lower() for name, value in headers if name == "transfer-encoding"]
    if codings not in ([], ["chunked"]):  # wreq would take the chunks for the body
        raise FetchError(Fault.PROTOCOL, "a Transfer-Encoding that leaves open where the body ends")
    return headers


class AnswerReader:
    """Reads the body after one header, which arrived after ``latency_s``."""

    def __init__(
        self, options: HttpOptions, bounds: ExchangeLimits, room: MemoryBudget, latency_s: float
    ) -> None:
        self._options = options
        self._bounds = bounds
        self._room = room
        self._latency_s = latency_s
        self._now: Callable[[], float] = asyncio.get_running_loop().time

    async def read_answer(self, response: wreq.Response, *, is_head: bool) -> WireResponse:
        """Return the answer as it came. Raises :class:`FetchError`."""
        status = response.status.as_int()
        if status < 200:
            raise FetchError(Fault.PROTOCOL, "the server switches to another protocol")
        headers = read_headers(response, self._options)
        if is_head:
            async with response:
                return WireResponse(status, headers, b"", is_cut=False, latency_s=self._latency_s)
        is_redirect = 300 <= status < 400 and any(name == "location" for name, _ in headers)
        body = BodyBuffer(REDIRECT_BODY_BYTES if is_redirect else self._bounds.max_body_bytes)
        shortfall = None
        try:
            await self._read_body(response, body, is_redirect=is_redirect)
        except FetchError as error:
            if is_redirect:  # its body is not needed
                return WireResponse(status, headers, b"", is_cut=True, latency_s=self._latency_s)
            length = _announced_length(headers)
            if error.fault is not Fault.INCOMPLETE or not length:
                raise
            shortfall = BodyShortfall(length, error)
        return WireResponse(
            status, headers, body.join_pieces(), is_cut=False, latency_s=self._latency_s, shortfall=shortfall
        )

    async def _read_body(self, response: wreq.Response, body: BodyBuffer, *, is_redirect: bool) -> None:
        length = response.content_length
        if length is not None and length > body.limit and not is_redirect:
            raise FetchError(Fault.TOO_LARGE, f"{length} bytes announced")
        pause_s = REDIRECT_BODY_S if is_redirect else self._bounds.idle_s
        end = min(self._now() + (REDIRECT_BODY_S if is_redirect else self._bounds.body_s), self._bounds.until)
        timeout = asyncio.timeout_at(min(self._now() + pause_s, end))
        counted = 0
        try:
            async with timeout, response.stream() as pieces:
                async for piece in pieces:
                    if not isinstance(piece, memoryview):
                        continue  # a trailer
                    body.add_data(bytes(piece))
                    if body.size - counted > LARGE_BYTES:
                        end += await self._take_room(body, body.size - counted, timeout)
                        counted = body.size
                    due = min(self._now() + pause_s, end)
                    if due - (timeout.when() or 0.0) > _SLACK * pause_s:
                        timeout.reschedule(due)
        except TimeoutError:
            raise FetchError(Fault.TIMEOUT_BODY, "the body did not arrive in time") from None
        except RAISED as error:
            raise translate_body_error(error) from None
        finally:
            self._room.release_body(body)

    async def _take_room(self, body: BodyBuffer, size: int, timeout: asyncio.Timeout) -> float:
        """Wait while too many large bodies are in flight; that time does not count against the server."""
        is_free = asyncio.Event()
        if self._room.reserve_bytes(body, size, is_free.set):
            return 0.0
        began = self._now()
        timeout.reschedule(None)
        await is_free.wait()
        timeout.reschedule(self._now() + self._bounds.idle_s)
        return self._now() - began


def _announced_length(headers: Headers) -> int:
    """Return the Content-Length of an encoded body, else 0."""
    fields = dict(headers)
    text = fields.get("content-length", "")
    return int(text) if "content-encoding" in fields and text.isdigit() else 0
