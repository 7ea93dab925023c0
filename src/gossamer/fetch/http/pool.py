"""The connections of a fetcher: made under the guard, kept while they are idle, told apart by origin.

The frontier decides how many requests a host and the machine take, so the pool limits only what lies idle:
in time, and in number.
"""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections import deque
from collections.abc import Sequence
from functools import partial
from socket import AF_INET6

from aiohappyeyeballs import start_connection

from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.connection import HttpConnection
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.http.memory_budget import MemoryBudget
from gossamer.fetch.http.target import Origin
from gossamer.fetch.http.tls import TlsContextCache, start_tls
from gossamer.fetch.machine import (
    LOCAL_ERRORS,
    NO_WAY,
    OUT_OF_FILES,
    LocalErrorThrottle,
    has_ipv4,
    max_idle_connections,
    open_files_allowed,
)
from gossamer.fetch.resolver import AddressInfo, CachingResolver, Resolver, ThreadResolver

HAPPY_EYEBALLS_S = 0.25
"""Head start of an address before the next one is tried as well (RFC 8305, 5)."""


class ConnectionPool:
    """Connections by origin. Belongs to the event loop that fetches first."""

    def __init__(
        self,
        options: HttpOptions,
        guard: AddressGuard,
        tls: ssl.SSLContext | None = None,
        resolver: Resolver | None = None,
    ) -> None:
        self._options = options
        self._guard = guard
        self.room = MemoryBudget(options.large_bodies_bytes)
        self._tls = TlsContextCache(options.tls, options.insecure_hosts, tls)
        self._trouble = LocalErrorThrottle(options.local_pause_s)
        self._max_idle = max_idle_connections(open_files_allowed()[0])
        self._given_resolver = resolver
        self._names: CachingResolver | None = None
        self._idle: dict[Origin, deque[HttpConnection]] = {}
        self._idle_count = 0
        self._open: set[HttpConnection] = set()
        self._sweeper: asyncio.TimerHandle | None = None

    def __repr__(self) -> str:
        return f"<ConnectionPool of {len(self._open)} connections, {self._idle_count} idle>"

    def take_idle(self, origin: Origin) -> HttpConnection | None:
        """An idle connection, the one used last."""
        waiting = self._idle.get(origin)
        while waiting:
            connection = waiting.pop()
            self._idle_count -= 1
            if connection.is_reusable:
                return connection
            self._open.discard(connection)
        return None

    def give_back(self, origin: Origin, connection: HttpConnection) -> None:
        """Keep a connection whose exchange is over, if it may be used again."""
        if not connection.is_reusable or self._idle_count >= self._max_idle:
            self.drop_connection(connection)
            return
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        waiting = self._idle.get(origin)
        if waiting is None:
            waiting = self._idle[origin] = deque()
        waiting.append(connection)
        self._idle_count += 1
        if self._sweeper is None:
            self._sweeper = loop.call_later(self._options.keepalive_s, self._close_expired, loop)

    def drop_connection(self, connection: HttpConnection) -> None:
        """Close a connection."""
        self._open.discard(connection)
        connection.close()

    def drop_idle(self) -> int:
        """Close all idle connections; how many there were."""
        connections = [connection for waiting in self._idle.values() for connection in waiting]
        self._idle.clear()
        self._idle_count = 0
        for connection in connections:
            self.drop_connection(connection)
        return len(connections)

    async def open_connection(self, origin: Origin) -> HttpConnection:
        """A new connection. Raises what look-up, socket, guard, TLS and time limit raise.

        Out of open files, idle connections make room for one more try. This machine's other troubles are
        passed on after a pause, so that nobody runs into them again at once.
        """
        try:
            try:
                connection = await self._open_once(origin)
            except OSError as error:
                if error.errno not in OUT_OF_FILES or not self.drop_idle():
                    raise
                await asyncio.sleep(0)  # the transports close their sockets in the next turn
                connection = await self._open_once(origin)
        except OSError as error:
            if error.errno in LOCAL_ERRORS:
                await asyncio.sleep(self._trouble.report_error(error, asyncio.get_running_loop().time()))
            raise
        self._trouble.reset_pause()
        return connection

    async def _open_once(self, origin: Origin) -> HttpConnection:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self._options.connect_s):
            if self._names is None:
                resolver = self._given_resolver or ThreadResolver(self._options.dns_threads)
                self._names = CachingResolver(resolver, self._options.dns_cache_s)
            self._guard.check_port(origin.host, origin.port)
            rows = await self._names.resolve(origin.host, origin.port)
            rows = self._guard.open_to(origin.host, rows)
            try:
                connection = await self._connect_to(origin, rows, loop)
            except BaseException:  # out of time, too: the host may have moved
                self._names.forget_host(origin.host, origin.port)
                raise
        self._open.add(connection)
        return connection

    async def _connect_to(
        self, origin: Origin, rows: Sequence[AddressInfo], loop: asyncio.AbstractEventLoop
    ) -> HttpConnection:
        try:
            sock = await start_connection(list(rows), happy_eyeballs_delay=HAPPY_EYEBALLS_S, interleave=1)
        except OSError as error:
            is_ipv6_only = all(row[0] == AF_INET6 for row in rows)
            if error.errno in NO_WAY and is_ipv6_only and has_ipv4():
                raise OSError(errno.EHOSTUNREACH, "no IPv6 here") from error  # nothing to wait for
            raise
        make = partial(HttpConnection, loop, self._options, self.room)
        try:
            if origin.is_tls:
                return await start_tls(sock, self._tls.context_for(origin.host), origin.host, make)
            _, connection = await loop.create_connection(make, sock=sock)
        except BaseException:
            sock.close()
            raise
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

    def _close_expired(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close what was idle for too long, and come again while something is idle."""
        self._sweeper = None
        oldest = loop.time() - self._options.keepalive_s
        for origin, waiting in list(self._idle.items()):
            while waiting and waiting[0].idle_since <= oldest:
                self.drop_connection(waiting.popleft())
                self._idle_count -= 1
            if not waiting:
                del self._idle[origin]
        if self._idle:
            self._sweeper = loop.call_later(self._options.keepalive_s / 2, self._close_expired, loop)
