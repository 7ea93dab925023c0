"""Every frontier that outlives its processes says where a request stands."""

from contextlib import asynccontextmanager, closing

import pytest
from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules
from gossamer.drivers.redis.server import RedisServer
from gossamer.drivers.sqlite.database import Database
from gossamer.frontier.redis.frontier import RedisFrontier
from gossamer.frontier.sqlite.frontier import SqliteFrontier
from gossamer.testing.contracts.job_frontier import (
    JOB_FRONTIER_CHECKS,
    POSITION_RULES,
    JobFrontierSubject,
    check_job_frontier,
)
from kit.servers import on_servers


def sqlite_in(folder, kind=SqliteFrontier):
    @asynccontextmanager
    async def make(clock):
        with closing(Database(folder / "x.db")) as db:
            frontier = kind(db, "job-1", POSITION_RULES, clock, seed=1)
            yield JobFrontierSubject(frontier, SqliteFrontier(db, "other-1", FrontierRules(), clock), clock)
        (folder / "x.db").unlink()

    return make


def redis_at(url, shards):
    @asynccontextmanager
    async def make(clock):
        server = RedisServer(url)
        try:
            frontiers = [
                RedisFrontier(server, job, rules, clock, shards=shards, uses_server_time=False, seed=1)
                for job, rules in (("job-1", POSITION_RULES), ("other-1", FrontierRules()))
            ]
            for frontier in frontiers:
                await frontier.delete_requests()
                await frontier.create_shards()
            yield JobFrontierSubject(*frontiers, clock)
        finally:
            await server.close()

    return make


@pytest.fixture(params=["sqlite", *on_servers("redis", "redis with 3 shards")])
def make(request, tmp_path):
    if request.param == "sqlite":
        return sqlite_in(tmp_path)
    return redis_at(request.getfixturevalue("redis_url"), 3 if "shards" in request.param else 1)


@pytest.mark.parametrize("name", JOB_FRONTIER_CHECKS)
async def test_contract(make, name):
    await JOB_FRONTIER_CHECKS[name](make)


async def test_the_suite_runs_every_check(tmp_path):
    await check_job_frontier(sqlite_in(tmp_path))
    assert len(JOB_FRONTIER_CHECKS) >= 5


async def test_the_suite_catches_a_frontier_that_counts_in_order_of_arrival(tmp_path):
    class Fair(SqliteFrontier):
        async def find_request(self, fingerprint, host, *, tried_at=0.0):
            found = await super().find_request(fingerprint, host)
            return replace(found, place=found.place._replace(ahead=max(fingerprint - 1, 0)))

    with pytest.raises(AssertionError, match="this number goes first"):
        await JOB_FRONTIER_CHECKS["a_request_waits_behind_others_of_its_host"](sqlite_in(tmp_path, Fair))
