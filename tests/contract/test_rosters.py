"""Every roster keeps every promise of the contract."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from gossamer.core.errors import StorageError
from gossamer.core.shifts import EndReason, JobSample
from gossamer.roster.memory import MemoryRoster
from gossamer.runtime.clock import SystemClock
from gossamer.testing.contracts.roster import ROSTER_CHECKS, RosterSubject, check_roster
from gossamer.testing.contracts.roster_harness import EXPIRES_S, make_card, make_end, make_shift


@asynccontextmanager
async def memory(clock):
    roster = MemoryRoster(clock)

    async def lose_everything():
        MemoryRoster.__init__(roster, clock)

    yield RosterSubject(roster, lose_everything, clock)


def redis_at(url):
    from gossamer.drivers.redis.server import RedisServer
    from gossamer.roster.redis import RedisRoster

    @asynccontextmanager
    async def make(clock):
        server = RedisServer(url)

        async def lose_everything():
            await server.client.flushdb()

        try:
            await RedisRoster(server, "other", clock, uses_server_time=False).record_heartbeat(
                make_card("other"), []
            )
            roster = RedisRoster(server, "fleet", clock, uses_server_time=False)
            yield RosterSubject(roster, lose_everything, clock)
            await server.client.script_flush()
        finally:
            await server.close()

    return make


@pytest.mark.parametrize("name", ROSTER_CHECKS)
async def test_contract_in_memory(name):
    await ROSTER_CHECKS[name](memory)


@pytest.mark.parametrize("name", ROSTER_CHECKS)
async def test_contract_in_redis(name, redis_url):
    await ROSTER_CHECKS[name](redis_at(redis_url))


async def test_the_suite_runs_every_check():
    await check_roster(memory)
    assert len(ROSTER_CHECKS) > 20


@pytest.fixture
async def roster(redis_url):
    """A roster as in production: by the server's time."""
    from gossamer.drivers.redis.server import RedisServer
    from gossamer.roster.redis import RedisRoster

    server = RedisServer(redis_url)
    try:
        yield RedisRoster(server, "fleet", SystemClock())
    finally:
        await server.close()


async def test_a_roster_in_redis_goes_by_the_time_of_the_server(roster):
    before = SystemClock().now()
    view = await roster.read_roster()
    assert abs(view.at - before) < 5.0
    token = await roster.claim_leadership("s", 5.0)
    assert token is not None
    assert await roster.request_shifts(
        [make_shift(view.at, "a"), make_shift(view.at - EXPIRES_S, "late")], {}, token
    )
    begun = await roster.begin_shift("a", "w1")
    assert begun is not None
    assert abs(begun.began_at - before) < 5.0
    assert await roster.begin_shift("late", "w1") is None


async def test_a_roster_in_redis_hears_the_bell_at_once(roster):
    waiting = asyncio.create_task(roster.wait_for_notification(10.0))
    other = asyncio.create_task(roster.wait_for_notification(0.01))
    assert await other is False
    await roster.notify_supervisor()
    assert await asyncio.wait_for(waiting, 5.0) is True


async def test_what_a_roster_keeps_in_redis_has_bounds(roster):
    """However many shifts come and go."""
    token = await roster.claim_leadership("s", 60.0)
    at = (await roster.read_roster()).at
    for number in range(300):
        assert await roster.request_shifts([make_shift(at + 60, f"s{number}")], {}, token)
        begun = await roster.begin_shift(f"s{number}", "w1")
        await roster.end_shifts([make_end(begun, EndReason.TIME, pages=1)])
        await roster.notify_supervisor()
        await roster.add_sample("j-1", JobSample(at=at, pages=number))
    client, key = roster._server.client, roster._key
    assert await client.hlen(f"{key}:shifts") == 0
    assert await client.llen(f"{key}:ends") == 100
    assert await client.llen(f"{key}:bell") == 1
    assert await client.hlen(f"{key}:standings") == 1
    assert await client.memory_usage(f"{key}:samples") < 10_000


async def test_a_redis_that_is_gone_is_a_storage_error():
    from gossamer.drivers.redis.server import RedisServer
    from gossamer.roster.redis import RedisRoster

    server = RedisServer("redis://:secret@127.0.0.1:1/0")
    roster = RedisRoster(server, "fleet", SystemClock())
    for call in (roster.claim_leadership("s", 5.0), roster.wait_for_notification(0.1), roster.read_roster()):
        with pytest.raises(StorageError) as caught:
            await call
        assert "127.0.0.1:1" in str(caught.value)
        assert "secret" not in str(caught.value)
    await server.close()
