"""A crawl that begins waits for requests of crawls that are at work, and for none of one that was killed."""

from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from gossamer.config.settings import Settings
from gossamer.core.hosts import FrontierRules
from gossamer.testing.contracts.frontier_harness import TTL_S, make_entry
from gossamer.wiring.backends import open_backends

TARGETS = ("http://a.example/1", "http://a.example/2")
ONE_SLOT = FrontierRules(delay_s=0.0, per_host=1)
SPACED = FrontierRules(delay_s=60.0, per_host=1)


@asynccontextmanager
async def leased_by_another(folder, target, rules=ONE_SLOT):
    """Two jobs of one host: the first was alone and has a request in flight; that of TARGETS[0] begins."""
    backends = await open_backends(Settings(data=str(folder)), create=True)
    try:
        first, job = [await backends.book.create("shop", each) for each in (target, TARGETS[0])]
        frontier = backends.requests.open_frontier(first, rules)
        await frontier.add([make_entry(1)])
        assert await lease(frontier) == 1
        yield backends, job, backends.requests.open_frontier(job, ONE_SLOT)
    finally:
        await backends.close()


async def lease(frontier):
    return len((await frontier.lease("http", 1, TTL_S)).leases)


@pytest.mark.parametrize(
    ("target", "at_work", "leases"),
    [(TARGETS[1], (), 1), (TARGETS[1], TARGETS[1:], 0), (TARGETS[0], (), 1)],
    ids=["another target", "at work", "started over"],
)
async def test_whose_requests_are_waited_for(tmp_path, target, at_work, leases):
    async with leased_by_another(tmp_path, target) as (backends, job, ours), AsyncExitStack() as locked:
        for each in (TARGETS[0], *at_work):
            await locked.enter_async_context(backends.requests.lock_target(each))
        await backends.withdraw_claims(job)
        await ours.add([make_entry(1)])
        assert await lease(ours) == leases


async def test_the_delay_that_it_kept_is_not_over(tmp_path):
    async with leased_by_another(tmp_path, TARGETS[1], SPACED) as (backends, job, ours):
        await backends.withdraw_claims(job)
        await ours.add([make_entry(1)])
        assert await lease(ours) == 0
