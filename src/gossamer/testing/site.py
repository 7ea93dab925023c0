"""Real websites on loopback for tests: any function from path and headers to an answer.

A small, fast HTTP/1.1 server (keep-alive, HEAD and GET) that logs its requests and misbehaves on demand. The
headers for the function include the body of a request, if any, as ``:body`` (Latin-1). It is for trusted
clients on 127.0.0.1 and must not serve anything else. ::

    async with serve(Shop(products=100)) as site:
        ...crawl site.url...
    assert site.log.peak[site.host] == 1
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from types import TracebackType

from gossamer.ports.clock import Clock
from gossamer.runtime.clock import SystemClock
from gossamer.testing.answers import AccessLog, App, Hit, RateLimit, SiteResponse
from gossamer.testing.fetcher import SiteFetcher
from gossamer.testing.folder import serve_folder

__all__ = [
    "AccessLog",
    "App",
    "Hit",
    "RateLimit",
    "Site",
    "SiteFetcher",
    "SiteResponse",
    "serve",
    "serve_folder",
    "serve_in_thread",
    "serve_until_interrupted",
]

MAX_HEAD_BYTES = 256 * 1024
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_BAD = SiteResponse(400, b"bad request\n", "text/plain")


class Site:
    """A site being served. An async context manager: it serves within the block."""

    def __init__(self, app: App, host: str, port: int, clock: Clock) -> None:
        self.log = AccessLog()
        self.app = app
        self.clock = clock
        self._address = (host, port)
        self._server: asyncio.Server | None = None
        self.connections: set[_SiteConnection] = set()

    def __repr__(self) -> str:
        return f"<Site {self.url if self._server else '(closed)'}: {len(self.hits)} hits>"

    @property
    def hits(self) -> list[Hit]:
        """Every request so far."""
        return self.log.hits

    @property
    def host(self) -> str:
        """``127.0.0.1:PORT``."""
        return f"{self._address[0]}:{self._address[1]}"

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT`` without a final slash."""
        return f"http://{self.host}"

    async def __aenter__(self) -> Site:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _SiteConnection(self), *self._address, backlog=1024)
        self._address = self._server.sockets[0].getsockname()[:2]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for connection in tuple(self.connections):
            connection.abort()
        await asyncio.sleep(0)  # lets aborted transports close their sockets
        await self._server.wait_closed()
        self._server = None


def serve(app: App, host: str = "127.0.0.1", port: int = 0, clock: Clock | None = None) -> Site:
    """Return a site to serve: ``async with serve(app) as site``. Port 0 takes a free one."""
    return Site(app, host, port, clock or SystemClock())


def serve_until_interrupted(app: App, port: int = 0) -> None:
    """Serve an app as a program; the first line on stdout is its URL."""

    async def run() -> None:
        async with serve(app, port=port) as site:
            sys.stdout.write(f"{site.url}\n")
            sys.stdout.flush()
            await asyncio.Event().wait()

    try:
        asyncio.run(run())
    except KeyboardInterrupt:
        return
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        sys.exit(f"nothing can be served at 127.0.0.1:{port} ({why}); choose another --port")


@contextmanager
def serve_in_thread(app: App, host: str = "127.0.0.1", port: int = 0) -> Iterator[Site]:
    """Serve a site on this machine while the ``with`` block runs, from a thread of its own.

    Args:
        app: a function of path and headers that returns a ``SiteResponse``, such as a ``Shop``.
        host: the address to listen on.
        port: the port; 0 chooses a free one.
    """
    site = serve(app, host, port)
    ready: threading.Event = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    errors: list[BaseException] = []

    async def main() -> None:
        async with site:
            ready.set()
            await stop.wait()

    def run() -> None:
        try:
            loop.run_until_complete(main())
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread
            errors.append(error)
        finally:
            loop.close()
            ready.set()

    thread = threading.Thread(target=run, name=f"site {port}", daemon=True)
    thread.start()
    ready.wait()
    try:
        if errors:
            raise errors[0]
        yield site
    finally:
        if not errors:
            loop.call_soon_threadsafe(stop.set)
        thread.join()


def _parse_head(head: bytes) -> tuple[list[str], dict[str, str]]:
    """Return the parts of the request line, and the headers."""
    first, *lines = head.decode("latin-1").split("\r\n")
    fields = (line.partition(":") for line in lines)
    return first.split(" "), {name.strip().lower(): value.strip() for name, _, value in fields}


class _SiteConnection(asyncio.Protocol):
    """One keep-alive connection; requests are answered one after the other."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._buffer = b""
        self._current: str | None = None  # the host of the request that is being answered
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._site.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._site.connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        self._end_hit()

    def abort(self) -> None:
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._answer_next()

    def _answer_next(self) -> None:
        """Answer the requests that have arrived completely, until an answer takes time."""
        while self._current is None and not self._transport.is_closing():
            head, end, rest = self._buffer.partition(b"\r\n\r\n")
            if not end:
                if len(head) > MAX_HEAD_BYTES:
                    self._send_answer("GET", SiteResponse(431), close=True)
                return
            line, headers = _parse_head(head)
            length = headers.get("content-length", "0")
            if len(line) != 3 or not length.isdecimal():
                self._send_answer("GET", _BAD, close=True)
                return
            if len(rest) < int(length):
                return
            self._buffer = rest[int(length) :]
            self._answer_request(line[0], line[1], headers, rest[: int(length)])

    def _answer_request(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        site = self._site
        answer = site.app(path, {**headers, ":body": body.decode("latin-1")} if body else headers)
        host = self._current = headers.get("host", "")
        status = 0 if answer.fail else answer.status
        site.log.begin_hit(Hit(site.clock.now(), path, status, host, method, headers))
        close = headers.get("connection", "").lower() == "close"
        if answer.fail == "stall":
            return
        if answer.delay_s > 0:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(answer.delay_s, self._after_delay, method, answer, close)
        else:
            self._finish_answer(method, answer, close)

    def _after_delay(self, method: str, answer: SiteResponse, close: bool) -> None:
        self._timer = None
        self._finish_answer(method, answer, close)
        self._answer_next()

    def _finish_answer(self, method: str, answer: SiteResponse, close: bool) -> None:
        self._end_hit()
        if answer.fail == "reset":
            # Closing with a linger time of zero sends RST instead of FIN.
            sock: socket.socket = self._transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._transport.abort()
        elif answer.fail == "close":
            self._transport.close()
        else:
            self._send_answer(method, answer, close=close or answer.fail == "half")

    def _end_hit(self) -> None:
        if self._current is not None:
            self._site.log.end_hit(self._current)
            self._current = None

    def _send_answer(self, method: str, answer: SiteResponse, *, close: bool) -> None:
        head = [
            f"HTTP/1.1 {answer.status} {_PHRASES.get(answer.status, 'Unknown')}",
            f"Content-Length: {len(answer.body)}",
        ]
        if answer.content_type:
            head.append(f"Content-Type: {answer.content_type}")
        head += [f"{name}: {value}" for name, value in answer.headers]
        if close:
            head.append("Connection: close")
        body = answer.body[: len(answer.body) // 2] if answer.fail == "half" else answer.body
        if method == "HEAD" or answer.status in (204, 304):
            body = b""
        self._transport.write(("\r\n".join(head) + "\r\n\r\n").encode("latin-1", "replace") + body)
        if close:
            self._transport.close()


def main(arguments: list[str] | None = None) -> None:
    """Serve the files of a folder until interrupted; the first line on stdout is the URL."""
    parser = argparse.ArgumentParser(
        prog="python -m gossamer.testing.site", description="Serve the files of a folder as a website."
    )
    parser.add_argument("folder", help="the folder")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    given = parser.parse_args(arguments)
    try:
        app = serve_folder(given.folder)
    except OSError as error:
        parser.error(f"the folder {given.folder!r} cannot be served: {error.strerror}")
    serve_until_interrupted(app, given.port)


if __name__ == "__main__":
    main()
