"""The connections of a browser's tab: straight from here or through a proxy, under the guard either way."""

from __future__ import annotations

import asyncio

import pytest

from gossamer.core.errors import Fault, FetchError
from gossamer.fetch.browser.dialers import GuardedDialer
from gossamer.fetch.browser.relay import TabRelay
from gossamer.fetch.guard import AddressGuard, GuardError
from gossamer.testing.badroutes import PAGE
from gossamer.testing.badsite import BadSite
from kit.fake_proxy import FakeProxy, Forwarding, hang_up

DIALER = GuardedDialer(AddressGuard({"127.0.0.1"}), connect_s=5.0)


async def ask(relay: TabRelay, host: str, port: int) -> bytes:
    """What a browser gets that asks the relay for a host and a page."""
    address = await relay.open()
    reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
    try:
        writer.write(b"\5\1\0")
        assert await reader.readexactly(2) == b"\5\0"
        writer.write(b"\5\1\0\3" + bytes([len(host)]) + host.encode() + port.to_bytes(2))
        if (await reader.readexactly(10))[1]:
            return b""
        writer.write(f"GET /good HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        return head + await reader.readexactly(len(PAGE))
    finally:
        writer.close()
        relay.close()


async def test_a_tab_reaches_its_host_by_a_tunnel() -> None:
    told = Forwarding()
    async with BadSite() as site, FakeProxy(told) as fake:
        relay = TabRelay(DIALER.dial_by(fake.proxy("user", "secret")))
        answer = await ask(relay, "127.0.0.1", site.port)
        assert answer.endswith(PAGE)
        assert told.heads[0].startswith(f"CONNECT 127.0.0.1:{site.port} ")
        assert "Proxy-Authorization: Basic " in told.heads[0]
        assert relay.addresses == {("127.0.0.1", site.port): ""}, "the proxy's own address is not the host's"
        direct = TabRelay(DIALER.dial_by(None))
        assert (await ask(direct, "127.0.0.1", site.port)).endswith(PAGE)
        assert direct.addresses == {("127.0.0.1", site.port): "127.0.0.1"}


@pytest.mark.parametrize("is_proxied", [False, True])
async def test_a_tab_is_kept_from_private_addresses(is_proxied: bool) -> None:
    async with BadSite() as site, FakeProxy(hang_up) as fake:
        relay = TabRelay(DIALER.dial_by(fake.proxy() if is_proxied else None))
        assert await ask(relay, "127.0.0.2", site.port) == b""
        assert isinstance(relay.failures["127.0.0.2", site.port], GuardError)
        assert (site.connections, fake.connections) == (0, 0)


async def test_a_tab_learns_that_its_proxy_is_out_of_order() -> None:
    async with FakeProxy(hang_up) as fake:
        relay = TabRelay(DIALER.dial_by(fake.proxy("user", "secret")))
        assert await ask(relay, "example.com", 443) == b""
        error = relay.failures["example.com", 443]
    assert isinstance(error, FetchError)
    assert (error.fault, "secret" in str(error)) == (Fault.PROXY, False)


async def test_a_proxy_that_worked_is_not_blamed_for_the_first_host_that_fails() -> None:
    dialer = GuardedDialer(AddressGuard({"127.0.0.1"}), connect_s=5.0)
    async with BadSite() as site, FakeProxy(Forwarding()) as fake:
        working = TabRelay(dialer.dial_by(fake.proxy()))
        assert (await ask(working, "127.0.0.1", site.port)).endswith(PAGE)
        fake.behaviour = hang_up
        faults = []
        for host in ("example.com", "example.com", "example.org"):
            relay = TabRelay(dialer.dial_by(fake.proxy()))
            assert await ask(relay, host, 443) == b""
            error = relay.failures[host, 443]
            assert isinstance(error, FetchError)
            faults.append(error.fault)
    assert faults == [Fault.CONNECT, Fault.CONNECT, Fault.PROXY]


async def test_what_comes_late_for_a_page_is_not_counted_for_the_next_one() -> None:
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            asked.append(await reader.readexactly(3))
            writer.write(b"first")
            await go_on.wait()
            go_on.clear()
            writer.write(b"late")
        writer.close()

    go_on = asyncio.Event()
    relay = TabRelay(DIALER.dial_by(None))
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        address = await relay.open()
        reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
        writer.write(b"\5\1\0" + b"\5\1\0\1" + bytes([127, 0, 0, 1]) + port.to_bytes(2))
        await reader.readexactly(12)
        writer.write(b"one")
        assert await reader.readexactly(5) == b"first"
        assert relay.received_bytes == 5
        relay.forget_past()
        go_on.set()
        assert await reader.readexactly(4) == b"late"
        assert relay.received_bytes == 0
        writer.write(b"two")
        assert await reader.readexactly(5) == b"first"
        assert relay.received_bytes == 5, "the next page uses the connection again"
        go_on.set()
        await reader.read()
        writer.close()
        relay.close()
    assert asked == [b"one", b"two"]
