"""Every kind of shared state keeps every promise of the contract."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from gossamer.core.errors import StorageError
from gossamer.drivers.redis.server import RedisServer
from gossamer.shared import redis as module
from gossamer.shared.memory import MemorySharedState
from gossamer.shared.redis import RedisSharedState
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.shared_state import (
    SHARED_STATE_CHECKS,
    SharedStateSubject,
    check_shared_state,
)
from kit.shared_states import KINDS, find_states, open_memory


@asynccontextmanager
async def memory(clock):
    async with open_memory(clock) as states:
        yield SharedStateSubject(*states, clock)


@pytest.fixture(params=KINDS)
def make(request, tmp_path):
    open_states = find_states(request, tmp_path)

    @asynccontextmanager
    async def make(clock):
        async with open_states(clock) as states:
            yield SharedStateSubject(*states, clock)

    return make


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
