"""The order of requests of one host, against a plain sorted list, for priorities of any size."""

import asyncio
import itertools
from contextlib import asynccontextmanager, closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.core.hosts import FrontierRules, HostSignal
from gossamer.core.requests import FARTHEST
from gossamer.core.results import Verdict
from gossamer.drivers.redis.server import RedisServer
from gossamer.drivers.sqlite.database import Database
from gossamer.frontier.memory.frontier import MemoryFrontier
from gossamer.frontier.redis.frontier import RedisFrontier
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.frontier_harness import fingerprints_of, make_entry, make_outcome
from kit.servers import on_servers

EASY = FrontierRules(delay_s=0.0, per_host=1000)
NEAR = 2**50
"""Up to here no two are clamped to the same rank."""

priorities_ = st.integers(-6, 6) | st.sampled_from([1000, 1001, -1000]) | st.integers(-NEAR, NEAR)
steps_ = st.lists(
    st.lists(priorities_, max_size=12)
    | st.tuples(st.integers(1, 9), st.sampled_from(["done", "release", "retry"])),
    min_size=2,
    max_size=12,
)


@pytest.fixture(params=["memory", "sqlite", *on_servers("redis")])
def open_frontier(request, tmp_path):
    """The frontier of a new job, as a context."""
    numbers = itertools.count()
    url = request.getfixturevalue("redis_url") if request.param == "redis" else ""

    @asynccontextmanager
    async def open_it(clock):
        job = f"order-{next(numbers)}"
        if request.param == "memory":
            yield MemoryFrontier(EASY, clock)
        elif request.param == "sqlite":
            with closing(Database(tmp_path / f"{job}.db")) as db:
                yield SqliteFrontier(db, job, EASY, clock)
        else:
            server = RedisServer(url)
            frontier = RedisFrontier(server, job, EASY, clock, uses_server_time=False)
            await frontier.delete_requests()
            await frontier.create_shards()
            yield frontier
            await server.close()

    return open_it


async def compare(open_frontier, steps):
    clock = ManualClock()
    async with open_frontier(clock) as frontier:
        waiting, number = [], 0  # (-priority, number), as a plain list
        for step in steps:
            if isinstance(step, list):
                new = [(-priority, number + at) for at, priority in enumerate(step)]
                await frontier.add([make_entry(n, priority=-rank) for rank, n in new])
                waiting, number = sorted(waiting + new), number + len(new)
            else:
                size, end = step
                leases = (await frontier.lease("http", size, 60.0)).leases
                assert fingerprints_of(leases) == [n for _, n in waiting[:size]]
                await give_back(frontier, leases, end, clock.now())
                waiting = waiting[size:] if end == "done" else waiting
                clock.advance(1.0)
        rest = (await frontier.lease("http", len(waiting) + 1, 60.0)).leases
        assert fingerprints_of(rest) == [n for _, n in waiting]


async def give_back(frontier, leases, end, now):
    if end == "release":
        await frontier.release(leases, [HostSignal()] * len(leases))
    else:
        verdict = Verdict.SUCCESS if end == "done" else Verdict.RETRY
        assert all(await frontier.settle([make_outcome(one, verdict, now, due_at=now) for one in leases]))


@pytest.mark.slow
@given(steps=steps_)
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_requests_go_by_priority_then_by_arrival(open_frontier, steps):
    asyncio.run(compare(open_frontier, steps))


def test_what_is_farther_still_is_taken_in(open_frontier):
    """It is clamped: the last two of each end are in the order of their arrival."""

    async def far():
        priorities = (0, FARTHEST - 9, 10**30, 10**31, -FARTHEST + 9, -(10**30), -(10**31))
        async with open_frontier(ManualClock()) as frontier:
            await frontier.add([make_entry(n, priority=priority) for n, priority in enumerate(priorities)])
            assert fingerprints_of((await frontier.lease("http", 9, 60.0)).leases) == [2, 3, 1, 0, 4, 5, 6]

    asyncio.run(far())
