"""What a server sees of ``impersonate`` is what it sees of the browsers of this machine.

Both talk to one server, which looks at the first bytes of TLS and of HTTP/2. The browser is not of the
version that wreq knows, so what is not equal is named here, and nothing else may differ.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from playwright.async_api import async_playwright

from gossamer.core.requests import Request
from gossamer.core.routes import Route
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.fetcher import HttpFetcher
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.impersonate.fetcher import ImpersonatingFetcher
from gossamer.testing.clock import ManualClock
from kit.tls_server import TlsAnswer, TlsHit, TlsServer

pytestmark = pytest.mark.server

OF_VERSIONS = {"user-agent", "sec-ch-ua", "accept"}
"""Headers that name the version, or (``accept``) what it can show: Chromium 156 added JPEG XL."""

REFRESH = b'<meta http-equiv="refresh" content="0; url=/second"><title>first</title>'


def answer(hit: TlsHit) -> TlsAnswer:
    """The first page sets a cookie and leads to the second."""
    if hit.path == "/first":
        return TlsAnswer(200, [("content-type", "text/html"), ("set-cookie", "a=1; Path=/")], REFRESH)
    return TlsAnswer()


async def visit_with_chromium(urls: list[str], folder: Path) -> None:
    executable = shutil.which("chromium")
    assert executable is not None, "Chromium is missing: scripts/servers.sh installs it"
    for url in urls:
        process = await asyncio.create_subprocess_exec(
            executable, "--headless=new", "--no-sandbox", "--ignore-certificate-errors",
            f"--user-data-dir={folder}", "--virtual-time-budget=3000", "--dump-dom", url,
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            async with asyncio.timeout(60):
                await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def visit_with_firefox(urls: list[str], folder: Path) -> None:
    executable = shutil.which("firefox-esr")
    assert executable is not None, "Firefox is missing: scripts/servers.sh installs it"
    async with async_playwright() as playwright:
        browser = await playwright.firefox.launch(channel="moz-firefox", executable_path=executable)
        for url in urls:
            context = await browser.new_context(ignore_https_errors=True)
            page = await context.new_page()
            await page.goto(url)
            await page.wait_for_url("**/second")
        await browser.close()


BROWSERS = {"chrome": visit_with_chromium, "firefox": visit_with_firefox}


async def visit_with_impersonate(server: TlsServer, family: str) -> None:
    """The same two pages; that the first one led to the second is for the crawl to say."""
    fetcher = ImpersonatingFetcher(
        HttpOptions(),
        clock=ManualClock(),
        profile=family,
        guard=AddressGuard(["localhost"]),
        authorities=server.authority_pem,
    )
    led = {"Referer": server.url("first"), "Sec-Fetch-Site": "same-origin"}
    for request in (Request(server.url("first")), Request(server.url("second"), headers=led)):
        await fetcher.fetch(request, Route(rung="impersonate"))
    await fetcher.close()


Hits = dict[str, TlsHit]


def hits_by_path(server: TlsServer) -> Hits:
    hits = {hit.path: hit for hit in server.hits}
    server.hits.clear()
    return hits


def told_headers(hit: TlsHit, *leave_out: str) -> list[tuple[str, str]]:
    """The header without what differs from version to version, in order."""
    kept = [(name, value) for name, value in hit.headers if name.lower() not in leave_out]
    return [(name, "*" if name.lower() in OF_VERSIONS else value) for name, value in kept]


@pytest.mark.long
@pytest.mark.parametrize("family", ["chrome", pytest.param("firefox", marks=pytest.mark.thorough)])
async def test_nothing_tells_it_from_the_browser(family, tmp_path):
    async with TlsServer(answer) as new, TlsServer(answer, protocols=("http/1.1",)) as old:
        await BROWSERS[family]([new.url("first"), old.url("first")], tmp_path)
        browser = [hits_by_path(new), hits_by_path(old)]
        await visit_with_impersonate(new, family)
        await visit_with_impersonate(old, family)
        ours = [hits_by_path(new), hits_by_path(old)]
    check_http2(browser[0], ours[0])
    check_http1(browser[1], ours[1])


def check_http2(browser: Hits, ours: Hits) -> None:
    for path in ("/first", "/second"):
        theirs, own = browser[path], ours[path]
        assert own.hello.ja4_parts == theirs.hello.ja4_parts
        assert own.hello.ja4 == theirs.hello.ja4
        assert own.hello.groups == theirs.hello.groups
        assert theirs.opening is not None
        assert own.opening is not None
        assert own.opening.akamai == theirs.opening.akamai
        assert own.opening.header_priority == theirs.opening.header_priority
    assert told_headers(ours["/first"]) == told_headers(browser["/first"])
    # Whether a person led it on, browsers say by rules of their own.
    aside = "sec-fetch-user"
    assert told_headers(ours["/second"], aside) == told_headers(browser["/second"], aside)


def check_http1(browser: Hits, ours: Hits) -> None:
    assert ours["/second"].hello.ja4 == browser["/second"].hello.ja4
    aside = "sec-fetch-user"
    assert told_headers(ours["/second"], aside) == told_headers(browser["/second"], aside)
    # The first request to a server is made as for HTTP/2.
    own = told_headers(ours["/first"], "priority", "te")
    theirs = told_headers(browser["/first"], "priority", "connection")
    assert [name.lower() for name, _ in own] == [name.lower() for name, _ in theirs]


async def test_a_server_that_admits_this_browser_only_admits_impersonate_and_refuses_plain_http(tmp_path):
    admitted: set[str] = set()
    async with TlsServer(admits=lambda hit: not admitted or hit.hello.ja4 in admitted) as server:
        await visit_with_chromium([server.url("first")], tmp_path)
        admitted.add(server.hits[0].hello.ja4)
        common = {"clock": ManualClock(), "guard": AddressGuard(["localhost"])}
        plain = HttpFetcher(HttpOptions(), tls=server.client_context(), **common)
        like_chrome = ImpersonatingFetcher(HttpOptions(), authorities=server.authority_pem, **common)
        statuses = [(await way.fetch(Request(server.url("page")))).status for way in (plain, like_chrome)]
        await plain.close()
        await like_chrome.close()
    assert statuses == [403, 200]
