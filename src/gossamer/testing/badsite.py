"""A website with named misbehaviours, on one raw asyncio server.

Each route imitates one misbehaviour of the web, byte for byte, and states the expected result of a fetcher.
Use it to test a fetcher or a spider::

    async with BadSite() as site:
        fetched = await fetcher.fetch(Request(site.url("retry_after")))
        assert site.hits("retry_after") == 1

``/`` lists all routes as links. An endless route ends when the client disconnects or the site is closed.
``pace_s`` is the time between the pieces of slow routes.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Mapping, Sequence
from typing import Literal, Self

from gossamer.runtime.cancelling import end_tasks
from gossamer.testing.badroutes import all_routes
from gossamer.testing.misbehaviour import ReceivedRequest, RouteVisit, reset_connection


class BadSite:
    """The server; an asynchronous context manager.

    ``files`` are good pages by path (``/robots.txt``), ``aliases`` names of routes by path. It listens on
    all of ``hosts`` (addresses) with one port. ``cut`` ends every connection before a request can be read:
    at once by a reset (``connect``), or after the first bytes, a TLS client's hello for example (``hello``).
    """

    def __init__(
        self,
        *,
        pace_s: float = 0.01,
        tls: ssl.SSLContext | None = None,
        files: Mapping[str, bytes] | None = None,
        aliases: Mapping[str, str] | None = None,
        hosts: Sequence[str] = ("127.0.0.1",),
        cut: Literal["", "connect", "hello"] = "",
    ) -> None:
        self.pace_s = pace_s
        self.files = dict(files or {})
        self.aliases = dict(aliases or {})
        self.hosts = tuple(hosts)
        self.cut = cut
        self.log: list[ReceivedRequest] = []
        self.connections = 0
        self.port = 0
        self._tls = tls
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"BadSite(port={self.port}, {len(self.log)} requests on {self.connections} connections)"

    async def __aenter__(self) -> Self:
        for host in self.hosts:
            server = await asyncio.start_server(self._handle_connection, host, self.port, ssl=self._tls)
            self._servers.append(server)
            self.port = server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()
        await end_tasks(*self._tasks)

    def url(self, name: str = "", *, host: str = "") -> str:
        """Return the URL of a route or path (without its first slash), on its first host or another one."""
        place = host or (f"[{self.hosts[0]}]" if ":" in self.hosts[0] else self.hosts[0])
        return f"http{'s' if self._tls else ''}://{place}:{self.port}/{name}"

    def hits(self, name: str) -> int:
        """Count the requests of a route."""
        return sum(hit.name == name for hit in self.log)

    async def _handle_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        if task is None:
            return
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        connection = self.connections
        try:
            if self.cut:
                await self._cut_connection(reader, writer)
                return
            while await self._serve_request(reader, writer, connection):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # the client went away, or the site is being closed
        finally:
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _cut_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.cut == "hello":
            await reader.read(65536)
        reset_connection(writer)

    async def _serve_request(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int
    ) -> bool:
        """Serve one request; return whether the connection stays open."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ", 2)
        pairs = (line.partition(":") for line in head[1:] if line)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        path = target.partition("?")[0]
        name = self.aliases.get(path) or path.lstrip("/").partition("/")[0]
        length = 0 if name == "early_answer" else int(headers.get("content-length", "0"))
        body = await reader.readexactly(length)
        hit = ReceivedRequest(name, method, target, headers, body, connection)
        self.log.append(hit)
        visit = RouteVisit(hit, self, writer)
        found = all_routes().get(name)
        if path in self.files:
            await visit.send_response(
                self.files[path], kind="text/plain" if path.endswith(".txt") else "text/html"
            )
        elif path == "/":
            await visit.send_response(_index_page())
        elif found is None:
            await visit.send_response(b"there is no such page", status="404 Not Found")
        else:
            await found.handler(visit)
        return visit.keep_alive


def _index_page() -> bytes:
    rows = "".join(
        f'<li><a href="/{item.name}">{item.name}</a> {item.about}' for item in all_routes().values()
    )
    return f"<!doctype html><title>A bad site</title><h1>A bad site</h1><ul>{rows}</ul>".encode()
