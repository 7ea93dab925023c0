"""TLS for outgoing connections: accepted servers, and the memory of an idle connection.

``modern`` is Python's default: TLS 1.2 and newer with forward secrecy. ``compatible`` also accepts old
servers: TLS 1.0 and 1.1, key exchange by RSA, SHA-1, small keys, renegotiation from before RFC 5746. Both
check certificates.
"""

from __future__ import annotations

import asyncio
import asyncio.sslproto
import socket
import ssl
from collections.abc import Callable
from functools import cached_property
from typing import Literal, TypeVar, cast

TlsMode = Literal["modern", "compatible"]

_LEGACY_CIPHERS = "DEFAULT:!aNULL:!eNULL:@SECLEVEL=0"
_OP_LEGACY_SERVER_CONNECT = getattr(ssl, "OP_LEGACY_SERVER_CONNECT", 0x4)  # named since Python 3.12

P = TypeVar("P", bound=asyncio.Protocol)


class TlsContextCache:
    """The contexts of one fetcher, made when they are first needed: loading the authorities takes a while.

    ``given`` replaces the system's authorities; certificates of ``insecure_hosts`` are not checked.
    """

    def __init__(self, mode: TlsMode, insecure_hosts: frozenset[str], given: ssl.SSLContext | None) -> None:
        self._mode = mode
        self._insecure_hosts = insecure_hosts
        self._given = given

    def context_for(self, host: str) -> ssl.SSLContext:
        """Return the context for connections to a host."""
        return self._unchecked_context if host in self._insecure_hosts else self._checked_context

    @cached_property
    def _checked_context(self) -> ssl.SSLContext:
        return self._configure_context(self._given or ssl.create_default_context())

    @cached_property
    def _unchecked_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return self._configure_context(context)

    def _configure_context(self, context: ssl.SSLContext) -> ssl.SSLContext:
        context.set_alpn_protocols(["http/1.1"])
        if self._mode == "compatible":
            context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
            context.set_ciphers(_LEGACY_CIPHERS)
            context.options |= _OP_LEGACY_SERVER_CONNECT
        return context


class _LeanTlsProtocol(asyncio.sslproto.SSLProtocol):
    """asyncio's TLS with a smaller buffer: its own 256 kB stay with every idle connection."""

    max_size = 32 * 1024

    def _get_write_buffer_size(self) -> int:
        """Bytes that are not sent yet. Those that the socket has not taken are left out by asyncio's own."""
        own: int = super()._get_write_buffer_size()  # type: ignore[misc]  # typeshed does not know it
        below = cast("asyncio.Transport | None", self._transport)
        return own if below is None else own + below.get_write_buffer_size()


async def start_tls(
    sock: socket.socket, context: ssl.SSLContext, host: str, make_protocol: Callable[[], P]
) -> P:
    """Negotiate TLS over a connected socket. Handshake errors are passed on, after closing the socket."""
    loop = asyncio.get_running_loop()
    tls, protocol, agreed = _prepare_tls(context, host, make_protocol)
    transport, _ = await loop.create_connection(lambda: tls, sock=sock)
    try:
        await agreed
    except BaseException:
        transport.abort()
        raise
    return protocol


async def start_tls_inside(
    transport: asyncio.Transport, context: ssl.SSLContext, host: str, make_protocol: Callable[[], P]
) -> P:
    """Agree on TLS over what already leads to the host: a tunnel, itself perhaps within TLS. Raises alike."""
    tls, protocol, agreed = _prepare_tls(context, host, make_protocol)
    transport.set_protocol(tls)
    tls.connection_made(transport)
    try:
        await agreed
    except BaseException:
        transport.abort()
        raise
    return protocol


def _prepare_tls(
    context: ssl.SSLContext, host: str, make_protocol: Callable[[], P]
) -> tuple[_LeanTlsProtocol, P, asyncio.Future[None]]:
    """TLS for a transport, the protocol within it, and the promise of its handshake."""
    loop = asyncio.get_running_loop()
    protocol = make_protocol()
    agreed: asyncio.Future[None] = loop.create_future()
    return _LeanTlsProtocol(loop, protocol, context, agreed, server_hostname=host), protocol, agreed
