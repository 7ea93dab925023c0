"""SOCKS5 (RFC 1928) with a user and a password (RFC 1929): names of hosts are the proxy's to look up."""

from __future__ import annotations

import socket

from gossamer.core.errors import Fault
from gossamer.core.routes import Proxy
from gossamer.fetch.http.tunnel import TunnelProtocol, UnclearProxyError, proxy_error

_VERSION = 5
_NO_AUTHENTICATION, _USER_AND_PASSWORD = 0, 2
_IPV4, _NAME, _IPV6 = 1, 3, 4
_CONNECT = 1
_ADDRESS_BYTES = {_IPV4: 4, _IPV6: 16}

_REPLIES = {
    2: (Fault.PROXY, "does not allow a connection to the host"),
    3: (Fault.CONNECT, "has no way to the host's network"),
    4: (Fault.CONNECT, "cannot reach the host"),
    5: (Fault.CONNECT, "is refused by the host"),
    6: (Fault.CONNECT, "cannot reach the host in time"),
    7: (Fault.PROXY, "makes no connections to hosts"),
    8: (Fault.PROXY, "does not know this kind of address"),
}
"""The fault of each reply (RFC 1928, 6): the proxy's own, or that of the host behind it."""


async def greet_proxy(tunnel: TunnelProtocol, proxy: Proxy) -> None:
    """Agree on who we are: with this answer the proxy has shown that it works. Raises ``FetchError``."""
    methods = bytes([_NO_AUTHENTICATION, _USER_AND_PASSWORD] if proxy.user else [_NO_AUTHENTICATION])
    tunnel.send(bytes([_VERSION, len(methods)]) + methods)
    version, method = await tunnel.read_bytes(2)
    if version != _VERSION:
        raise proxy_error(proxy, "answers with something other than SOCKS5")
    if method == _USER_AND_PASSWORD and proxy.user:
        await _send_password(tunnel, proxy)
    elif method != _NO_AUTHENTICATION:
        words = (
            "takes neither this user and password nor anonymous clients"
            if proxy.user
            else "wants a user and a password"
        )
        raise proxy_error(proxy, words)


async def _send_password(tunnel: TunnelProtocol, proxy: Proxy) -> None:
    user, password = proxy.user.encode(), proxy.password.encode()
    if max(len(user), len(password)) > 255:
        raise proxy_error(proxy, "cannot be sent a user or password of more than 255 bytes")
    tunnel.send(b"\1" + bytes([len(user)]) + user + bytes([len(password)]) + password)
    _, status = await tunnel.read_bytes(2)
    if status:
        raise proxy_error(proxy, "refuses the user and password")


async def request_connection(tunnel: TunnelProtocol, proxy: Proxy, host: str, port: int) -> None:
    """Ask for a connection to a host. Raises ``FetchError``."""
    tunnel.send(bytes([_VERSION, _CONNECT, 0]) + _encode_host(proxy, host) + port.to_bytes(2))
    version, reply, _, kind = await tunnel.read_bytes(4)
    if version != _VERSION:
        raise proxy_error(proxy, "answers with something other than SOCKS5")
    if reply == 1:  # also for a name that does not resolve
        raise UnclearProxyError(proxy, "has failed (SOCKS reply 1)", Fault.CONNECT)
    if reply:
        fault, words = _REPLIES.get(reply, (Fault.PROXY, "has failed"))
        raise proxy_error(proxy, f"{words} (SOCKS reply {reply})", fault)
    size = (await tunnel.read_bytes(1))[0] if kind == _NAME else _ADDRESS_BYTES.get(kind)
    if size is None:
        raise proxy_error(proxy, "answers with something other than SOCKS5")
    await tunnel.read_bytes(size + 2)


def _encode_host(proxy: Proxy, host: str) -> bytes:
    for kind, family in ((_IPV4, socket.AF_INET), (_IPV6, socket.AF_INET6)):
        try:
            return bytes([kind]) + socket.inet_pton(family, host)
        except (OSError, UnicodeError):
            continue
    name = host.encode()
    if len(name) > 255:
        raise proxy_error(proxy, "cannot resolve a name of more than 255 bytes", Fault.DNS)
    return bytes([_NAME, len(name)]) + name
