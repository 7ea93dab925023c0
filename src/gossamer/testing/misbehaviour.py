"""What a named misbehaviour is: a route, what a fetcher must make of it, and the raw way back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from gossamer.words.errors import Fault

Handler = Callable[["Visit"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Route:
    """One named misbehaviour."""

    name: str
    about: str
    expected: frozenset[Fault | int]  # a fault, or the status of a response; any of them will do
    handler: Handler


@dataclass(frozen=True, slots=True)
class Hit:
    """One request as the site saw it."""

    name: str
    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    connection: int  # which connection it came on, counted from 1


class Server(Protocol):
    """What a misbehaviour knows of its site."""

    pace_s: float  # seconds between the pieces of a slow answer
    log: list[Hit]

    def url(self, name: str = "", *, host: str = "127.0.0.1") -> str:
        """The URL of a route."""
        ...


@dataclass(slots=True)
class Visit:
    """One request to one route, and the raw way back."""

    hit: Hit
    site: Server
    writer: asyncio.StreamWriter
    keep_alive: bool = field(default=False)

    async def send(self, data: bytes) -> None:
        """Write bytes and wait until the other side takes them."""
        self.writer.write(data)
        await self.writer.drain()

    async def pause(self) -> None:
        """Wait for the site's pace."""
        await asyncio.sleep(self.site.pace_s)

    async def stall(self) -> None:
        """Do nothing until the client goes away or the site is closed."""
        while not self.writer.transport.is_closing():
            await self.pause()

    async def respond(
        self, body: bytes = b"", *, status: str = "200 OK", headers: str = "", kind: str = "text/html"
    ) -> None:
        """A correct response on a connection that stays open; ``headers`` are lines ended by CRLF."""
        head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
        self.keep_alive = True
        await self.send(head.encode("latin-1") + (b"" if self.hit.method == "HEAD" else body))

    def reset(self) -> None:
        """Cut the connection with a TCP reset."""
        self.writer.transport.abort()


ROUTES: dict[str, Route] = {}
"""All routes by name."""


def route(name: str, about: str, *expected: Fault | int) -> Callable[[Handler], Handler]:
    """Register a handler under ``/name``."""

    def register(handler: Handler) -> Handler:
        ROUTES[name] = Route(name, about, frozenset(expected), handler)
        return handler

    return register
