"""The relay of one tab: a SOCKS5 server (RFC 1928) on this machine.

Every connection of the tab passes through it: pages and frames, workers and WebSockets, redirected or not.
So the address guard judges the address that is really connected (against DNS rebinding), bytes are counted
as received, and a failure has its own reason instead of the browser's. Names are resolved here or by a
proxy, never by the browser.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv6Address

from gossamer.core.errors import FetchError
from gossamer.fetch.guard import GuardError
from gossamer.runtime.cancelling import end_soon

MakeSide = Callable[[], "FarSide"]
Dial = Callable[[str, int, MakeSide], Awaitable["FarSide"]]
"""Connects to a host and port. Raises ``OSError``, ``socket.gaierror`` and the like, or ``FetchError``."""

_MAX_HANDSHAKE_BYTES = 600
_OK, _FAILED, _FORBIDDEN, _UNREACHABLE, _REFUSED = range(5)
_REPLIES = {_OK: 0, _FAILED: 1, _FORBIDDEN: 2, _UNREACHABLE: 4, _REFUSED: 5}
_RAISED = (OSError, ValueError, FetchError)


class TabRelay:
    """The relay of one tab."""

    def __init__(self, dial: Dial) -> None:
        self._dial = dial
        self._server: asyncio.Server | None = None
        self._sides: set[_TabSide] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._most_bytes: int | None = None
        self._report_excess: Callable[[], None] | None = None
        self._asked = 0  # approximate number of the tab's requests
        self.received_bytes = 0  # by the tab
        self.failures: dict[tuple[str, int], Exception] = {}  # why a host and port could not be connected
        self.addresses: dict[tuple[str, int], str] = {}  # where the last connection led

    def __repr__(self) -> str:
        return f"<TabRelay of {len(self._sides)} connections, {self.received_bytes} bytes received>"

    async def open(self) -> str:
        """Start to listen; the address that the browser is given as its proxy."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _TabSide(self), "127.0.0.1", 0)
        return f"socks5://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def close(self) -> None:
        """End every connection. Idempotent."""
        if self._server is not None:
            self._server.close()
            self._server = None
        end_soon(*self._tasks)
        for side in list(self._sides):
            side.hang_up()

    def limit_bytes(self, most: int, report_excess: Callable[[], None]) -> None:
        """Close every connection of a page that receives more than ``most`` bytes, and report that."""
        self._most_bytes, self._report_excess = most, report_excess

    def count_bytes(self, count: int) -> None:
        """Count bytes that the tab has received."""
        self.received_bytes += count
        if self._most_bytes is not None and self.received_bytes > self._most_bytes:
            for side in list(self._sides):
                side.hang_up()
            if self._report_excess is not None:
                self._report_excess()

    def forget_past(self) -> None:
        """Begin the next page: reset counts and failures.

        Bytes that still arrive on connections which the browser has not used again belong to the last page.
        """
        self.received_bytes = self._asked = 0
        self.failures.clear()
        for side in self._sides:
            side.is_old = side.is_past = True

    def note_asking(self) -> None:
        """Note that the tab sends data on a connection that it had before."""
        self._asked += 1

    def set_apart(self, own_bytes: int) -> None:
        """Replace the bytes counted so far, those of the last page, by the new page's ``own_bytes``.

        The figure is an estimate if the last page kept sending requests.
        """
        if self._asked > 1:
            self.received_bytes = own_bytes

    def add_side(self, side: _TabSide) -> None:
        """Add a connection of the tab."""
        self._sides.add(side)

    def drop_side(self, side: _TabSide) -> None:
        """Remove a connection that has ended."""
        self._sides.discard(side)

    def connect_side(self, side: _TabSide, host: str, port: int) -> None:
        """Connect to the target that a connection of the tab requested."""
        self._asked += 1
        task = asyncio.get_running_loop().create_task(self._connect(side, host, port))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, side: _TabSide, host: str, port: int) -> None:
        place = (host, port)
        try:
            far = await self._dial(host, port, lambda: FarSide(self, side))
        except _RAISED as error:
            self.failures[place] = error
            side.refuse(_reply_for(error))
            return
        self.addresses[place] = far.address
        self.failures.pop(place, None)
        side.join(far)


def _reply_for(error: Exception) -> int:
    if isinstance(error, GuardError):
        return _FORBIDDEN
    if isinstance(error, ConnectionRefusedError):
        return _REFUSED
    return _UNREACHABLE if isinstance(error, OSError) else _FAILED


class _Side(asyncio.Protocol):
    """One end of a connection. It passes received bytes to the other end, no faster than that one takes
    them."""

    _transport: asyncio.Transport | None = None
    _other: _Side | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def send(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def hang_up(self) -> None:
        """End it once everything was sent."""
        if self._transport is not None:
            self._transport.close()

    def pause_writing(self) -> None:
        self._read_other(is_on=False)

    def resume_writing(self) -> None:
        self._read_other(is_on=True)

    def _read_other(self, *, is_on: bool) -> None:
        other = self._other._transport if self._other is not None else None
        if other is None or other.is_closing():
            return
        if is_on:
            other.resume_reading()
        else:
            other.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._other is not None:
            self._other.hang_up()


class FarSide(_Side):
    """The end that the world is at."""

    address = ""  # the host's, where it is known

    def __init__(self, relay: TabRelay, near: _TabSide) -> None:
        self._relay = relay
        self._other = self._near = near

    def data_received(self, data: bytes) -> None:
        """Pass data from the host to the browser."""
        if not self._near.is_past:
            self._relay.count_bytes(len(data))
        self._near.send(data)


class _TabSide(_Side):
    """The end that the browser is at. Before anything is passed on, it says where it wants to."""

    def __init__(self, relay: TabRelay) -> None:
        self._relay = relay
        self.is_old = False  # it was there before this page
        self.is_past = False  # and this page has not sent anything on it
        self._buffer = b""
        self._is_greeted = False
        self._has_asked = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._relay.add_side(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._relay.drop_side(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._other is not None:
            self.is_past = False
            if self.is_old:
                self._relay.note_asking()
            self._other.send(data)
            return
        self._buffer += data
        if self._has_asked:
            return  # kept until the far side is there; a browser waits for the reply
        if len(self._buffer) > _MAX_HANDSHAKE_BYTES:
            self.hang_up()
            return
        if not self._is_greeted:
            self._read_greeting()
        if self._is_greeted:
            self._read_order()

    def _read_greeting(self) -> None:
        data = self._buffer
        if len(data) < 2 or len(data) < 2 + data[1]:
            return
        if data[0] != 5:
            self.hang_up()
            return
        self._buffer = data[2 + data[1] :]
        self._is_greeted = True
        self.send(b"\x05\x00")

    def _read_order(self) -> None:
        data = self._buffer
        if len(data) < 5:
            return
        kind = data[3]
        size = {1: 4, 4: 16, 3: 1 + data[4]}.get(kind)
        if data[:2] != b"\x05\x01" or size is None:  # CONNECT alone
            self.refuse(_FAILED)
            return
        if len(data) < 6 + size:
            return
        address = data[4 : 4 + size]
        if kind == 3:
            host = address[1:].decode("ascii", "replace")
        else:
            host = str(IPv4Address(address) if kind == 1 else IPv6Address(address))
        (port,) = struct.unpack("!H", data[4 + size : 6 + size])
        self._buffer = data[6 + size :]
        self._has_asked = True
        self._relay.connect_side(self, host, port)

    def refuse(self, reply: int) -> None:
        """Reply with the reason for the missing connection, and close."""
        self._say(reply)
        self.hang_up()

    def join(self, far: _Side) -> None:
        """Pass on all further data."""
        if self._transport is None:  # the browser has given up meanwhile
            far.hang_up()
            return
        self._other = far
        self._say(_OK)
        if self._buffer:
            far.send(self._buffer)
            self._buffer = b""

    def _say(self, reply: int) -> None:
        self.send(bytes((5, _REPLIES[reply], 0, 1, 0, 0, 0, 0, 0, 0)))
