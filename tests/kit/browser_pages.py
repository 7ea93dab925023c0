"""Pages for a real browser, and the fetcher that opens them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Container, Iterable
from contextlib import asynccontextmanager
from typing import Any

from gossamer.fetch.browser.fetcher import BrowserFetcher
from gossamer.fetch.browser.limits import BrowserOptions
from gossamer.fetch.browser.task import TaskOptions
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.sessions.cookies import CookieJar
from gossamer.ports.page_guide import PageGuide
from gossamer.runtime.clock import SystemClock
from gossamer.testing.contracts.fetcher import FETCHER_CHECKS
from kit.choosing import some_of

FULL = bool(os.environ.get("GOSSAMER_TEST_FULL"))
"""Whether everything is checked, at its full size (``make test-browser``)."""

TRUSTED = ("127.0.0.1", "localhost")


def answer(body: bytes | str, *headers: str, status: str = "200 OK", kind: str = "text/html") -> bytes:
    """An answer as it goes over the wire."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(data)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + data


def choose_checks(own_ways: Container[str], short: Iterable[str]) -> list[Any]:
    """Return the contract of fetchers without ``own_ways``; checks that are not in ``short`` are thorough."""
    return some_of((name for name in FETCHER_CHECKS if name not in own_ways), *short)


@asynccontextmanager
async def open_fetcher(
    cookies: CookieJar | None = None,
    guard: AddressGuard | None = None,
    guide: PageGuide | None = None,
    tasks: TaskOptions | None = None,
    **options: Any,
) -> AsyncIterator[BrowserFetcher]:
    """A fetcher with a browser of its own, which is closed at the end."""
    fetcher = BrowserFetcher(
        BrowserOptions(**({"is_sandboxed": os.geteuid() != 0, "user_agent": "gossamer-test"} | options)),
        clock=SystemClock(),
        guard=guard or AddressGuard(TRUSTED),
        cookies=CookieJar(100) if cookies is None else cookies,
        guide=guide,
        tasks=tasks,
    )
    try:
        yield fetcher
    finally:
        await fetcher.close()
