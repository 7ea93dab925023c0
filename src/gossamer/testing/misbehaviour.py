"""The definition of a misbehaviour: a route, the expected result of a fetcher, and the raw answer."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from gossamer.core.errors import Fault
from gossamer.policy.retry import fault_of_status

PAGE = b"<!doctype html><title>A page</title><p>A page of a few words, with nothing wrong.</p>"
OPEN = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
"""The beginning of a header; the rest follows byte for byte."""

Handler = Callable[["RouteVisit"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Route:
    """One named misbehaviour."""

    name: str
    about: str
    expected: frozenset[Fault | int]  # a fault, or the status of a response; any of them will do
    handler: Handler
    row: int = 0  # in the list of hostile inputs that the documentation keeps; 0: none, nothing is wrong
    ends: tuple[str, ...] = ()  # the ends of a crawl's request if the fetcher rightly returns a response
    variants: tuple[str, ...] = ()  # the names below it

    @property
    def ends_in(self) -> frozenset[str]:
        """The possible ends of a crawl's requests: values of :class:`Fault`, ``success`` or
        ``redirect``.
        """
        return frozenset(self.ends or map(_ending_of, self.expected))

    @property
    def paths(self) -> list[str]:
        """The paths without their first slash, one for each variant."""
        return [f"{self.name}/{variant}" for variant in self.variants] or [self.name]


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One request as the site saw it."""

    name: str
    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    connection: int  # which connection it came on, counted from 1


class SiteServer(Protocol):
    """The view that a misbehaviour has of its site."""

    pace_s: float  # seconds between the pieces of a slow answer
    log: list[ReceivedRequest]
    hosts: tuple[str, ...]  # the addresses it listens on

    def url(self, name: str = "", *, host: str = "") -> str:
        """Return the URL of a route."""
        ...


@dataclass(slots=True)
class RouteVisit:
    """One request to one route, and the raw connection for the answer."""

    hit: ReceivedRequest
    site: SiteServer
    writer: asyncio.StreamWriter
    keep_alive: bool = field(default=False)

    async def send_bytes(self, data: bytes) -> None:
        """Write bytes and wait until the other side takes them."""
        self.writer.write(data)
        await self.writer.drain()

    async def pause(self) -> None:
        """Wait for the site's pace."""
        await asyncio.sleep(self.site.pace_s)

    async def stall(self) -> None:
        """Do nothing until the client disconnects or the site is closed."""
        while not self.writer.transport.is_closing():
            await self.pause()

    async def send_response(
        self, body: bytes = b"", *, status: str = "200 OK", headers: str = "", kind: str = "text/html"
    ) -> None:
        """Send a correct response on a connection that stays open; ``headers`` are lines ended by CRLF."""
        head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
        self.keep_alive = True
        await self.send_bytes(head.encode("latin-1") + (b"" if self.hit.method == "HEAD" else body))

    async def send_header(self, headers: str = "") -> None:
        """Send the header of a response whose body follows separately."""
        await self.send_bytes(f"{OPEN}{headers}\r\n".encode("latin-1"))

    async def send_redirect(self, location: str, status: str = "302 Found", headers: str = "") -> None:
        """Send a redirect; ``location`` is encoded in Latin-1, byte for byte."""
        await self.send_response(status=status, headers=f"Location: {location}\r\n{headers}")

    async def send_page(self, inner: str, head: str = "") -> None:
        """Send a page in UTF-8 around some markup."""
        text = f"<!doctype html><meta charset=utf-8>{head}<title>A page</title>{inner}"
        await self.send_response(text.encode("utf-8", "surrogateescape"))

    @property
    def path_below(self) -> str:
        """The path below the route, without the query: ``b/c`` of ``/a/b/c?d``."""
        return self.hit.path.partition("?")[0].lstrip("/").partition("/")[2]

    def reset_connection(self) -> None:
        """Cut the connection with a TCP reset."""
        reset_connection(self.writer)


def reset_connection(writer: asyncio.StreamWriter) -> None:
    """Cut a connection with a TCP reset: closing with a linger time of zero sends RST instead of FIN."""
    sock: socket.socket = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


ROUTES: dict[str, Route] = {}
"""All routes by name."""


def route(
    name: str,
    about: str,
    *expected: Fault | int,
    row: int = 0,
    ends: str | tuple[str, ...] = (),
    variants: tuple[str, ...] = (),
) -> Callable[[Handler], Handler]:
    """Register a handler under ``/name`` and everything below it."""
    last = (ends,) if isinstance(ends, str) else ends

    def register(handler: Handler) -> Handler:
        ROUTES[name] = Route(name, about, frozenset(expected), handler, row, last, variants)
        return handler

    return register


def _ending_of(outcome: Fault | int) -> str:
    if isinstance(outcome, Fault):
        return outcome.value
    fault = fault_of_status(outcome)
    return fault.value if fault else "redirect" if 300 <= outcome < 400 else "success"
