"""A server that says given bytes, and a fetcher for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.fetcher import HttpFetcher
from gossamer.fetch.http.limits import HttpOptions
from gossamer.testing.clock import ManualClock

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Raw:
    """A server that answers each path with given bytes, or ``OK``; records the requests."""

    def __init__(
        self,
        answers: dict[str, bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]],
        host: str = "127.0.0.1",
    ) -> None:
        self.answers = answers
        self.host = host
        self.heads: list[bytes] = []
        self.connections = 0
        self._serving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Raw:
        self._server = await asyncio.start_server(self._serve_request, self.host, 0)
        self.url = f"http://{self.host}:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                answer = self.answers.get(head.split()[1].decode(), OK)
                if isinstance(answer, bytes):
                    writer.write(answer)
                else:
                    await answer(writer)
                await writer.drain()
        writer.close()


def fetcher_with(**options: float) -> HttpFetcher:
    limits = HttpOptions(**({"headers_s": 2.0, "idle_s": 2.0, "body_s": 5.0} | options))
    return HttpFetcher(limits, clock=ManualClock(), guard=AddressGuard({"127.0.0.1"}))
