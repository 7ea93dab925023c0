"""Every fetcher of the network keeps the shipped contract."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gossamer.fetch.gateway.fetcher import GatewayFetcher
from gossamer.fetch.gateway.gateway import Gateway, GatewayAccount, NoCookieStore
from gossamer.fetch.gateway.template import TEMPLATES
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.fetcher import HttpFetcher
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.impersonate.fetcher import ImpersonatingFetcher
from gossamer.fetch.sessions.cookies import CookieJar
from gossamer.ports.fetcher import Fetcher
from gossamer.testing.badsite import BadSite
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.fetcher import FETCHER_CHECKS, LIMITS, check_fetcher
from kit.gateway import BillingGateway

pytestmark = pytest.mark.slow


def http() -> Fetcher:
    options = HttpOptions(user_agent="gossamer-test", **LIMITS)
    return HttpFetcher(options, clock=ManualClock(), guard=AddressGuard({"127.0.0.1", "localhost"}))


def impersonating() -> Fetcher:
    options = HttpOptions(**LIMITS)
    guard = AddressGuard({"127.0.0.1", "localhost"})
    return ImpersonatingFetcher(options, clock=ManualClock(), guard=guard)


@pytest.mark.parametrize("name", FETCHER_CHECKS)
async def test_impersonating_fetcher(name: str) -> None:
    async with BadSite() as site:
        fetcher = impersonating()
        try:
            await FETCHER_CHECKS[name](fetcher, site)
        finally:
            await fetcher.close()


@pytest.mark.parametrize("name", FETCHER_CHECKS)
async def test_http_fetcher(name: str) -> None:
    async with BadSite() as site:
        fetcher = http()
        try:
            await FETCHER_CHECKS[name](fetcher, site)
        finally:
            await fetcher.close()


BY_GATEWAY = (
    *[("zyte", name) for name in ("good_page", "methods", "headers", "redirects_are_returned", "concurrent")],
    *[("scraperapi", name) for name in ("good_page", "redirects_are_returned", "cookies", "concurrent")],
    *[("zyte", name) for name in ("bad_urls", "failures_say_their_rung", "private_is_refused")],
    ("zyte", "close_is_idempotent"),
)
"""What a gateway is to keep; how it talks to the site is its own business."""


@pytest.mark.parametrize(("template", "name"), BY_GATEWAY)
async def test_gateway_fetcher(template: str, name: str) -> None:
    async with BadSite() as site, BillingGateway({"k": 1000}) as gateway:
        url = TEMPLATES[template].url.replace("https://api.scraperapi.com", gateway.url)
        url = url.replace("https://api.zyte.com", gateway.url)
        account = GatewayAccount(name="one", template=replace(TEMPLATES[template], url=url), key="k")
        options, trusted = HttpOptions(**LIMITS), AddressGuard({"127.0.0.1", "localhost"})
        client = HttpFetcher(options, clock=ManualClock(), guard=trusted, cookies=NoCookieStore())
        fetcher = GatewayFetcher(
            lambda _: Gateway(account, client, ManualClock()),
            clock=ManualClock(),
            guard=trusted,
            cookies=CookieJar(100),
            max_body_bytes=options.max_body_bytes,
        )
        try:
            await FETCHER_CHECKS[name](fetcher, site)
        finally:
            await fetcher.close()


async def test_the_contract_notices_a_fetcher_that_fails() -> None:
    class Deaf:
        touches_network = True

        async def fetch(self, request, route=None):
            from gossamer.core.errors import Fault, FetchError

            raise FetchError(Fault.CONNECT)

        async def close(self):
            pass

    with pytest.raises(Exception, match="connect"):
        await check_fetcher(Deaf)
