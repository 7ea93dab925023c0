"""The router that climbs keeps every promise of the contract, on whatever its workers share."""

from contextlib import asynccontextmanager, closing
from dataclasses import replace

import pytest

from gossamer.drivers.redis.server import RedisServer
from gossamer.drivers.sqlite.database import Database
from gossamer.fetch.routing.ladder import LadderStore
from gossamer.fetch.routing.router import LadderRouter
from gossamer.policy.ladder import LadderRules
from gossamer.policy.rung_plan import RungPlan
from gossamer.shared.memory import MemorySharedState
from gossamer.shared.redis import RedisSharedState
from gossamer.shared.sqlite import SqliteSharedState
from gossamer.testing.contracts.router import ROUTER_CHECKS, RUNGS, RouterSubject, check_router
from kit.engine import Events
from kit.servers import on_servers


def routers_over(shared, clock):
    def open_router():
        store = LadderStore(shared, clock, remember_s=604_800.0)
        return LadderRouter(store, RungPlan(RUNGS), LadderRules(), clock, Events())

    return RouterSubject(open_router, clock)


@asynccontextmanager
async def memory(clock):
    yield routers_over(MemorySharedState(clock), clock)


def sqlite_in(folder):
    @asynccontextmanager
    async def make(clock):
        with closing(Database(folder / "x.db")) as db:
            yield routers_over(SqliteSharedState(db, clock), clock)

    return make


def redis_at(url):
    @asynccontextmanager
    async def make(clock):
        server = RedisServer(url)
        try:
            yield routers_over(RedisSharedState(server, clock), clock)
        finally:
            await server.close()

    return make


@pytest.fixture(params=["memory", "sqlite", *on_servers("redis")])
def make(request, tmp_path):
    if request.param == "memory":
        return memory
    if request.param == "sqlite":
        return sqlite_in(tmp_path)
    return redis_at(request.getfixturevalue("redis_url"))


@pytest.mark.parametrize("name", ROUTER_CHECKS)
async def test_contract(make, name):
    await ROUTER_CHECKS[name](make)


async def test_the_suite_runs_every_check():
    await check_router(memory)
    assert len(ROUTER_CHECKS) >= 9


async def test_the_suite_catches_a_router_that_keeps_what_it_learns_to_itself():
    @asynccontextmanager
    async def selfish(clock):
        async with memory(clock) as subject:
            yield replace(
                subject, open_router=lambda: routers_over(MemorySharedState(clock), clock).open_router()
            )

    with pytest.raises(AssertionError, match="the other worker knows"):
        await ROUTER_CHECKS["what_one_worker_learns_all_know"](selfish)
    with pytest.raises(AssertionError, match="what was learnt is kept"):
        await ROUTER_CHECKS["closing_twice_is_closing_once"](selfish)
