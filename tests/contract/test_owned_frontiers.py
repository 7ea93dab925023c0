"""Every frontier that several processes share keeps every promise of the contract about its owners."""

from contextlib import asynccontextmanager

import pytest

from gossamer.drivers.redis.server import RedisServer
from gossamer.drivers.sqlite.database import Database
from gossamer.frontier.memory.frontier import MemoryFrontier
from gossamer.frontier.redis.frontier import RedisFrontier
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.testing.contracts.owned_frontier import OWNED_FRONTIER_CHECKS, check_owned_frontier
from kit.servers import on_servers
from kit.virtual_fleet import OwnedFrontier


@asynccontextmanager
async def memory_of_a_fleet(rules, clock):
    """What tests of fleets on virtual time stand on must keep the promise, too."""
    frontier, owners = MemoryFrontier(rules, clock, seed=1), {}

    async def open_for(owner):
        return OwnedFrontier(frontier, owners, owner)

    yield open_for


def sqlite_in(folder):
    @asynccontextmanager
    async def make(rules, clock):
        opened = []

        async def open_for(owner):
            opened.append(Database(folder / "crawl.db"))
            # The same owner in another job of the same file must not be seen.
            other = SqliteFrontier(opened[-1], "other-1", rules, clock, owner=owner)
            assert (await other.read_stats()).hosts == 0
            return SqliteFrontier(opened[-1], "job-1", rules, clock, owner=owner, seed=1)

        try:
            yield open_for
        finally:
            for database in opened:
                database.close()

    return make


def redis_at(url, shards):
    @asynccontextmanager
    async def make(rules, clock):
        servers = []

        async def open_for(owner):
            servers.append(RedisServer(url))
            frontier = RedisFrontier(
                servers[-1], "job-1", rules, clock,
                owner=owner, shards=shards, uses_server_time=False, seed=1,
            )  # fmt: skip
            if len(servers) == 1:
                await frontier.delete_requests()
                await frontier.create_shards()
            return frontier

        try:
            yield open_for
        finally:
            for server in servers:
                await server.close()

    return make


@pytest.fixture(params=["memory of a fleet", "sqlite", *on_servers("redis", "redis with 3 shards")])
def make(request, tmp_path):
    if request.param == "memory of a fleet":
        return memory_of_a_fleet
    if request.param == "sqlite":
        return sqlite_in(tmp_path)
    return redis_at(request.getfixturevalue("redis_url"), 3 if "shards" in request.param else 1)


@pytest.mark.parametrize("name", OWNED_FRONTIER_CHECKS)
async def test_contract(make, name):
    await OWNED_FRONTIER_CHECKS[name](make)


async def test_the_suite_runs_every_check():
    await check_owned_frontier(memory_of_a_fleet)
    assert len(OWNED_FRONTIER_CHECKS) >= 5


async def test_the_suite_catches_a_frontier_that_takes_everything_back():
    class Greedy(OwnedFrontier):
        async def recover_leases(self, owner):
            return tuple(
                [lease for each in ("one", "two") for lease in await super(Greedy, self).recover_leases(each)]
            )

    @asynccontextmanager
    async def greedy(rules, clock):
        frontier, owners = MemoryFrontier(rules, clock), {}

        async def open_for(owner):
            return Greedy(frontier, owners, owner)

        yield open_for

    with pytest.raises(AssertionError, match="recover returns the leases"):
        await OWNED_FRONTIER_CHECKS["recover_takes_back_what_one_owner_held"](greedy)
