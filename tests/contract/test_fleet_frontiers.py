"""Every frontier that a fleet can work on keeps every promise of the contract."""

from contextlib import asynccontextmanager

import pytest

from gossamer.drivers.redis.server import RedisServer
from gossamer.frontier.memory.frontier import MemoryFrontier
from gossamer.frontier.redis.frontier import RedisFrontier
from gossamer.testing.contracts.fleet_frontier import (
    FLEET_FRONTIER_CHECKS,
    FLEET_RULES,
    FleetFrontierSubject,
    check_fleet_frontier,
)
from kit.servers import on_servers


@asynccontextmanager
async def memory(clock):
    """What tests of fleets on virtual time stand on must keep the promise, too."""
    frontier = MemoryFrontier(FLEET_RULES, clock, seed=1)

    async def reopen():
        return frontier

    yield FleetFrontierSubject(frontier, reopen, clock)


def redis_at(url, shards):
    @asynccontextmanager
    async def make(clock):
        servers = []

        async def reopen():
            servers.append(RedisServer(url))
            return RedisFrontier(
                servers[-1], "job-1", FLEET_RULES, clock, shards=shards, uses_server_time=False, seed=1
            )

        try:
            frontier = await reopen()
            await frontier.create_shards()
            yield FleetFrontierSubject(frontier, reopen, clock)
        finally:
            for server in servers:
                await server.close()

    return make


@pytest.fixture(params=["memory", *on_servers("redis", "redis with 3 shards")])
def make(request):
    if request.param == "memory":
        return memory
    return redis_at(request.getfixturevalue("redis_url"), 3 if "shards" in request.param else 1)


@pytest.mark.parametrize("name", FLEET_FRONTIER_CHECKS)
async def test_contract(make, name):
    await FLEET_FRONTIER_CHECKS[name](make)


async def test_the_suite_runs_every_check():
    await check_fleet_frontier(memory)
    assert len(FLEET_FRONTIER_CHECKS) >= 3


async def test_the_suite_catches_a_frontier_that_does_everything_again():
    class Anxious(MemoryFrontier):
        async def redo_lost(self):
            return 2

    @asynccontextmanager
    async def anxious(clock):
        frontier = Anxious(FLEET_RULES, clock, seed=1)

        async def reopen():
            return frontier

        yield FleetFrontierSubject(frontier, reopen, clock)

    with pytest.raises(AssertionError, match="nothing was lost"):
        await FLEET_FRONTIER_CHECKS["nothing_is_redone_when_nothing_was_lost"](anxious)
