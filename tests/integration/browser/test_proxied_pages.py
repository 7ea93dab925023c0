"""Pages in real browsers through real proxies, which they could not all use by themselves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.core.routes import Route
from gossamer.fetch.browser.fetcher import BrowserFetcher
from gossamer.testing.badsite import BadSite
from gossamer.testing.contracts.proxied import PROXIED_CHECKS
from kit.browser_pages import open_fetcher
from kit.choosing import some_of
from kit.fake_proxy import FakeProxy, Forwarding, say
from kit.proxies import PASSWORD, PROXIES
from kit.tls_server import TlsServer

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(
    scope="module", loop_scope="module", params=some_of(["chromium", "firefox"], "chromium")
)
async def fetcher(request: pytest.FixtureRequest) -> AsyncIterator[BrowserFetcher]:
    options = {"kind": request.param, "insecure_hosts": frozenset({"localhost"})}
    async with open_fetcher(timeout_s=20, **options) as fetcher:
        yield fetcher


CHECKS = {
    "microsocks": (
        "one_who_is_let_in_lets_in_nobody_else",
        "a_host_that_is_not_there_is_no_fault_of_the_proxy",
    ),
    "squid": ("one_who_is_let_in_lets_in_nobody_else",),
}
"""A visit takes a second where the way is new, so these are few."""


@pytest.mark.long
@pytest.mark.parametrize("kind", CHECKS)
async def test_behind_a_proxy_with_a_password(fetcher: BrowserFetcher, kind: str) -> None:
    with PROXIES[kind]() as server:
        for name in CHECKS[kind]:
            async with BadSite() as site:
                await PROXIED_CHECKS[name](fetcher, site, server.proxy())


@pytest.mark.long
@pytest.mark.parametrize("kind", CHECKS)
async def test_certificates_are_checked_behind_a_proxy_too(fetcher: BrowserFetcher, kind: str) -> None:
    with PROXIES[kind]() as server:
        route = Route(proxy=server.proxy())
        async with TlsServer() as site:
            unchecked = await fetcher.fetch(Request(site.url("a")), route)
            with pytest.raises(FetchError) as caught:
                await fetcher.fetch(Request(site.url("a", host="127.0.0.1")), route)
    assert (unchecked.status, unchecked.proxy) == (200, server.proxy().name)
    assert caught.value.fault is Fault.TLS
    assert PASSWORD not in f"{caught.value!r} {caught.value.detail}"


@pytest.mark.long
async def test_a_proxy_that_makes_no_connection_any_more_says_so(fetcher: BrowserFetcher) -> None:
    """It has worked before: then the host may be down, and the page is tried through another one."""
    works = Forwarding()

    async def fail_from_the_second_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answer = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
        await (say(answer) if works.heads else works)(reader, writer)

    async with BadSite() as site, FakeProxy(fail_from_the_second_on) as fake:
        route = Route(proxy=fake.proxy())
        await fetcher.fetch(Request(site.url("a")), route)
        with pytest.raises(FetchError) as caught:
            await fetcher.fetch(Request(site.url("a").replace("127.0.0.1", "localhost")), route)
    assert (caught.value.fault, caught.value.status) == (Fault.CONNECT, 503)
    assert caught.value.is_unclear
