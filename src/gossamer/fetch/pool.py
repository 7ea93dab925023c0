"""aiohttp's pool of connections, told apart by trust, hardened, and open about what it hands out.

A server that sends more than it announced must neither cost the page nor slip its next words under the
following request: the header is parsed apart from what follows it, and a connection that has talked while
nobody asked is closed.

Which connection a request got matters twice: a failure on one that had been used before may only mean that
the server closed it while it was idle, and the address connected is part of the result. The pool leaves
both in :data:`CONNECTED`, which belongs to the task that asked.
"""

from __future__ import annotations

import asyncio
import ssl
from contextvars import ContextVar
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection

from gossamer.fetch.guard import Guard
from gossamer.fetch.limits import ACCEPT, ACCEPT_ENCODING, HttpOptions
from gossamer.fetch.resolver import ThreadResolver
from gossamer.policy.redirects import is_credential

CONNECTED: ContextVar[tuple[str, bool]] = ContextVar("CONNECTED", default=("", False))
"""The address that this task's request was last sent to, and whether that connection had been used before."""


class Protocol(ResponseHandler):
    """aiohttp's reader of responses; delivers a response before it stumbles over what follows it."""

    def data_received(self, data: bytes) -> None:
        """Parse the header first: an error of the parser takes back everything of the same call."""
        end = data.find(b"\r\n\r\n") + 4 if data.startswith(b"HTTP/") else 0
        if 4 <= end < len(data):
            super().data_received(data[:end])
            data = data[end:]
        super().data_received(data)
        if self.exception() is None:
            return
        body = self._payload
        if body is not None and not body.is_eof() and body.exception() is None:  # else it would wait for ever
            body.set_exception(aiohttp.ClientPayloadError("broken body"))


class Connector(aiohttp.TCPConnector):
    """aiohttp's connector; tells :data:`CONNECTED` about every connection it hands out."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._factory: Any = partial(Protocol, loop=asyncio.get_running_loop())
        self._addresses: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

    async def connect(self, req: Any, traces: Any, timeout: Any) -> Connection:
        """A connection from the pool, or a new one."""
        CONNECTED.set(("", False))
        connection = await super().connect(req, traces, timeout)
        while (protocol := connection.protocol) is not None and protocol.should_close:
            connection.close()  # it has talked while it was idle
            connection = await super().connect(req, traces, timeout)
        address = self._addresses.get(protocol)
        if address is not None:
            CONNECTED.set((address, True))
            return connection
        transport = connection.transport
        peer = transport.get_extra_info("peername") if transport is not None else None
        address = str(peer[0]) if peer else ""
        self._addresses[protocol] = address
        CONNECTED.set((address, False))
        return connection


class Pools:
    """Two sessions, made when first needed: for hosts the operator named, and for all others."""

    def __init__(
        self,
        options: HttpOptions,
        guard: Guard,
        tls: ssl.SSLContext | None = None,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._options = options
        self._guard = guard
        self._tls = tls
        self._own_resolver: AbstractResolver | None = None
        self._resolver = resolver
        self._trusted: aiohttp.ClientSession | None = None
        self._guarded: aiohttp.ClientSession | None = None

    def session(self, host: str) -> aiohttp.ClientSession:
        """The session whose connections this host may have."""
        if self._guard.trusts(host):
            if self._trusted is None:
                self._trusted = self._new(guarded=False)
            return self._trusted
        if self._guarded is None:
            self._guarded = self._new(guarded=True)
        return self._guarded

    async def close(self) -> None:
        """Close all connections; the next :meth:`session` begins anew."""
        sessions, self._trusted, self._guarded = (self._trusted, self._guarded), None, None
        for session in sessions:
            if session is not None:
                await session.close()
        if self._own_resolver is not None:
            await self._own_resolver.close()
            self._own_resolver = None

    def _new(self, *, guarded: bool) -> aiohttp.ClientSession:
        options = self._options
        resolver = self._resolver or self._own_resolver
        if resolver is None:
            resolver = self._own_resolver = ThreadResolver(options.dns_threads)
        connector = Connector(
            limit=0,  # the frontier decides how many requests a host and the machine take
            ttl_dns_cache=options.dns_cache_s,
            keepalive_timeout=options.keepalive_s,
            resolver=resolver,
            socket_factory=self._guard.socket if guarded else None,
            ssl=self._tls or True,
        )
        session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={
                "User-Agent": options.user_agent,
                "Accept": ACCEPT,
                "Accept-Language": options.accept_language,
                "Accept-Encoding": ACCEPT_ENCODING,
                **{
                    name: value
                    for name, value in options.headers.items()
                    if not (guarded and is_credential(name))  # for hosts that the operator named only
                },
            },
            timeout=aiohttp.ClientTimeout(connect=options.connect_s),
            auto_decompress=False,
            max_line_size=options.max_header_bytes,
            max_field_size=options.max_header_bytes,
            max_headers=options.max_headers,
        )
        session._retry_connection = False  # aiohttp's retries fresh connections too: a server would see two
        return session
