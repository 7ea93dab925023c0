"""Every fetcher of the network keeps the shipped contract."""

from __future__ import annotations

import pytest

from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.fetcher import HttpFetcher
from gossamer.fetch.http.limits import HttpOptions
from gossamer.ports.fetcher import Fetcher
from gossamer.testing.badsite import BadSite
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.fetcher import FETCHER_CHECKS, LIMITS, check_fetcher


def http() -> Fetcher:
    options = HttpOptions(user_agent="gossamer-test", **LIMITS)
    return HttpFetcher(options, clock=ManualClock(), guard=AddressGuard({"127.0.0.1", "localhost"}))


@pytest.mark.parametrize("name", FETCHER_CHECKS)
async def test_http_fetcher(name: str) -> None:
    async with BadSite() as site:
        fetcher = http()
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
