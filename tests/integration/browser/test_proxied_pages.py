"""Pages in a real Chromium through real proxies, which it could not all use by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from gossamer.fetch.browser.fetcher import BrowserFetcher
from gossamer.testing.badsite import BadSite
from gossamer.testing.contracts.proxied import PROXIED_CHECKS
from kit.browser_pages import open_fetcher
from kit.proxies import PROXIES

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fetcher() -> AsyncIterator[BrowserFetcher]:
    async with open_fetcher(timeout_s=20) as fetcher:
        yield fetcher


CHECKS = {
    "microsocks": (
        "one_who_is_let_in_lets_in_nobody_else",
        "a_host_that_is_not_there_is_no_fault_of_the_proxy",
    ),
    "squid": ("one_who_is_let_in_lets_in_nobody_else",),
}
"""A visit takes a second where the way is new, so these are few."""


@pytest.mark.parametrize("kind", CHECKS)
async def test_chromium_behind_a_proxy_with_a_password(fetcher: BrowserFetcher, kind: str) -> None:
    with PROXIES[kind]() as server:
        for name in CHECKS[kind]:
            async with BadSite() as site:
                await PROXIED_CHECKS[name](fetcher, site, server.proxy())
