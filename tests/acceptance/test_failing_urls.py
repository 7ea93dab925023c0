"""Sites some of whose URLs always fail, over a real network: good pages arrive soon, bad ones are letters.

On virtual time, with all orders of the URLs: tests/unit/engine/test_pages_that_always_fail.py.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from gossamer import Spider, crawl
from kit.hostile.inside import SILENT
from kit.programs import rows

GOOD, BAD = 60, 3
HANG_S = 5.0
SETTINGS: dict[str, Any] = {"robots": False, "min_delay": 0.1, "retry_backoff": 0.3}
SHORT = {"http.connect_timeout": 0.3, "http.headers_timeout": 0.3, "http.total_timeout": 0.4}
"""For URLs that hang; the impersonate rung has one time for connecting and the header."""
SLACK_S = 3.0
"""On a busy machine answers are late, and the delay follows them. Virtual time holds the exact bound."""
REASONS = {
    "503": {"throttled"},
    "429": {"throttled"},
    "500": {"server"},
    "reset": {"connect", "protocol", "incomplete"},
    "timeout": {"timeout_headers", "timeout_body"},
    "drip": {"timeout_headers", "timeout_body"},
}


class FailingSite:
    """Pages below ``/good``, and URLs below ``/bad`` that always fail in one way."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.arrived: dict[str, float] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
                if "/bad" in path:
                    await self.fail(writer)
                    return
                await self.answer(writer, 200, f"<title>{path}</title>")
                self.arrived.setdefault(path, time.monotonic())
        writer.close()

    async def answer(self, writer: asyncio.StreamWriter, status: int, text: str) -> None:
        head = f"HTTP/1.1 {status} X\r\nContent-Type: text/html\r\nContent-Length: {len(text)}\r\n\r\n"
        writer.write(f"{head}{text}".encode())
        await writer.drain()

    async def fail(self, writer: asyncio.StreamWriter) -> None:
        if self.kind.isdigit():
            await self.answer(writer, int(self.kind), "no")
            writer.close()
        elif self.kind == "reset":
            writer.transport.abort()
        elif self.kind == "timeout":
            await asyncio.sleep(HANG_S)
            writer.close()
        else:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9999\r\n\r\n")
            for _ in range(int(HANG_S / 0.1)):
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.1)
            writer.close()


@asynccontextmanager
async def serving(kind: str) -> AsyncIterator[tuple[FailingSite, str]]:
    site = FailingSite(kind)
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    try:
        yield site, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def look_at(self: Spider, response: Any) -> None:
    """A page without items."""


async def good_pages_s(folder: Path, kind: str, rung: str) -> float:
    """How long a crawl takes until all good pages have arrived; every bad URL is a dead letter then."""
    async with serving(kind) as (site, base):
        urls = [f"{base}/good/{number}" for number in range(GOOD)]
        failing = [f"{base}/bad/{number}" for number in range(BAD if kind else 0)]
        for number, url in enumerate(failing):
            urls.insert(5 + number * GOOD // BAD, url)
        settings = SETTINGS | (SHORT if kind in ("timeout", "drip") else {})
        spider = type("Failing", (Spider,), {"name": "failing", "start_urls": urls, "parse": look_at})
        began = time.monotonic()
        await crawl(spider, sinks=SILENT, data=str(folder), fetch=rung, **settings)
        dead = dict(rows(folder, "select url, reason from attempt where verdict = 'dead'"))
    assert set(dead) == set(failing)
    assert set(dead.values()) <= REASONS.get(kind, set())
    assert len(site.arrived) == GOOD
    return max(site.arrived.values()) - began


@pytest.mark.slow
@pytest.mark.parametrize("rung", ["http", pytest.param("impersonate", marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    "kind", ["503", *(pytest.param(kind, marks=pytest.mark.thorough) for kind in REASONS if kind != "503")]
)
async def test_good_pages_arrive_within_twice_the_time(tmp_path: Path, kind: str, rung: str) -> None:
    plain_s = await good_pages_s(tmp_path / "plain", "", rung)
    assert await good_pages_s(tmp_path / "failing", kind, rung) <= 2 * plain_s + SLACK_S
