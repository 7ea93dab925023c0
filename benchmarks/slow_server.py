"""A server of static files that takes 200 ms for every answer: ``slow_server.py FOLDER PORT LOG``.

nginx cannot wait. As little as HTTP/1.1 with keep-alive needs, so that it takes few of the cycles that
the crawler beside it is measured by. It logs like the benchmark's nginx: time, address, status, path.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import time
from pathlib import Path
from typing import TextIO

LATENCY_S = 0.2


class Connection(asyncio.Protocol):
    """One client; requests without bodies, one after the other."""

    def __init__(self, pages: dict[str, bytes], log: TextIO) -> None:
        self._pages, self._log = pages, log
        self._seen = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._seen += data
        while b"\r\n\r\n" in self._seen:
            head, _, self._seen = self._seen.partition(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode("latin-1")
            asyncio.get_running_loop().call_later(LATENCY_S, self._answer, path)

    def _answer(self, path: str) -> None:
        known = self._pages.get(path)
        status, body = ("200 OK", known) if known is not None else ("404 Not Found", b"none")
        kind = "text/plain" if path.endswith(".txt") else "text/html; charset=utf-8"
        if not self._transport.is_closing():
            head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
            self._transport.write(head.encode() + body)
            self._log.write(f"{time.time():.3f} 127.0.0.1 {status[:3]} {path}\n")


def load(folder: Path) -> dict[str, bytes]:
    """The site by path; it is small."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    pages = {f"/{file.relative_to(folder)}": file.read_bytes() for file in files}
    return pages | {"/": pages["/index.html"]}


async def main(folder: Path, port: int, log: TextIO) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    pages = load(folder)
    server = await loop.create_server(lambda: Connection(pages, log), "127.0.0.1", port, backlog=1024)
    while not ended.is_set():
        log.flush()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), 0.3)
    server.close()


if __name__ == "__main__":
    with Path(sys.argv[3]).open("a") as access_log:
        asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), access_log))
