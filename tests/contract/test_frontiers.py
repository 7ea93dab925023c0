"""Every frontier keeps every promise of the contract."""

from contextlib import asynccontextmanager

import pytest

from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DueCounts
from gossamer.drivers.redis.server import RedisServer
from gossamer.drivers.sqlite.database import Database
from gossamer.frontier.memory.frontier import MemoryFrontier
from gossamer.frontier.redis.frontier import RedisFrontier
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.testing.contracts.frontier import FrontierSubject, check_frontier, frontier_checks
from kit.servers import on_servers


@asynccontextmanager
async def memory(rules, clock):
    async def reopen():
        return None

    paces = {}

    async def beside(others):
        return MemoryFrontier(others, clock, paces=paces, seed=2)

    yield FrontierSubject(MemoryFrontier(rules, clock, paces=paces, seed=1), reopen, beside)


def sqlite_in(folder, *, is_other_process=False):
    """``is_other_process``: the job beside has a connection of its own."""

    @asynccontextmanager
    async def make(rules, clock):
        opened = [Database(folder / "crawl.db")]
        others_own = Database(folder / "crawl.db") if is_other_process else None

        async def beside(theirs):
            return SqliteFrontier(others_own or opened[-1], "job-2", theirs, clock, seed=2)

        async def reopen():
            opened[-1].close()
            opened.append(Database(folder / "crawl.db"))
            return SqliteFrontier(opened[-1], "job-1", rules, clock, seed=1)

        try:
            # A second job in the same file must not be seen.
            other = SqliteFrontier(opened[0], "other-1", rules, clock)
            frontier = SqliteFrontier(opened[0], "job-1", rules, clock, seed=1)
            yield FrontierSubject(frontier, reopen, beside, frontier.withdraw_claims)
            assert (await SqliteFrontier(opened[-1], "other-1", rules, clock).read_stats()).hosts == 0, other
        finally:
            opened[-1].close()
            if others_own:
                others_own.close()

    return make


def redis_at(url, shards=1):
    @asynccontextmanager
    async def make(rules, clock):
        servers = []

        def frontier(job, rules=rules, paces="paces of a test"):
            servers.append(RedisServer(url))
            return RedisFrontier(
                servers[-1],
                job,
                rules,
                clock,
                # A budget of pages is counted in one place.
                shards=shards if rules.max_pages is None else 1,
                uses_server_time=False,
                paces=paces,
                seed=1,
            )

        async def beside(theirs):
            await frontier("job-2").delete_requests()
            other = frontier("job-2", theirs)
            await other.create_shards()
            return other

        async def reopen():
            return frontier("job-1", FrontierRules())

        try:
            # A second job in the same Redis must not be seen.
            other, ours = frontier("other-1"), frontier("job-1")
            await servers[-1].delete_keys(f"{servers[-1].key_for('paces of a test')}*")
            for each in (other, ours):
                await each.delete_requests()
                await each.create_shards()
            yield FrontierSubject(ours, reopen, beside)
            assert (await frontier("other-1").read_stats()).hosts == 0
        finally:
            for server in servers:
                await server.close()

    return make


@pytest.fixture(
    params=["memory", "sqlite", "sqlite in two processes", *on_servers("redis", "redis with 3 shards")]
)
def make(request, tmp_path):
    if request.param == "memory":
        return memory
    if request.param.startswith("sqlite"):
        return sqlite_in(tmp_path, is_other_process="two" in request.param)
    return redis_at(request.getfixturevalue("redis_url"), 3 if "shards" in request.param else 1)


@pytest.mark.parametrize("name", frontier_checks())
async def test_contract(make, name):
    await frontier_checks()[name](make)


async def test_the_suite_runs_every_check():
    ran = []

    @asynccontextmanager
    async def spying(rules, clock):
        ran.append(rules)
        async with memory(rules, clock) as subject:
            yield subject

    await check_frontier(spying)
    assert len(ran) == len(frontier_checks()) > 35


async def test_the_suite_catches_a_frontier_that_forgets_slots():
    class Rude(MemoryFrontier):
        def __init__(self, rules, clock, *, seed=None):
            super().__init__(type(rules)(delay_s=rules.delay_s, per_host=100), clock, seed=seed)

    @asynccontextmanager
    async def rude(rules, clock):
        async def reopen():
            return None

        yield FrontierSubject(Rude(rules, clock), reopen)

    with pytest.raises(AssertionError, match="no more than per_host"):
        await frontier_checks()["per_host_slots_hold"](rude)


async def test_the_suite_catches_a_frontier_that_takes_what_waits_for_what_is_due():
    class Hopeful(MemoryFrontier):
        async def count_due(self):
            pending = (await self.read_stats()).pending
            return [DueCounts(lane="http", requests=pending)] if pending else []

    @asynccontextmanager
    async def hopeful(rules, clock):
        async def reopen():
            return None

        yield FrontierSubject(Hopeful(rules, clock), reopen)

    for name in ("a_host_with_a_delay_counts_once_in_its_turn", "what_is_due_is_what_a_lease_hands_out"):
        with pytest.raises(AssertionError, match=r"one start in a turn|three slots"):
            await frontier_checks()[name](hopeful)
