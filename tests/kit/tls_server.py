"""A TLS server on loopback that records the fingerprints of clients, and can admit only some of them.

It speaks HTTP/1.1 and HTTP/2, by the client's choice in ALPN.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import trustme
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded, StreamReset, WindowUpdated
from h2.exceptions import ProtocolError, StreamClosedError

from kit.fingerprints import ClientHello, Http2Opening, read_hello, read_opening

Headers = list[tuple[str, str]]


@dataclass
class TlsAnswer:
    """The server's answer to a request."""

    status: int = 200
    headers: Headers = field(default_factory=lambda: [("content-type", "text/html")])
    body: bytes = b"<title>ok</title>"
    reset_code: int | None = None  # with which a stream of HTTP/2 is reset; an answer that has a body begins


@dataclass
class TlsHit:
    """One request, and the observed properties of its client."""

    hello: ClientHello
    protocol: str  # ``h2`` or ``http/1.1``
    method: str
    path: str
    headers: Headers  # in the order in which they came; those of HTTP/1.1 as they were written
    connection: int  # from 1
    opening: Http2Opening | None = None  # of the connection; None: it is HTTP/1.1
    body: bytes = b""

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)


class TlsServer:
    """Answers with what ``answer`` makes of a hit; with 403 where ``admits`` says no."""

    def __init__(
        self,
        answer: Callable[[TlsHit], TlsAnswer] = lambda _: TlsAnswer(),
        *,
        admits: Callable[[TlsHit], bool] = lambda _: True,
        protocols: tuple[str, ...] = ("h2", "http/1.1"),
        names: tuple[str, ...] = ("localhost", "127.0.0.1"),
    ) -> None:
        self.answer, self.admits = answer, admits
        self.hits: list[TlsHit] = []
        self.connections = 0
        self.authority = trustme.CA()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.set_alpn_protocols(list(protocols))
        self.authority.issue_cert(*names).configure_cert(self._context)
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def authority_pem(self) -> bytes:
        return self.authority.cert_pem.bytes()

    def client_context(self) -> ssl.SSLContext:
        """Return a context of Python's own TLS that trusts the server."""
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        return context

    def drop_connections(self) -> None:
        """Close all connections, as a server does with idle ones."""
        for writer in list(self._writers):
            writer.transport.abort()

    def url(self, path: str = "", host: str = "localhost") -> str:
        return f"https://{host}:{self.port}/{path}"

    def hits_at(self, path: str) -> list[TlsHit]:
        return [hit for hit in self.hits if hit.path == path]

    async def __aenter__(self) -> TlsServer:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.setblocking(False)
        self.port: int = self._listening.getsockname()[1]
        self._start_task(self._accept_connections())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listening.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start_task(self, coroutine) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept_connections(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            sock, _ = await loop.sock_accept(self._listening)
            self.connections += 1
            self._start_task(self._serve_connection(sock, self.connections))

    async def _serve_connection(self, sock: socket.socket, number: int) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        writer = None
        try:
            hello = await _peek_hello(sock)
            if hello is None:
                return
            protocol = asyncio.StreamReaderProtocol(reader)
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, sock, ssl=self._context)
            writer = asyncio.StreamWriter(transport, protocol, reader, loop)
            self._writers.add(writer)
            chosen = writer.get_extra_info("ssl_object").selected_alpn_protocol() or "http/1.1"
            serve = self._serve_http2 if chosen == "h2" else self._serve_http1
            await serve(hello, number, reader, writer)
        except (OSError, EOFError, ValueError, ProtocolError, TimeoutError):
            pass
        finally:
            if writer is None:
                sock.close()
            else:
                self._writers.discard(writer)
                writer.transport.abort()

    def _answer_hit(self, hit: TlsHit) -> TlsAnswer:
        self.hits.append(hit)
        if not self.admits(hit):
            return TlsAnswer(403, [("content-type", "text/html")], b"<title>no</title>")
        return self.answer(hit)

    async def _serve_http1(self, hello: ClientHello, number: int, reader, writer) -> None:
        while True:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
            method, path, _ = lines[0].split(" ")
            headers = [tuple(line.split(": ", 1)) for line in lines[1:]]
            hit = TlsHit(hello, "http/1.1", method, path, headers, number)
            hit.body = await reader.readexactly(int(hit.header("content-length") or 0))
            answer = self._answer_hit(hit)
            fields = [*answer.headers, ("content-length", str(len(answer.body)))]
            head = "".join(f"{name}: {value}\r\n" for name, value in fields)
            body = b"" if method == "HEAD" else answer.body
            writer.write(f"HTTP/1.1 {answer.status} OK\r\n{head}\r\n".encode() + body)
            await writer.drain()

    async def _serve_http2(self, hello: ClientHello, number: int, reader, writer) -> None:
        connection = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        connection.initiate_connection()
        began, opening = b"", None
        open_hits: dict[int, TlsHit] = {}
        unsent: dict[int, bytes] = {}
        while True:
            writer.write(connection.data_to_send())
            await writer.drain()
            data = await reader.read(65536)
            if not data:
                return
            if opening is None:
                began += data
                opening = read_opening(began)
            for event in connection.receive_data(data):
                if isinstance(event, RequestReceived):
                    assert opening is not None
                    hit = _hit_of(event, hello, number, opening)
                    open_hits[event.stream_id] = hit
                elif isinstance(event, DataReceived):
                    open_hits[event.stream_id].body += event.data
                    connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, StreamEnded):
                    hit = open_hits.pop(event.stream_id)
                    answer = self._answer_hit(hit)
                    head = [(":status", str(answer.status)), *answer.headers]
                    if answer.reset_code is not None:
                        _reset_stream(connection, event.stream_id, head, answer)
                        continue
                    connection.send_headers(event.stream_id, head)
                    unsent[event.stream_id] = b"" if hit.method == "HEAD" else answer.body
                elif isinstance(event, StreamReset):
                    unsent.pop(event.stream_id, None)
                if isinstance(event, StreamEnded | WindowUpdated):
                    _send_bodies(connection, unsent)


def _hit_of(event: RequestReceived, hello: ClientHello, number: int, opening: Http2Opening) -> TlsHit:
    fields = [(str(name), str(value)) for name, value in event.headers]
    pseudo = {name: value for name, value in fields if name.startswith(":")}
    opening.pseudo_headers = opening.pseudo_headers or list(pseudo)
    plain = [(name, value) for name, value in fields if not name.startswith(":")]
    return TlsHit(hello, "h2", pseudo[":method"], pseudo[":path"], plain, number, opening)


def _reset_stream(connection: H2Connection, stream: int, head: Headers, answer: TlsAnswer) -> None:
    if answer.body:
        connection.send_headers(stream, head)
        connection.send_data(stream, answer.body)
    connection.reset_stream(stream, answer.reset_code)


def _send_bodies(connection: H2Connection, unsent: dict[int, bytes]) -> None:
    """As much of each body as the client takes by now."""
    for stream in list(unsent):
        body = unsent.pop(stream)
        with suppress(StreamClosedError):  # its client has given it up
            body = _send_body(connection, stream, body)
            if body:
                unsent[stream] = body
            else:
                connection.end_stream(stream)


def _send_body(connection: H2Connection, stream: int, body: bytes) -> bytes:
    """Send as much of a body as the client takes; return the rest."""
    while body and (room := connection.local_flow_control_window(stream)) > 0:
        size = min(room, connection.max_outbound_frame_size)
        connection.send_data(stream, body[:size])
        body = body[size:]
    return body


async def _peek_hello(sock: socket.socket) -> ClientHello | None:
    """The client's first message, which stays in the socket; ``None``: the client went away."""
    loop = asyncio.get_running_loop()
    sock.setblocking(False)
    size = 0
    async with asyncio.timeout(10):
        while True:
            data = b""
            with suppress(BlockingIOError):
                data = sock.recv(65536, socket.MSG_PEEK)
                if not data:
                    return None
            if len(data) > size:
                hello = read_hello(data)
                if hello is not None:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)  # what follows may be short
                    return hello
                size = len(data)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size + 1)
            readable: asyncio.Future[None] = loop.create_future()
            loop.add_reader(sock, lambda waiting=readable: waiting.done() or waiting.set_result(None))
            try:
                await readable
            finally:
                loop.remove_reader(sock)
