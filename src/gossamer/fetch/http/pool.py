"""The connections of a fetcher: made under the guard, kept while idle, separated by place.

A place is an origin or, through a proxy, a :class:`ProxiedPlace`: connections through one proxy, or as one
of its users, never serve another. The frontier limits the requests to a host, so the pool limits only idle
connections, in time and in number.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from gossamer.core.routes import Proxy
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.connection import HttpConnection
from gossamer.fetch.http.dialer import ProxyDialer, connect_socket
from gossamer.fetch.http.faults import IN_HANDSHAKE
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.http.memory_budget import MemoryBudget
from gossamer.fetch.http.target import Origin
from gossamer.fetch.http.tls import TlsContextCache, start_tls, start_tls_inside
from gossamer.fetch.machine import (
    LOCAL_ERRORS,
    OUT_OF_FILES,
    LocalErrorThrottle,
    max_idle_connections,
    open_files_allowed,
)
from gossamer.fetch.resolver import AddressInfo, CachingResolver, Resolver, ThreadResolver


class ProxiedPlace(NamedTuple):
    """The target of a connection through a proxy."""

    proxy: Proxy
    origin: Origin | None  # behind a tunnel; None: no further than the proxy, for one request


Place = Origin | ProxiedPlace


class ConnectionPool:
    """Connections by place. Belongs to the event loop that fetches first."""

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
        self._idle: dict[Place, deque[HttpConnection]] = {}
        self._idle_count = 0
        self._open: set[HttpConnection] = set()
        self._sweeper: asyncio.TimerHandle | None = None

    def __repr__(self) -> str:
        return f"<ConnectionPool of {len(self._open)} connections, {self._idle_count} idle>"

    def take_idle(self, place: Place) -> HttpConnection | None:
        """Return an idle connection, the one used last."""
        waiting = self._idle.get(place)
        while waiting:
            connection = waiting.pop()
            self._idle_count -= 1
            if connection.is_reusable:
                return connection
            self._open.discard(connection)
        return None

    def give_back(self, place: Place, connection: HttpConnection) -> None:
        """Keep a connection whose exchange is over, if it may be used again."""
        if not connection.is_reusable or self._idle_count >= self._max_idle:
            self.drop_connection(connection)
            return
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        waiting = self._idle.get(place)
        if waiting is None:
            waiting = self._idle[place] = deque()
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

    async def open_connection(self, place: Place) -> HttpConnection:
        """Open a connection. Errors of look-up, socket, guard, TLS and time limit are passed on.

        When files run out, idle connections are closed for one more try. Other failures of this machine are
        passed on after a pause, so that the next request does not meet them at once.
        """
        try:
            try:
                connection = await self._open_once(place)
            except OSError as error:
                if error.errno not in OUT_OF_FILES or not self.drop_idle():
                    raise
                await asyncio.sleep(0)  # the transports close their sockets in the next turn
                connection = await self._open_once(place)
        except OSError as error:
            if error.errno in LOCAL_ERRORS:
                await asyncio.sleep(self._trouble.report_error(error, asyncio.get_running_loop().time()))
            raise
        self._trouble.reset_pause()
        return connection

    async def _open_once(self, place: Place) -> HttpConnection:
        if self._names is None:
            resolver = self._given_resolver or ThreadResolver(self._options.dns_threads)
            self._names = CachingResolver(resolver, self._options.dns_cache_s)
        if isinstance(place, Origin):
            async with asyncio.timeout(self._options.connect_s):
                connection = await self._connect_to(place, self._names)
        else:
            connection = await self._connect_through(place, ProxyDialer(self._names, self._tls))
        self._open.add(connection)
        return connection

    async def _connect_to(self, origin: Origin, names: CachingResolver) -> HttpConnection:
        self._guard.check_port(origin.host, origin.port)
        rows = await names.resolve(origin.host, origin.port)
        rows = self._guard.open_to(origin.host, origin.port, rows)
        try:
            return await self._connect_address(origin, rows)
        except BaseException:  # also on a timeout: the host may have moved
            names.forget_host(origin.host, origin.port)
            raise

    async def _connect_address(self, origin: Origin, rows: Sequence[AddressInfo]) -> HttpConnection:
        sock = await connect_socket(rows)
        try:
            if origin.is_tls:
                context = self._tls.context_for(origin.host)
                try:
                    return await start_tls(sock, context, origin.host, self._make_connection)
                except asyncio.CancelledError as late:  # TimeoutError names it as its cause
                    late.args = (IN_HANDSHAKE,)
                    raise
            loop = asyncio.get_running_loop()
            _, connection = await loop.create_connection(self._make_connection, sock=sock)
        except BaseException:
            sock.close()
            raise
        return connection

    async def _connect_through(self, place: ProxiedPlace, dialer: ProxyDialer) -> HttpConnection:
        """Connect through a proxy. The guard has already judged the host, by its name or address."""
        until = asyncio.get_running_loop().time() + self._options.connect_s
        proxy, origin = place
        if origin is None:
            return await dialer.reach_proxy(proxy, self._make_connection, until)
        tunnel = await dialer.open_tunnel(proxy, origin.host, origin.port, until)
        transport = tunnel.step_aside()
        if origin.is_tls:
            context = self._tls.context_for(origin.host)
            async with asyncio.timeout_at(until):
                return await start_tls_inside(transport, context, origin.host, self._make_connection)
        connection = self._make_connection()
        transport.set_protocol(connection)
        connection.connection_made(transport)
        return connection

    def _make_connection(self) -> HttpConnection:
        return HttpConnection(asyncio.get_running_loop(), self._options, self.room)

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
        """Close connections that were idle for too long, and schedule the next check while any is idle."""
        self._sweeper = None
        oldest = loop.time() - self._options.keepalive_s
        for place, waiting in list(self._idle.items()):
            while waiting and waiting[0].idle_since <= oldest:
                self.drop_connection(waiting.popleft())
                self._idle_count -= 1
            if not waiting:
                del self._idle[place]
        if self._idle:
            self._sweeper = loop.call_later(self._options.keepalive_s / 2, self._close_expired, loop)
