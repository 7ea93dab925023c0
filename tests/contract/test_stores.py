"""Every store and every job store keeps every promise of its contract."""

from contextlib import asynccontextmanager, closing

import pytest
from msgspec.structs import replace

from gossamer.drivers.sqlite.database import Database
from gossamer.store.memory.jobs import MemoryJobStore
from gossamer.store.memory.store import MemoryStore
from gossamer.store.mongodb import schema
from gossamer.store.mongodb.jobs import MongoJobStore
from gossamer.store.mongodb.store import MongoStore
from gossamer.store.postgres.jobs import PostgresJobStore
from gossamer.store.postgres.schema import make_server
from gossamer.store.postgres.store import PostgresStore
from gossamer.store.sqlite.jobs import SqliteJobStore
from gossamer.store.sqlite.store import SqliteStore
from gossamer.testing.contracts.job_store import JOB_STORE_CHECKS, check_job_store
from gossamer.testing.contracts.store import STORE_CHECKS, StoreSubject, check_store
from kit.servers import on_servers


@asynccontextmanager
async def memory(clock):
    yield StoreSubject(MemoryStore(), MemoryJobStore(clock))


def sqlite_in(folder):
    @asynccontextmanager
    async def make(clock):
        with closing(Database(folder / "store.db")) as db:
            yield StoreSubject(SqliteStore(db), SqliteJobStore(db, clock))

    return make


def postgres_at(url):
    @asynccontextmanager
    async def make(clock):
        server = make_server(url)
        try:
            yield StoreSubject(PostgresStore(server, seen_resolution_s=0), PostgresJobStore(server, clock))
        finally:
            await server.close()

    return make


def mongo_at(url):
    @asynccontextmanager
    async def make(clock):
        server = schema.make_server(url)
        try:
            yield StoreSubject(MongoStore(server, seen_resolution_s=0), MongoJobStore(server, clock))
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


def job_stores_of(make):
    @asynccontextmanager
    async def make_job_store(clock):
        async with make(clock) as subject:
            yield subject.book

    return make_job_store


@pytest.mark.parametrize("name", STORE_CHECKS)
async def test_contract(make, name):
    await STORE_CHECKS[name](make)


@pytest.mark.parametrize("name", JOB_STORE_CHECKS)
async def test_contract_of_job_stores(make, name):
    await JOB_STORE_CHECKS[name](job_stores_of(make))


async def test_the_suites_run_every_check():
    await check_store(memory)
    await check_job_store(job_stores_of(memory))
    assert len(STORE_CHECKS) > 10
    assert len(JOB_STORE_CHECKS) >= 5


async def test_the_suite_catches_a_store_that_lets_the_last_writer_win():
    class Careless(MemoryStore):
        async def write(self, job, results):
            self.now = getattr(self, "now", 100.0) + 1.0  # whatever the time of the visit was
            pages = [replace(result.page, at=self.now) for result in results]
            await super().write(
                job, [replace(result, page=page) for result, page in zip(results, pages, strict=True)]
            )

    @asynccontextmanager
    async def careless(clock):
        yield StoreSubject(Careless(), MemoryJobStore(clock))

    with pytest.raises(AssertionError, match="the newer one stays"):
        await STORE_CHECKS["older_news_changes_nothing"](careless)


async def test_the_suite_catches_a_job_store_that_forgets_what_was_expected():
    class Careless(MemoryJobStore):
        async def update(self, job, *, expected=None):
            return await super().update(job)

    @asynccontextmanager
    async def careless(clock):
        yield Careless(clock)

    with pytest.raises(AssertionError, match="another state"):
        await JOB_STORE_CHECKS["stale_updates_are_refused"](careless)
