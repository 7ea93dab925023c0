"""Every committer keeps every promise of the contract, the one about lost leases above all."""

from contextlib import asynccontextmanager, closing
from dataclasses import replace

import pytest

from gossamer.core.jobs import Job
from gossamer.drivers.redis.server import RedisServer
from gossamer.drivers.sqlite.committer import SameFileCommitter
from gossamer.drivers.sqlite.database import Database
from gossamer.engine.store_then_settle import SplitCommitter
from gossamer.engine.timed_committer import TimedCommitter
from gossamer.fetch.routing.budgeted import BudgetCommitter
from gossamer.fetch.routing.spending import SpendingMeter
from gossamer.frontier.memory.frontier import MemoryFrontier
from gossamer.frontier.redis.frontier import RedisFrontier
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.observe.metrics_sink import MetricsSink
from gossamer.policy.budgets import BudgetLimits, BudgetRules, PatternBudget
from gossamer.shared.memory import MemorySharedState
from gossamer.store.memory.store import MemoryStore
from gossamer.store.postgres.schema import make_server
from gossamer.store.postgres.store import PostgresStore
from gossamer.store.sqlite.store import SqliteStore
from gossamer.testing.contracts.committer import (
    COMMITTER_CHECKS,
    COMMITTER_RULES,
    CommitterSubject,
    check_committer,
)
from kit.servers import on_servers

JOB = Job(id="shop-1", name="shop", target="x", created_at=0.0)


def split(frontier, store, clock):
    return CommitterSubject(SplitCommitter(frontier, store, JOB), frontier, store, JOB, clock)


@asynccontextmanager
async def in_memory(clock):
    yield split(MemoryFrontier(COMMITTER_RULES, clock, seed=1), MemoryStore(), clock)


@asynccontextmanager
async def watched(clock):
    """As metrics have it."""
    async with in_memory(clock) as subject:
        subject.committer = TimedCommitter(subject.committer, MetricsSink())
        yield subject


@asynccontextmanager
async def counted(clock):
    """As budgets have it."""
    async with in_memory(clock) as subject:
        budget = PatternBudget(name="all", pattern=".", limits=BudgetLimits(pages=9, items=9))
        rules = BudgetRules(patterns=(budget,))
        meter = SpendingMeter(MemorySharedState(clock), clock, "job", rules)
        subject.committer = BudgetCommitter(subject.committer, meter)
        yield subject


def in_one_file(folder):
    @asynccontextmanager
    async def make(clock):
        with closing(Database(folder / "gossamer.db")) as db:
            frontier = SqliteFrontier(db, JOB.id, COMMITTER_RULES, clock, seed=1)
            store = SqliteStore(db)
            committer = SameFileCommitter(
                db, frontier.settle_within, frontier.known_within, store.write_within, JOB
            )
            yield CommitterSubject(committer, frontier, store, JOB, clock)

    return make


def in_two_files(folder):
    @asynccontextmanager
    async def make(clock):
        with (
            closing(Database(folder / "frontier.db")) as one,
            closing(Database(folder / "store.db")) as other,
        ):
            yield split(
                SqliteFrontier(one, JOB.id, COMMITTER_RULES, clock, seed=1), SqliteStore(other), clock
            )

    return make


def of_a_file_and_memory(folder):
    @asynccontextmanager
    async def make(clock):
        with closing(Database(folder / "frontier.db")) as db:
            yield split(SqliteFrontier(db, JOB.id, COMMITTER_RULES, clock, seed=1), MemoryStore(), clock)

    return make


def on_two_servers(redis_url, postgres_url):
    @asynccontextmanager
    async def make(clock):
        redis, postgres = RedisServer(redis_url), make_server(postgres_url)
        try:
            frontier = RedisFrontier(
                redis, JOB.id, COMMITTER_RULES, clock, uses_server_time=False, seed=1
            )  # fmt: skip
            await frontier.create_shards()
            yield split(frontier, PostgresStore(postgres), clock)
        finally:
            await redis.close()
            await postgres.close()

    return make


MADE_HERE = {"memory": in_memory, "watched": watched, "counted": counted}
FILES = {
    "one file": in_one_file,
    "two files": in_two_files,
    "a file and memory": of_a_file_and_memory,
}


@pytest.fixture(params=[*MADE_HERE, *FILES, *on_servers("redis and postgres")])
def make(request, tmp_path):
    if request.param in MADE_HERE:
        return MADE_HERE[request.param]
    if request.param in FILES:
        return FILES[request.param](tmp_path)
    return on_two_servers(*[request.getfixturevalue(name) for name in ("redis_url", "postgres_url")])


@pytest.mark.parametrize("name", COMMITTER_CHECKS)
async def test_contract(make, name):
    await COMMITTER_CHECKS[name](make)


async def test_the_suite_runs_every_check():
    await check_committer(in_memory)
    assert len(COMMITTER_CHECKS) >= 9


class DroppingCommitter:
    """One that asks for the leases first, and drops what it should keep."""

    def __init__(self, subject):
        self.subject = subject

    async def commit(self, results):
        kept = await self.subject.frontier.settle([result.outcome for result in results])
        landed = [result for result, is_kept in zip(results, kept, strict=True) if is_kept]
        await self.subject.store.write(JOB, landed)
        return kept


class ForgetfulCommitter(DroppingCommitter):
    """One that does not say which rows came too late."""

    async def commit(self, results):
        await self.subject.store.write(JOB, results)
        return await self.subject.frontier.settle([result.outcome for result in results])


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (DroppingCommitter, "its item is stored"),
        (ForgetfulCommitter, "the ledger says that it came too late"),
    ],
)
async def test_the_suite_catches_a_committer_that_loses_what_a_lost_lease_brought(broken, promise):
    @asynccontextmanager
    async def make(clock):
        async with in_memory(clock) as subject:
            yield replace(subject, committer=broken(subject))

    with pytest.raises(AssertionError, match=promise):
        await COMMITTER_CHECKS["items_of_a_lost_lease_are_kept"](make)
