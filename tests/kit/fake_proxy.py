"""A proxy that records its input and gives the answers of a test, mostly wrong ones."""

from __future__ import annotations

import asyncio
import re
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from typing import Self
from urllib.parse import urlsplit, urlunsplit

from gossamer.core.routes import Proxy

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class FakeProxy:
    """One server on 127.0.0.1; ``behaviour`` has each of its connections."""

    def __init__(
        self, behaviour: Behaviour, *, scheme: str = "http", tls: ssl.SSLContext | None = None
    ) -> None:
        self.behaviour = behaviour
        self.scheme = scheme
        self.connections = 0
        self._tls = tls
        self._serving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def proxy(self, user: str = "", password: str = "") -> Proxy:
        """How to reach it."""
        return Proxy(scheme=self.scheme, host="127.0.0.1", port=self.port, user=user, password=password)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self.behaviour(reader, writer)
        finally:
            writer.close()


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Take everything and say nothing."""
    while await reader.read(65536):
        pass


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Close as soon as something is asked."""
    await reader.read(65536)


async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer without ever coming to an end, a byte now and then."""
    await reader.read(65536)
    for byte in b"HTTP/1.1 200 " + b"x" * 60_000:
        writer.write(bytes([byte]))
        await asyncio.sleep(0.01)


def say(*answers: bytes, then: Behaviour = hang) -> Behaviour:
    """Answer connections, in turn, with these bytes."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await reader.read(65536)
            writer.write(answer)
            await writer.drain()
        await then(reader, writer)

    return behave


class Forwarding:
    """An HTTP proxy that works, and keeps the header of each request that it got.

    ``source`` is the address that it asks from, ``site`` the port of the site that all hosts are.
    """

    def __init__(self, source: str | None = None, site: int | None = None) -> None:
        self.heads: list[str] = []
        self._source = (source, 0) if source else None
        self._site = site

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            method, target, _ = head.split(" ", 2)
            if method == "CONNECT":
                host, _, port = target.rpartition(":")
                await self._tunnel(reader, writer, host.strip("[]"), int(port))
                return
            body = await reader.readexactly(_length(head.encode()))
            await self._pass_on(method, target, head, body, writer)

    async def _pass_on(
        self, method: str, target: str, head: str, body: bytes, writer: asyncio.StreamWriter
    ) -> None:
        url = urlsplit(target)
        there, back = await self._connect(url.hostname or "", url.port or 80)
        try:
            path = urlunsplit(("", "", url.path or "/", url.query, ""))
            lines = [f"{method} {path} HTTP/1.1"]
            lines += [line for line in head.split("\r\n")[1:-2] if not line.startswith("Proxy-")]
            back.write("\r\n".join([*lines, "", ""]).encode() + body)
            answer = await there.readuntil(b"\r\n\r\n")
            writer.write(answer)
            writer.write(await there.readexactly(_length(answer)))
        finally:
            back.close()

    async def _connect(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._site is not None:
            host, port = "127.0.0.1", self._site
        return await asyncio.open_connection(host, port, local_addr=self._source)

    async def _tunnel(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int
    ) -> None:
        there, back = await self._connect(host, port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_copy(reader, back), _copy(there, writer))


def _length(head: bytes) -> int:
    """How long the body is."""
    found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    return int(found[1]) if found else 0


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # one side is gone
    finally:
        writer.close()


@contextmanager
def served_proxies(count: int) -> Iterator[list[FakeProxy]]:
    """Proxies that work, in a thread of their own."""
    loop, ready, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    proxies = [FakeProxy(Forwarding()) for _ in range(count)]

    async def serve() -> None:
        async with AsyncExitStack() as stack:
            for proxy in proxies:
                await stack.enter_async_context(proxy)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield proxies
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
        loop.close()
