"""Every robots gate keeps every promise of the contract, on whatever its workers share."""

from contextlib import asynccontextmanager, closing, suppress
from dataclasses import replace

import pytest

from gossamer.core.errors import FetchError
from gossamer.core.results import RobotsDecision
from gossamer.drivers.redis.server import RedisServer
from gossamer.drivers.sqlite.database import Database
from gossamer.fetch.robots_cache import RobotsCache
from gossamer.shared.memory import MemorySharedState
from gossamer.shared.redis import RedisSharedState
from gossamer.shared.sqlite import SqliteSharedState
from gossamer.testing.contracts.robots_gate import (
    ROBOTS_GATE_CHECKS,
    RobotsSite,
    RobotsSubject,
    check_robots_gate,
)
from kit.servers import on_servers

AGENT = "gossamer/1.0"


def gates_over(shared, clock):
    site = RobotsSite(clock)
    gates = [RobotsCache(site, shared, clock, user_agent=AGENT) for _ in range(2)]
    return RobotsSubject(*gates, site, clock)


@asynccontextmanager
async def memory(clock):
    yield gates_over(MemorySharedState(clock), clock)


def sqlite_in(folder):
    @asynccontextmanager
    async def make(clock):
        with closing(Database(folder / "x.db")) as db:
            yield gates_over(SqliteSharedState(db, clock), clock)

    return make


def redis_at(url):
    @asynccontextmanager
    async def make(clock):
        server = RedisServer(url)
        try:
            yield gates_over(RedisSharedState(server, clock), clock)
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


@pytest.mark.parametrize("name", ROBOTS_GATE_CHECKS)
async def test_contract(make, name):
    await ROBOTS_GATE_CHECKS[name](make)


async def test_the_suite_runs_every_check():
    await check_robots_gate(memory)
    assert len(ROBOTS_GATE_CHECKS) >= 10


async def test_the_suite_catches_a_gate_that_opens_when_nobody_answers():
    class Lenient:
        def __init__(self, site):
            self.site = site

        async def check_request(self, request, route=None):
            with suppress(FetchError):
                await self.site.fetch(robots_request(request))
            return RobotsDecision(allowed=True)

    def robots_request(request):
        return request.replace(url=f"{request.url.rsplit('/', 1)[0]}/robots.txt")

    @asynccontextmanager
    async def lenient(clock):
        async with memory(clock) as subject:
            gate = Lenient(subject.site)
            yield replace(subject, gate=gate, other=gate)

    with pytest.raises(AssertionError, match="nothing may be fetched"):
        await ROBOTS_GATE_CHECKS["an_unreachable_file_closes_its_origin"](lenient)
    with pytest.raises(AssertionError, match="one fetch"):
        await ROBOTS_GATE_CHECKS["the_file_is_fetched_once"](lenient)
