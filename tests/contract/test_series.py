"""Every back end keeps every promise about counters over time."""

from contextlib import asynccontextmanager, closing

import pytest

from gossamer.drivers.sqlite.database import Database
from gossamer.store.memory.jobs import MemoryJobStore
from gossamer.store.memory.store import MemoryStore
from gossamer.store.mongodb import schema
from gossamer.store.mongodb.jobs import MongoJobStore
from gossamer.store.mongodb.series import MongoSeries
from gossamer.store.mongodb.store import MongoStore
from gossamer.store.postgres.jobs import PostgresJobStore
from gossamer.store.postgres.schema import make_server
from gossamer.store.postgres.series import PostgresSeries
from gossamer.store.postgres.store import PostgresStore
from gossamer.store.sqlite.jobs import SqliteJobStore
from gossamer.store.sqlite.series import SqliteSeries
from gossamer.store.sqlite.store import SqliteStore
from gossamer.testing.contracts.series import SERIES_CHECKS, SeriesSubject, check_series
from kit.servers import on_servers


@asynccontextmanager
async def memory(clock):
    store = MemoryStore()
    yield SeriesSubject(store.series, store, MemoryJobStore(clock))


def sqlite_in(folder):
    @asynccontextmanager
    async def make(clock):
        with closing(Database(folder / "x.db")) as db:
            yield SeriesSubject(SqliteSeries(db), SqliteStore(db), SqliteJobStore(db, clock))

    return make


def postgres_at(url):
    @asynccontextmanager
    async def make(clock):
        server = make_server(url)
        try:
            yield SeriesSubject(
                PostgresSeries(server), PostgresStore(server), PostgresJobStore(server, clock)
            )
        finally:
            await server.close()

    return make


def mongo_at(url):
    @asynccontextmanager
    async def make(clock):
        server = schema.make_server(url)
        try:
            yield SeriesSubject(MongoSeries(server), MongoStore(server), MongoJobStore(server, clock))
        finally:
            await server.close()

    return make


@pytest.fixture(params=["memory", "sqlite", *on_servers("postgres", "mongo")])
def make(request, tmp_path):
    if request.param == "memory":
        return memory
    if request.param == "sqlite":
        return sqlite_in(tmp_path)
    if request.param == "mongo":
        return mongo_at(request.getfixturevalue("mongo_url"))
    return postgres_at(request.getfixturevalue("postgres_url"))


@pytest.mark.parametrize("name", SERIES_CHECKS)
async def test_contract(make, name):
    await SERIES_CHECKS[name](make)


async def test_the_suite_runs_every_check():
    await check_series(memory)
    assert len(SERIES_CHECKS) >= 9


async def test_the_suite_catches_a_back_end_that_adds_gauges():
    class Careless:
        def __init__(self, series):
            self.series, self.sums = series, {}

        async def set_gauges(self, job, at, gauges):
            place = at // 20
            self.sums[place] = self.sums.get(place, 0) + gauges["pending"]
            await self.series.set_gauges(job, at, gauges | {"pending": self.sums[place]})

        def __getattr__(self, name):
            return getattr(self.series, name)

    @asynccontextmanager
    async def careless(clock):
        async with memory(clock) as subject:
            subject.series = Careless(subject.series)
            yield subject

    with pytest.raises(AssertionError, match="each bucket"):
        await SERIES_CHECKS["gauges_are_set"](careless)
