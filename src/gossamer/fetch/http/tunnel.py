"""A tunnel through a proxy to a host: the connection to the proxy, until it leads further.

An HTTP proxy receives CONNECT (RFC 9110, 9.3.6), a SOCKS5 proxy as in ``socks5``. A mistake of the proxy is
``Fault.PROXY``; its statement about the host behind it is that host's fault. No detail contains a user, a
password or the proxy's own words.
"""

from __future__ import annotations

import asyncio
import re
from typing import cast

from gossamer.core.authorization import encode_basic
from gossamer.core.errors import Fault, FetchError
from gossamer.core.lazy import lazy_pattern
from gossamer.core.routes import Proxy
from gossamer.fetch.http.wire import Headers

MAX_ANSWER_BYTES = 64 * 1024
_STATUS_LINE = lazy_pattern(rb"HTTP/1\.[01] ([1-9]\d\d)[ \r\n]", re.IGNORECASE)
_HEADER_END = lazy_pattern(rb"\r?\n\r?\n")


class UnclearProxyError(FetchError):
    """An absent or meaningless answer of a proxy: it or the host behind it is out of order.

    In the second case, ``host_fault`` is the host's fault.
    """

    def __init__(self, proxy: Proxy, words: str, host_fault: Fault, status: int = 0) -> None:
        super().__init__(Fault.PROXY, f"proxy {proxy.name} {words}", status=status)
        self.host_fault = host_fault


class TunnelProtocol(asyncio.Protocol):
    """The proxy's messages before the tunnel stands."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._received = bytearray()
        self._is_over = False
        self._news: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport | None = None

    def __repr__(self) -> str:
        return f"<TunnelProtocol through {self._proxy.name}, {len(self._received)} bytes unread>"

    @property
    def transport(self) -> asyncio.Transport:
        """The transport to the proxy, and through it once the tunnel stands."""
        assert self._transport is not None, "not connected"
        return self._transport

    def send(self, data: bytes) -> None:
        """Say something to the proxy."""
        self.transport.write(data)

    async def read_bytes(self, count: int) -> bytes:
        """Return exactly ``count`` bytes; :class:`FetchError` if the proxy hangs up before."""
        while len(self._received) < count:
            await self._wait_for_news()
        data = bytes(self._received[:count])
        del self._received[:count]
        return data

    async def read_header(self) -> bytes:
        """Everything up to an empty line."""
        while (end := _HEADER_END.search(self._received)) is None:
            if len(self._received) > MAX_ANSWER_BYTES:
                raise proxy_error(self._proxy, "sends a header without end")
            await self._wait_for_news()
        return await self.read_bytes(end.end())

    def take_rest(self) -> bytes:
        """Return the bytes after the last answer, which come from the host."""
        rest = bytes(self._received)
        self._received.clear()
        return rest

    def step_aside(self) -> asyncio.Transport:
        """Return the transport to the host's protocol; :class:`FetchError` if bytes are unread."""
        if self._received:
            self.transport.abort()
            raise proxy_error(self._proxy, "sends more than was requested")
        return self.transport

    async def _wait_for_news(self) -> None:
        if self._is_over:
            raise UnclearProxyError(self._proxy, "hangs up without an answer", Fault.CONNECT)
        self._news = asyncio.get_running_loop().create_future()
        try:
            await self._news
        finally:
            self._news = None

    def _tell_news(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    # ------------------------------------------------------------------ transport callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take over the connection to the proxy."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Take data from the proxy, or from the host behind it."""
        self._received += data
        self._tell_news()

    def eof_received(self) -> bool:
        """Nothing more will come."""
        self._is_over = True
        self._tell_news()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle the end of the connection."""
        self._is_over = True
        self._tell_news()


def proxy_error(proxy: Proxy, words: str, fault: Fault = Fault.PROXY, status: int = 0) -> FetchError:
    """Return the error that describes a proxy's behaviour."""
    return FetchError(fault, f"proxy {proxy.name} {words}", status=status)


def proxy_authorization(proxy: Proxy) -> str:
    """Return the value of Proxy-Authorization; empty without a user."""
    return encode_basic(proxy.user.encode(), proxy.password.encode()) if proxy.user else ""


async def request_connect(tunnel: TunnelProtocol, proxy: Proxy, host: str, port: int) -> None:
    """Ask an HTTP proxy for a tunnel. Raises :class:`FetchError`."""
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
    if proxy.user:
        lines.append(f"Proxy-Authorization: {proxy_authorization(proxy)}")
    tunnel.send("\r\n".join([*lines, "", ""]).encode())
    while True:
        header = await tunnel.read_header()
        found = _STATUS_LINE.match(header)
        if found is None:
            raise proxy_error(proxy, "answers with something other than HTTP")
        status = int(found[1])
        if status >= 200:  # earlier ones are informational
            break
    if status >= 300:
        raise refusal_of(proxy, status, _parse_fields(header))


def refusal_of(proxy: Proxy, status: int, headers: Headers) -> FetchError:
    """Return the error for a refused tunnel, with the proxy's own fault or that of the host behind it."""
    if status in (401, 407):
        return authentication_error(proxy, status)
    fault = own_fault(status, headers)
    if fault is None and status == 503:
        return UnclearProxyError(proxy, "makes no connection to the host (503)", Fault.CONNECT, status)
    if fault is None and status in (502, 504):
        fault = Fault.CONNECT
    return fault_error(proxy, fault or Fault.PROXY, status)


def authentication_error(proxy: Proxy, status: int) -> FetchError:
    """Return the error for a proxy that rejects or lacks credentials."""
    words = "refuses the user and password" if proxy.user else "wants a user and a password"
    return proxy_error(proxy, f"{words} ({status})")


def fault_error(proxy: Proxy, fault: Fault, status: int) -> FetchError:
    """Return the error for an answer of the proxy itself, instead of the host."""
    words = {
        Fault.PROXY: "refuses to fetch from the host",
        Fault.DNS: "says that the host's name does not resolve",
        Fault.TIMEOUT_HEADERS: "says that the host does not answer in time",
        Fault.PROTOCOL: "cannot read the host's answer",
    }.get(fault, "cannot reach the host")
    return proxy_error(proxy, f"{words} ({status})", fault, status)


_SQUIDS_FAULTS = {
    "ERR_ACCESS_DENIED": Fault.PROXY,
    "ERR_DNS_FAIL": Fault.DNS,
    "ERR_CONNECT_FAIL": Fault.CONNECT,
    "ERR_CANNOT_FORWARD": Fault.CONNECT,
    "ERR_SECURE_CONNECT_FAIL": Fault.CONNECT,
    "ERR_ZERO_SIZE_OBJECT": Fault.CONNECT,
    "ERR_READ_ERROR": Fault.CONNECT,
    "ERR_READ_TIMEOUT": Fault.TIMEOUT_HEADERS,
    "ERR_GATEWAY_FAILURE": Fault.CONNECT,
    "ERR_INVALID_RESP": Fault.PROTOCOL,
    "ERR_TOO_BIG": Fault.PROTOCOL,
}
"""Faults by the name in ``X-Squid-Error`` on Squid's own pages."""


_QUOTED = lazy_pattern(r'"(?:[^"\\]|\\.)*"')
_ERROR = lazy_pattern(r";\s*error=([a-z_]+)")
_STATUS_FAULTS = {
    Fault.PROXY: "proxy_internal_error proxy_configuration_error proxy_loop_detected http_request_denied "
    "destination_ip_prohibited connection_limit_reached",
    Fault.DNS: "dns_error",
    Fault.DNS_TEMPORARY: "dns_timeout",
    Fault.CONNECT: "destination_not_found destination_unavailable destination_ip_unroutable "
    "connection_refused connection_terminated connection_write_timeout tls_protocol_error "
    "tls_certificate_error tls_alert_received",
    Fault.TIMEOUT_CONNECT: "connection_timeout",
    Fault.TIMEOUT_HEADERS: "connection_read_timeout http_response_timeout",
}
"""The faults of the error types in ``Proxy-Status`` (RFC 9209, 2.3); of others nothing follows."""


def _read_proxy_status(value: str) -> Fault | None:
    """Return the fault that the last proxy in ``Proxy-Status`` states: the one we use (RFC 9209, 2)."""
    found = _ERROR.search(_QUOTED.sub("", value).rpartition(",")[2])
    types = _STATUS_FAULTS.items() if found else ()
    return next((fault for fault, names in types if found and found[1] in names.split()), None)


def own_fault(status: int, headers: Headers) -> Fault | None:
    """Return the fault in a page of a proxy's own; ``None`` if the page may be the host's.

    A site can have such a proxy in front of it as well. It then stands behind ours, which adds itself to
    ``Via``.
    """
    values = dict(headers)
    if values.get("via", "").count(",") > 0:
        return None
    if said := values.get("proxy-status", ""):
        return _read_proxy_status(said)
    if error := values.get("x-squid-error", ""):
        return _SQUIDS_FAULTS.get(error.partition(" ")[0])
    if values.get("server", "").startswith("tinyproxy/"):
        if status in (401, 403):
            return Fault.PROXY
        return Fault.CONNECT if status >= 500 else None
    return None


def _parse_fields(header: bytes) -> Headers:
    lines = header.decode("latin-1").splitlines()[1:]
    fields = [line.partition(":") for line in lines if ":" in line]
    return [(name.strip().lower(), value.strip()) for name, _, value in fields]
