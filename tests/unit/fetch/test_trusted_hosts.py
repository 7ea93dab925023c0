"""What one worker's spider named may be fetched by every other, and nothing else."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gossamer.core.errors import Fault, FetchError
from gossamer.core.jobs import Job
from gossamer.core.requests import Request
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.trusted_hosts import TrustedHosts, TrustingFetcher
from gossamer.shared.memory import MemorySharedState
from gossamer.testing.clock import ManualClock

SHOP = Job(id="shop-1", name="shop", target="shop", created_at=0.0, key=b"random")


class Guarded:
    """A fetcher that its guard lets nowhere but to hosts that were named."""

    touches_network = True

    def __init__(self, guard, fault=Fault.GUARD):
        self.guard, self.fault = guard, fault
        self.tries = 0
        self.closed = False

    async def fetch(self, request, route=None):
        self.tries += 1
        if not self.guard.is_trusted("10.0.0.1", 80):
            raise FetchError(self.fault, "a private address")
        return "fetched"

    async def close(self):
        self.closed = True


@pytest.fixture
def shared():
    return MemorySharedState(ManualClock())


async def test_a_host_that_was_named_elsewhere_is_fetched(shared):
    guard = AddressGuard(())
    inner = Guarded(guard)
    fetcher = TrustingFetcher(inner, guard, TrustedHosts(shared, SHOP))
    with pytest.raises(FetchError):
        await fetcher.fetch(Request("http://10.0.0.1/"))
    await TrustedHosts(shared, SHOP).trust_place("10.0.0.1:80")
    assert await fetcher.fetch(Request("http://10.0.0.1/")) == "fetched"
    assert inner.tries == 3
    await fetcher.close()
    assert inner.closed


async def test_a_neighbouring_port_was_not_named(shared):
    guard = AddressGuard(())
    fetcher = TrustingFetcher(Guarded(guard), guard, TrustedHosts(shared, SHOP))
    await TrustedHosts(shared, SHOP).trust_place("10.0.0.1:80")
    with pytest.raises(FetchError):
        await fetcher.fetch(Request("http://10.0.0.1:8080/"))


async def test_only_for_the_job_that_named_it_and_only_what_the_guard_refused(shared):
    await TrustedHosts(shared, SHOP).trust_place("10.0.0.1:80")
    for job, fault in (
        (replace(SHOP, id="shop-2"), Fault.GUARD),
        (replace(SHOP, key=b"of another store"), Fault.GUARD),
        (SHOP, Fault.CONNECT),
    ):
        guard = AddressGuard(())
        inner = Guarded(guard, fault)
        with pytest.raises(FetchError):
            await TrustingFetcher(inner, guard, TrustedHosts(shared, job)).fetch(Request("http://10.0.0.1/"))
        assert (inner.tries, guard.is_trusted("10.0.0.1", 80)) == (1, False)
