"""One HTTP/1.1 connection: sends a request, reads one response, and knows whether it can be reused.

llhttp (``httptools``) parses the wire; a header that it refuses is repaired once and parsed again
(``repair``). Everything is bounded while it arrives: the header in bytes and fields, informational
responses in number, the body in bytes and in tiny pieces, each wait in time. Unsolicited bytes (after a
response, or on an idle connection) close the connection: they never harm this response or reach the next
one.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from gossamer.core.errors import Fault, FetchError
from gossamer.fetch.http.body import TINY_BYTES, BodyBuffer, check_tiny
from gossamer.fetch.http.deadline import DeadlineTimer
from gossamer.fetch.http.limits import REDIRECT_BODY_BYTES, REDIRECT_BODY_S, ExchangeLimits, HttpOptions
from gossamer.fetch.http.memory_budget import LARGE_BYTES, MemoryBudget
from gossamer.fetch.http.repair import BoundError, ChunkReader, RepairError, may_have_ended, repair_header
from gossamer.fetch.http.wire import (
    FIELD_BYTES,
    KNOWN_NAMES,
    MAX_INFORMATIONAL,
    AmbiguousHeaderError,
    BodyShortfall,
    ConnectionClosedError,
    Headers,
    WireResponse,
    decode_header_value,
    join_header,
    keeps_alive,
    new_parser,
)

if TYPE_CHECKING:
    from gossamer.fetch.http.file_body import FileBody

    Taker = FileBody | None

_NOTHING = BodyBuffer(0)
"""The body of a connection without an exchange."""

_SHORT = frozenset({Fault.INCOMPLETE, Fault.TIMEOUT_BODY})


class HttpConnection(asyncio.Protocol):
    """Made connected by the pool. One exchange at a time, begun by :meth:`exchange`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, options: HttpOptions, room: MemoryBudget) -> None:
        self._loop = loop
        self._options = options
        self._room = room
        self._transport: asyncio.Transport | None = None
        self._parser: HttpResponseParser | None = None
        self._waiter: asyncio.Future[WireResponse] | None = None
        self._deadline = DeadlineTimer(loop, self._fail_on_timeout)
        self._is_paused = False  # nothing is read until there is room
        self.address = ""
        self.used = 0  # exchanges begun
        self.idle_since = 0.0
        self.is_reusable = False

    def __repr__(self) -> str:
        state = "busy" if self._waiter else "idle" if self.is_reusable else "closed"
        return f"<HttpConnection to {self.address} {state} after {self.used}>"

    # ------------------------------------------------------------------ one exchange

    def send_request(
        self, head: bytes, body: bytes, start: float, bounds: ExchangeLimits, *, is_head: bool, file: Taker
    ) -> asyncio.Future[WireResponse]:
        """Send a request and promise its answer, or a :class:`FetchError`.

        ``start`` is the loop's time at which the fetch began; ``file`` takes the body of a success. After
        the promise is kept the connection may be used again if ``is_reusable``; a promise that is not
        awaited to its end needs :meth:`close`.
        """
        waiter: asyncio.Future[WireResponse] = self._loop.create_future()
        self._waiter = waiter
        self._bounds = bounds
        self.used += 1
        self.is_reusable = False
        self._is_head = is_head
        self._file = file
        self._start = start
        self._begin_message()
        self._informational = 0
        self._head_bytes = 0
        self._field_bytes = 0  # of the header's fields, so far
        self._heard = False
        self._counted = 0  # bytes of the body that the room knows of
        self._empty_bytes = 0  # that came since the body last grew: sizes of chunks, trailers
        self._tiny = 0  # deliveries of a few bytes
        self._raw: list[bytes] = []  # what came until the body began, should it have to be parsed again
        self._is_repaired = False
        self._is_waiting_for_head = False  # of a header that will be put in order
        self._sends_body = bool(body)
        if self._parser is None:
            self._parser = new_parser(self)
        self._deadline.start(min(self._loop.time() + bounds.headers_s, bounds.until))
        transport = self._transport
        if transport is None or transport.is_closing():
            self._fail_exchange(
                ConnectionClosedError(Fault.CONNECT, "the connection was lost before an answer")
            )
        else:
            transport.write(head + body if body else head)
        return waiter

    def close(self) -> None:
        """Close at once, and abandon an exchange in flight."""
        self.is_reusable = False
        self._deadline.stop()
        self._room.release_body(self)
        self._release_body()
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(FetchError(Fault.CONNECT, "the connection was abandoned"))
        if self._transport is not None:
            self._transport.abort()

    def _begin_message(self) -> None:
        self._headers: Headers = []
        self._status = 0
        self._latency_s = 0.0
        self._in_body = False
        self._length: int | None = None
        self._is_chunked = False
        self._is_redirect = False
        self._body = BodyBuffer(self._bounds.max_body_bytes)
        self._body_end = 0.0

    def _may_be_kept(self, *, is_left_open: bool) -> bool:
        """Return whether the server keeps the connection open, and the message ends are certain."""
        transport = self._transport
        if transport is None or self._is_repaired or not is_left_open:
            return False
        # An answer may come before the whole request is sent; the unsent rest would reach the next one.
        return not (self._sends_body and transport.get_write_buffer_size())

    def _is_over(self) -> bool:
        return self._waiter is None

    def _finish_exchange(self, *, is_cut: bool = False, shortfall: BodyShortfall | None = None) -> None:
        waiter = self._waiter
        self._deadline.stop()
        self._room.release_body(self)
        self._read_on()  # it may have come to its end while it waited for room
        self._waiter = None
        if waiter is not None and not waiter.done():
            body = b"" if is_cut else self._body.join_pieces()
            raw_header = join_header(self._raw, self._informational) if self._options.keeps_exchanges else b""
            waiter.set_result(
                WireResponse(
                    self._status, self._headers, body, is_cut, self._latency_s, shortfall, raw_header
                )
            )
        self._release_body()

    def _release_body(self) -> None:
        """Release the body now, instead of at the next garbage collection."""
        self._body = _NOTHING
        self._file = None
        self._raw = []

    def _fail_exchange(self, error: FetchError) -> None:
        """End the exchange with an error, except in the body of a redirect, which is not needed."""
        if self._in_body and self._is_redirect:
            self._finish_exchange(is_cut=True)
        elif self._length and error.fault in _SHORT and self._is_encoded():
            self._finish_exchange(shortfall=BodyShortfall(self._length, error))
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)
        self.close()

    def _is_encoded(self) -> bool:
        return self._in_body and any(name == "content-encoding" for name, _ in self._headers)

    def _too_long_header(self) -> FetchError:
        return FetchError(Fault.TOO_LARGE, f"a header of more than {self._options.max_head_bytes} bytes")

    # ------------------------------------------------------------------ time

    def _fail_on_timeout(self) -> None:
        if self._in_body:
            self._fail_exchange(FetchError(Fault.TIMEOUT_BODY, "the body did not arrive in time"))
        else:
            self._fail_exchange(FetchError(Fault.TIMEOUT_HEADERS, "the header did not arrive in time"))

    def _wait_for_room(self) -> None:
        """Too many large bodies at once: read no more for now. The time that passes is not the server's."""
        if self._transport is not None:
            self._transport.pause_reading()
            self._is_paused = True
        self._body_end -= self._loop.time()
        self._deadline.stop()

    def _go_on(self) -> None:
        """Continue, since there is room again."""
        now = self._loop.time()
        self._body_end += now
        self._deadline.start(min(now + self._bounds.idle_s, self._body_end))
        self._read_on()

    def _read_on(self) -> None:
        if self._is_paused and self._transport is not None:
            self._transport.resume_reading()
        self._is_paused = False

    # ------------------------------------------------------------------ transport callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take over a connected socket, after TLS."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is not a subclass of it
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""

    def data_received(self, data: bytes) -> None:
        """Parse; bytes after the end of the response, or unsolicited ones, close the connection."""
        if self._waiter is None:
            self.close()
            return
        self._heard = True
        was_in_body, size = self._in_body, self._body.size
        if not size:
            self._raw.append(data)
        if not self._is_waiting_for_head:
            self._parse_data(data)
        elif may_have_ended(self._raw):
            self._repair_header("")
        if self._is_over():
            return
        if len(data) < TINY_BYTES:
            self._tiny += 1
            try:
                check_tiny(self._tiny)
            except FetchError as error:
                self._fail_exchange(error)
                return
        if not self._in_body:
            self._head_bytes += len(data)
            if self._head_bytes > self._options.max_head_bytes:
                self._fail_exchange(self._too_long_header())
            return
        self._empty_bytes = self._empty_bytes + len(data) if was_in_body and self._body.size == size else 0
        if self._empty_bytes > self._options.max_head_bytes:
            self._fail_exchange(FetchError(Fault.TOO_LARGE, "a chunk's header, or a trailer, without end"))
        elif not (self._is_redirect and was_in_body):  # a redirect's body has its time once
            self._deadline.move_to(min(self._loop.time() + self._bounds.idle_s, self._body_end))

    def _parse_data(self, data: bytes) -> None:
        parser = self._parser
        assert parser is not None
        try:
            parser.feed_data(data)
        except HttpParserUpgrade:
            self._fail_exchange(FetchError(Fault.PROTOCOL, "the server switches to another protocol"))
        except HttpParserError as error:
            self._handle_parse_error(error)

    def _repair_header(self, refusal: str) -> None:
        """Repair the header once it is complete, and parse it and the following bytes again."""
        self._is_repaired = True
        try:
            repaired = repair_header(b"".join(self._raw))
        except RepairError as error:
            detail = f"{refusal}: {error}" if refusal else str(error)
            fault = Fault.TOO_LARGE if isinstance(error, BoundError) else Fault.PROTOCOL
            self._fail_exchange(FetchError(fault, detail))
            return
        self._is_waiting_for_head = repaired is None
        if repaired is None:
            return
        self._begin_message()
        self._parser = new_parser(self)
        self._parse_data(repaired.head)
        if repaired.is_chunked and self._in_body:
            self._is_chunked = True
            self._body.chunks = ChunkReader()
        if repaired.rest and not self._is_over():
            self._parse_data(repaired.rest)

    def eof_received(self) -> bool:
        """Handle the end of the server's data."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle the end of the connection."""
        if self._waiter is not None:
            if self._in_body:
                if exc is None and self._length is None and not self._is_chunked:
                    self._finish_exchange()  # a body without a length ends like this
                else:
                    self._fail_exchange(FetchError(Fault.INCOMPLETE, "the body ended early"))
            elif self._heard:
                self._fail_exchange(FetchError(Fault.PROTOCOL, "the header ended early"))
            else:
                self._fail_exchange(
                    ConnectionClosedError(Fault.CONNECT, "the connection was lost before an answer")
                )
        self.close()
        self._transport = None

    def _handle_parse_error(self, error: HttpParserError) -> None:
        """Handle a parse error, or a stop by one of our own bounds."""
        cause = error.__context__
        if self._waiter is None:
            self.close()  # the response was complete; what came after it is not HTTP
        elif isinstance(cause, FetchError):
            self._fail_exchange(cause)
        elif not self._is_repaired and not self._body.size:
            self._repair_header("" if isinstance(cause, AmbiguousHeaderError) else str(error)[:100])
        elif self._in_body:
            self._fail_exchange(FetchError(Fault.INCOMPLETE, "the body's chunks are broken"))
        else:
            self._fail_exchange(FetchError(Fault.PROTOCOL, str(error)[:100] or "not HTTP"))

    # ------------------------------------------------------------------ parser callbacks

    def on_message_begin(self) -> None:
        """Begin a response; a second one is unsolicited."""
        if self._waiter is None:
            self.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take one field of the header, or ignore one of a trailer."""
        if self._waiter is None or self._in_body:
            return
        self._field_bytes += len(name) + len(value) + FIELD_BYTES
        if self._field_bytes > self._options.max_head_bytes:
            raise self._too_long_header()
        key = KNOWN_NAMES.get(name) or name.decode("latin-1").lower()
        text = value.decode("ascii") if value.isascii() else decode_header_value(value, key)
        self._headers.append((key, text))
        if key == "content-length":
            self._length = int(value) if value.isdigit() else None
        elif key == "transfer-encoding":
            if self._is_chunked or value.lower() != b"chunked":
                raise AmbiguousHeaderError
            self._is_chunked = True
        elif key == "location":
            self._is_redirect = True

    def on_headers_complete(self) -> None:
        """Take the complete header; a body may follow."""
        if self._waiter is None:
            return
        parser, bounds = self._parser, self._bounds
        assert parser is not None
        self._status = status = parser.get_status_code()
        if status < 100:
            raise FetchError(Fault.PROTOCOL, f"the status {status}")
        if status < 200:
            self._informational += 1
            if self._informational > MAX_INFORMATIONAL:
                raise FetchError(Fault.TOO_LARGE, f"more than {MAX_INFORMATIONAL} informational responses")
            return
        now = self._loop.time()
        self._latency_s = now - self._start
        self._in_body = True
        self._body_end = min(now + bounds.body_s, bounds.until)
        if self._is_head:
            is_left_open = keeps_alive(parser.get_http_version(), self._headers)
            self.is_reusable = self._may_be_kept(is_left_open=is_left_open)
            self._parser = None  # it waits for the body that the header announces
            self._finish_exchange()
            return
        if self._file is not None and status == 200:
            self._body = file = self._file
            file.begin_body(self._headers)
            self._body_end = min(now + file.body_s, bounds.until)
        self._is_redirect = self._is_redirect and 300 <= status < 400
        if self._is_redirect:
            self._body.limit = min(self._body.limit, REDIRECT_BODY_BYTES)
            self._body_end = min(now + REDIRECT_BODY_S, self._body_end)
        elif self._length is not None and self._length > self._body.limit and not self._is_chunked:
            raise FetchError(Fault.TOO_LARGE, f"{self._length} bytes announced")

    def on_body(self, data: bytes) -> None:
        """Take the next bytes of a body, or of one that a response to HEAD must not have."""
        if self._waiter is None:
            self.close()
            return
        body = self._body
        body.add_data(data)
        if body.chunks is not None and body.chunks.is_complete:
            self._finish_exchange()
        elif body.size - self._counted > LARGE_BYTES and self._deadline.is_running and body.is_in_memory:
            self._count_large()

    def _count_large(self) -> None:
        size, self._counted = self._body.size - self._counted, self._body.size
        if not self._room.reserve_bytes(self, size, self._go_on):
            self._wait_for_room()

    def on_message_complete(self) -> None:
        """End a response, or an informational one."""
        if self._waiter is None:
            return
        if not self._in_body:
            self._begin_message()
            return
        parser = self._parser
        self.is_reusable = parser is not None and self._may_be_kept(is_left_open=parser.should_keep_alive())
        self._finish_exchange()
