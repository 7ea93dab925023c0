"""The connections of a fetcher: made under the guard, kept while they are idle, told apart by origin.

The frontier decides how many requests a host and the machine take, so the pool limits only what lies idle:
in time, and in number.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from functools import cached_property, partial

from aiohappyeyeballs import start_connection

from gossamer.fetch.connection import Connection
from gossamer.fetch.guard import Guard
from gossamer.fetch.limits import HttpOptions
from gossamer.fetch.resolver import Names, Resolver, ThreadResolver
from gossamer.fetch.room import Room
from gossamer.fetch.target import Origin

HAPPY_EYEBALLS_S = 0.25
"""Head start of an address before the next one is tried as well (RFC 8305, 5)."""

MAX_IDLE = 1000
"""Idle connections in all; beyond it a connection is closed after its answer."""


class Pool:
    """Connections by origin. Belongs to the event loop that fetches first."""

    def __init__(
        self,
        options: HttpOptions,
        guard: Guard,
        tls: ssl.SSLContext | None = None,
        resolver: Resolver | None = None,
    ) -> None:
        self._options = options
        self._guard = guard
        self.room = Room(options.large_bodies_bytes)
        self._given_tls = tls
        self._given_resolver = resolver
        self._names: Names | None = None
        self._idle: dict[Origin, deque[Connection]] = {}
        self._idle_count = 0
        self._open: set[Connection] = set()
        self._sweeper: asyncio.TimerHandle | None = None

    def __repr__(self) -> str:
        return f"<Pool of {len(self._open)} connections, {self._idle_count} idle>"

    def take(self, origin: Origin) -> Connection | None:
        """An idle connection, the one used last."""
        waiting = self._idle.get(origin)
        while waiting:
            connection = waiting.pop()
            self._idle_count -= 1
            if connection.is_reusable:
                return connection
            self._open.discard(connection)
        return None

    def give(self, origin: Origin, connection: Connection) -> None:
        """Keep a connection whose exchange is over, if it may be used again."""
        if not connection.is_reusable or self._idle_count >= MAX_IDLE:
            self.drop(connection)
            return
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        waiting = self._idle.get(origin)
        if waiting is None:
            waiting = self._idle[origin] = deque()
        waiting.append(connection)
        self._idle_count += 1
        if self._sweeper is None:
            self._sweeper = loop.call_later(self._options.keepalive_s, self._sweep, loop)

    def drop(self, connection: Connection) -> None:
        """Close a connection."""
        self._open.discard(connection)
        connection.close()

    async def connect(self, origin: Origin) -> Connection:
        """A new connection. Raises what look-up, socket, guard, TLS and time limit raise."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self._options.connect_s):
            if self._names is None:
                resolver = self._given_resolver or ThreadResolver(self._options.dns_threads)
                self._names = Names(resolver, self._options.dns_cache_s)
            rows = await self._names.resolve(origin.host, origin.port)
            rows = self._guard.open_to(origin.host, rows)
            sock = await start_connection(list(rows), happy_eyeballs_delay=HAPPY_EYEBALLS_S, interleave=1)
            try:
                _, connection = await loop.create_connection(
                    partial(Connection, loop, self._options, self.room),
                    sock=sock,
                    ssl=self._context(origin.host) if origin.is_tls else None,
                    server_hostname=origin.host if origin.is_tls else None,
                )
            except BaseException:
                sock.close()
                raise
        self._open.add(connection)
        return connection

    async def close(self) -> None:
        """Close all connections; idempotent."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        connections, self._open = self._open, set()
        for connection in connections:
            connection.close()
        self._idle.clear()
        self._idle_count = 0
        self._names = None
        if connections:
            await asyncio.sleep(0)  # the transports close their sockets in the next turn

    def _context(self, host: str) -> ssl.SSLContext:
        return self._unchecked if host in self._options.insecure_hosts else self._checked

    @cached_property
    def _checked(self) -> ssl.SSLContext:
        if self._given_tls is not None:
            return self._given_tls
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        return context

    @cached_property
    def _unchecked(self) -> ssl.SSLContext:
        """For hosts whose certificates the operator does not want checked."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(["http/1.1"])
        return context

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close what was idle for too long, and come again while something is idle."""
        self._sweeper = None
        oldest = loop.time() - self._options.keepalive_s
        for origin, waiting in list(self._idle.items()):
            while waiting and waiting[0].idle_since <= oldest:
                self.drop(waiting.popleft())
                self._idle_count -= 1
            if not waiting:
                del self._idle[origin]
        if self._idle:
            self._sweeper = loop.call_later(self._options.keepalive_s / 2, self._sweep, loop)
