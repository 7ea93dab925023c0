"""Connect a tab directly or through a proxy."""

from __future__ import annotations

import asyncio

from gossamer.core.errors import FetchError
from gossamer.core.routes import Proxy
from gossamer.fetch.browser.relay import Dial, FarSide, MakeSide
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.dialer import ProxyDialer, connect_socket
from gossamer.fetch.http.pool import ProxiedPlace
from gossamer.fetch.http.proxied import ProxyJudge
from gossamer.fetch.http.target import Origin
from gossamer.fetch.http.tls import TlsContextCache
from gossamer.fetch.resolver import CachingResolver, Resolver, ThreadResolver

_THREADS = 16
_REMEMBERED_S = 300


class GuardedDialer:
    """Connections under the guard. Belongs to the event loop that dials first."""

    def __init__(
        self,
        guard: AddressGuard,
        *,
        connect_s: float,
        insecure_hosts: frozenset[str] = frozenset(),
        resolver: Resolver | None = None,
    ) -> None:
        self._guard = guard
        self._connect_s = connect_s
        self._tls = TlsContextCache("modern", insecure_hosts, None)  # for proxies alone
        self._judge = ProxyJudge()
        self._given = resolver
        self._found: CachingResolver | None = None

    def dial_by(self, proxy: Proxy | None) -> Dial:
        """Return the function that connects a tab by its route."""
        if proxy is None:
            return self._dial_host

        async def dial(host: str, port: int, make: MakeSide) -> FarSide:
            return await self._dial_through(proxy, host, port, make)

        return dial

    @property
    def _names(self) -> CachingResolver:
        if self._found is None:
            self._found = CachingResolver(self._given or ThreadResolver(_THREADS), _REMEMBERED_S)
        return self._found

    async def _dial_host(self, host: str, port: int, make: MakeSide) -> FarSide:
        """Connect to the host itself."""
        async with asyncio.timeout(self._connect_s):
            self._guard.check_port(host, port)
            rows = self._guard.open_to(host, port, await self._names.resolve(host, port))
            try:
                sock = await connect_socket(rows)
            except BaseException:  # also on a timeout: the host may have moved
                self._names.forget_host(host, port)
                raise
        try:
            address = str(sock.getpeername()[0])
            _, side = await asyncio.get_running_loop().create_connection(make, sock=sock)
        except BaseException:
            sock.close()
            raise
        side.address = address
        return side

    async def _dial_through(self, proxy: Proxy, host: str, port: int, make: MakeSide) -> FarSide:
        """Open a tunnel to the host, also for plain HTTP. The proxy resolves names, so no address is
        known."""
        self._guard.check_target(host, port)
        until = asyncio.get_running_loop().time() + self._connect_s
        try:
            tunnel = await ProxyDialer(self._names, self._tls).open_tunnel(proxy, host, port, until)
        except FetchError as error:
            place = ProxiedPlace(proxy, Origin(False, host, port, host, ""))
            raise self._judge.attribute_failure(error, f"{host}:{port}", place) from error
        self._judge.note_answer(proxy)
        transport, side = tunnel.step_aside(), make()
        transport.set_protocol(side)
        side.connection_made(transport)
        return side
