"""Every kind of shared state keeps every promise of the contract."""

import asyncio
from contextlib import asynccontextmanager, closing

import pytest

from gossamer.core.errors import StorageError
from gossamer.drivers.redis.server import RedisServer
from gossamer.drivers.sqlite.database import Database
from gossamer.shared import redis as module
from gossamer.shared.memory import MemorySharedState
from gossamer.shared.redis import RedisSharedState
from gossamer.shared.sqlite import SqliteSharedState
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.shared_state import (
    SHARED_STATE_CHECKS,
    SharedStateSubject,
    check_shared_state,
)
from kit.servers import on_servers


@asynccontextmanager
async def memory(clock):
    shared = MemorySharedState(clock)
    yield SharedStateSubject(shared, shared, clock)


def sqlite_in(folder):
    @asynccontextmanager
    async def make(clock):
        with closing(Database(folder / "x.db")) as one, closing(Database(folder / "x.db")) as other:
            states = [SqliteSharedState(db, clock) for db in (one, other)]
            yield SharedStateSubject(*states, clock)

    return make


def redis_at(url):
    @asynccontextmanager
    async def make(clock):
        servers = [RedisServer(url), RedisServer(url)]
        try:
            states = [RedisSharedState(server, clock) for server in servers]
            yield SharedStateSubject(*states, clock)
        finally:
            for server in servers:
                await server.close()

    return make


@pytest.fixture(params=["memory", "sqlite", *on_servers("redis")])
def make(request, tmp_path):
    if request.param == "memory":
        return memory
    return (
        sqlite_in(tmp_path) if request.param == "sqlite" else redis_at(request.getfixturevalue("redis_url"))
    )


@pytest.mark.parametrize("name", SHARED_STATE_CHECKS)
async def test_contract(make, name):
    await SHARED_STATE_CHECKS[name](make)


async def test_the_suite_runs_every_check():
    await check_shared_state(memory)
    assert len(SHARED_STATE_CHECKS) >= 7


async def test_the_suite_catches_updates_that_overwrite_one_another():
    class Careless(MemorySharedState):
        async def update(self, space, key, change, ttl_s):
            value = change(await self.get(space, key))
            await asyncio.sleep(0)
            await self.put(space, key, value, ttl_s)
            return value

    @asynccontextmanager
    async def careless(clock):
        shared = Careless(clock)
        yield SharedStateSubject(shared, shared, clock)

    with pytest.raises(AssertionError, match="every change is in the value"):
        await SHARED_STATE_CHECKS["no_update_is_lost"](careless)


async def test_an_update_that_others_always_overtake_ends(redis_url, monkeypatch):
    monkeypatch.setattr(module, "MAX_ATTEMPTS", 3)
    server = RedisServer(redis_url)
    shared = RedisSharedState(server, ManualClock())

    async def overtaken(*_):
        return False

    monkeypatch.setattr(shared, "compare_and_swap", overtaken)
    with pytest.raises(StorageError, match=r"proxies 'k'.*3 times in a row"):
        await shared.update("proxies", "k", lambda _: b"v", 10)
    assert await shared.get("proxies", "k") is None
    await server.close()
