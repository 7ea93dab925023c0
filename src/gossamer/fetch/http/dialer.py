"""Connecting to proxies, and through them to hosts; and how a host's own addresses are connected."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from aiohappyeyeballs import start_connection

from gossamer.core.errors import Fault, FetchError
from gossamer.core.routes import Proxy
from gossamer.fetch.http.faults import RAISED, describe_os_error, describe_tls_error
from gossamer.fetch.http.socks5 import greet_proxy, request_connection
from gossamer.fetch.http.tls import TlsContextCache, start_tls
from gossamer.fetch.http.tunnel import TunnelProtocol, UnclearProxyError, proxy_error, request_connect
from gossamer.fetch.machine import LOCAL_ERRORS, NO_WAY, has_ipv4
from gossamer.fetch.resolver import AddressInfo, CachingResolver

HAPPY_EYEBALLS_S = 0.25
"""Head start of an address before the next one is tried as well (RFC 8305, 5)."""

P = TypeVar("P", bound=asyncio.Protocol)


async def connect_socket(rows: Sequence[AddressInfo]) -> socket.socket:
    """Return a socket connected to one of a host's addresses."""
    try:
        return await start_connection(list(rows), happy_eyeballs_delay=HAPPY_EYEBALLS_S, interleave=1)
    except OSError as error:
        is_ipv6_only = all(row[0] == socket.AF_INET6 for row in rows)
        if error.errno in NO_WAY and is_ipv6_only and has_ipv4():
            raise OSError(errno.EHOSTUNREACH, "no IPv6 here") from error  # nothing to wait for
        raise


class ProxyDialer:
    """Connects to proxies and to the hosts behind them.

    The operator named the proxies, so their own addresses may be private. ``until`` is the loop's time at
    which a connection has taken too long. Failures of this machine are passed on as ``OSError``; all others
    are a :class:`FetchError`.
    """

    def __init__(self, names: CachingResolver, tls: TlsContextCache) -> None:
        self._names = names
        self._tls = tls

    async def reach_proxy(self, proxy: Proxy, make_protocol: Callable[[], P], until: float) -> P:
        """Return a connection to the proxy itself."""
        loop = asyncio.get_running_loop()
        with _blaming(proxy):
            try:
                async with asyncio.timeout_at(until):
                    rows = await self._names.resolve(proxy.host, proxy.port)
                    sock = await connect_socket(rows)
                    if proxy.scheme == "https":
                        context = self._tls.context_for(proxy.host)
                        return await start_tls(sock, context, proxy.host, make_protocol)
                    _, protocol = await loop.create_connection(make_protocol, sock=sock)
                    return protocol
            except BaseException:
                self._names.forget_host(proxy.host, proxy.port)
                raise

    async def open_tunnel(self, proxy: Proxy, host: str, port: int, until: float) -> TunnelProtocol:
        """Return a tunnel that leads to the host; its transport is the caller's to close."""
        tunnel = await self.reach_proxy(proxy, lambda: TunnelProtocol(proxy), until)
        try:
            if proxy.scheme == "socks5":
                await self._greet(tunnel, proxy, until)
                slow = proxy_error(proxy, "does not reach the host in time", Fault.TIMEOUT_CONNECT)
                await _in_time(request_connection(tunnel, proxy, host, port), until, slow)
            else:
                late = UnclearProxyError(proxy, "does not answer", Fault.TIMEOUT_CONNECT)
                await _in_time(request_connect(tunnel, proxy, host, port), until, late)
        except BaseException:
            tunnel.transport.abort()
            raise
        return tunnel

    async def _greet(self, tunnel: TunnelProtocol, proxy: Proxy, until: float) -> None:
        """Negotiate with the proxy; no host is involved yet."""
        try:
            await _in_time(greet_proxy(tunnel, proxy), until, proxy_error(proxy, "does not answer"))
        except UnclearProxyError as error:
            raise FetchError(Fault.PROXY, error.detail) from error


async def _in_time(step: Coroutine[None, None, None], until: float, late: FetchError) -> None:
    try:
        async with asyncio.timeout_at(until):
            await step
    except TimeoutError:
        raise late from None


@contextmanager
def _blaming(proxy: Proxy) -> Iterator[None]:
    """Attribute errors on the way to a proxy to it, except those of this machine."""
    try:
        yield
    except RAISED as error:
        if isinstance(error, OSError) and error.errno in LOCAL_ERRORS:
            raise
        raise proxy_error(proxy, _reason_for(error, proxy)) from error


def _reason_for(error: Exception, proxy: Proxy) -> str:
    match error:
        case socket.gaierror() | UnicodeError():
            return "cannot be found: its name does not resolve"
        case ssl.SSLError():
            return f"cannot be reached by TLS: {describe_tls_error(error, proxy.host, 'compatible')}"
        case TimeoutError():
            return "does not answer"
        case OSError():
            return f"cannot be reached: {describe_os_error(error)}"
        case _:
            return "cannot be reached"
