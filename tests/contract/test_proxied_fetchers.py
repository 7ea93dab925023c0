"""Fetchers keep their contract through real proxies, which let nobody in without a password."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gossamer.core.errors import Fault
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import DIRECT, Proxy, Route
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.fetcher import HttpFetcher
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.impersonate.fetcher import ImpersonatingFetcher
from gossamer.testing.badroutes import PAGE
from gossamer.testing.badsite import BadSite
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.fetcher import FETCHER_CHECKS, LIMITS, try_fetch
from gossamer.testing.contracts.proxied import PROXIED_CHECKS
from kit.proxies import PROXIES, ProxyProcess

pytestmark = pytest.mark.server

SENT_ON = (
    *("good_page", "methods", "headers", "redirects_are_returned", "cookies", "bad_urls"),
    *("failures_say_their_rung", "private_is_refused", "concurrent", "close_is_idempotent"),
)
"""What holds through an HTTP proxy, too: it has connections of its own, and puts headers in order."""
ODD_SITES = (
    *(
        "short_body",
        "two_answers",
        "truncated_chunked",
        "bad_length",
        "junk",
        "http_09",
        "cut_header",
        "reset",
    ),
    *("reset_body", "hang_up", "close_idle", "switching", "early_answer", "http_999", "many_cookies"),
    *(
        "giant_header",
        "many_headers",
        "nul_header",
        "folded_header",
        "endless_body",
        "gzip_bomb",
        "no_answer",
    ),
)
HELD_UP = {"unsent_is_not_reused"}
"""Microsocks passes on one direction at a time: no answer comes while an upload is stuck."""


@pytest.fixture(scope="module", params=PROXIES)
def server(request: pytest.FixtureRequest) -> Iterator[ProxyProcess]:
    with PROXIES[request.param]() as server:
        yield server


@pytest.fixture(scope="module")
def microsocks() -> Iterator[ProxyProcess]:
    with PROXIES["microsocks"]() as server:
        yield server


def http() -> HttpFetcher:
    limits = LIMITS | {"connect_s": 3.0, "headers_s": 1.0}  # proxies take a while, too
    options = HttpOptions(user_agent="gossamer-test", **limits)
    return HttpFetcher(options, clock=ManualClock(), guard=AddressGuard({"127.0.0.1", "localhost"}))


class ProxiedFetcher:
    """A fetcher that sends everything through one proxy."""

    touches_network = True

    def __init__(self, proxy: Proxy) -> None:
        self._inner = http()
        self._route = Route(proxy=proxy)

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        return await self._inner.fetch(request, self._route)

    async def close(self) -> None:
        await self._inner.close()


@pytest.mark.parametrize("name", PROXIED_CHECKS)
async def test_http(server: ProxyProcess, name: str) -> None:
    async with BadSite() as site:
        fetcher = http()
        try:
            await PROXIED_CHECKS[name](fetcher, site, server.proxy())
        finally:
            await fetcher.close()


@pytest.mark.parametrize("name", PROXIED_CHECKS)
async def test_impersonate(server: ProxyProcess, name: str) -> None:
    async with BadSite() as site:
        limits = HttpOptions(**LIMITS | {"connect_s": 3.0, "headers_s": 1.0})
        guard = AddressGuard({"127.0.0.1", "localhost"})
        fetcher = ImpersonatingFetcher(limits, clock=ManualClock(), guard=guard)
        try:
            await PROXIED_CHECKS[name](fetcher, site, server.proxy())
        finally:
            await fetcher.close()


@pytest.mark.parametrize("name", sorted(FETCHER_CHECKS.keys() - HELD_UP))
async def test_a_tunnel_changes_nothing(microsocks: ProxyProcess, name: str) -> None:
    async with BadSite() as site:
        fetcher = ProxiedFetcher(microsocks.proxy())
        try:
            await FETCHER_CHECKS[name](fetcher, site)
        finally:
            await fetcher.close()


@pytest.mark.parametrize("name", SENT_ON)
async def test_requests_are_sent_on(server: ProxyProcess, name: str) -> None:
    async with BadSite() as site:
        fetcher = ProxiedFetcher(server.proxy())
        try:
            await FETCHER_CHECKS[name](fetcher, site)
        finally:
            await fetcher.close()


async def test_no_misbehaviour_of_a_site_is_put_down_to_the_proxy(server: ProxyProcess) -> None:
    """Each ends in bounded time, and the page after it is whole."""
    async with BadSite() as site:
        fetcher = ProxiedFetcher(server.proxy())
        for name in ODD_SITES:
            good = await try_fetch(fetcher, Request(site.url("good")))
            assert isinstance(good, FetchResult), f"before {name}: {good}"
            assert good.body == PAGE
            assert await try_fetch(fetcher, Request(site.url(name))) is not Fault.PROXY, name
        await fetcher.close()
