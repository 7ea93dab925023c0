"""Every reader of items keeps every promise of the contract."""

from contextlib import asynccontextmanager, closing
from dataclasses import replace

import pytest

from gossamer.drivers.sqlite.database import Database
from gossamer.store import items as module
from gossamer.store.memory.items import MemoryItemReader
from gossamer.store.memory.jobs import MemoryJobStore
from gossamer.store.memory.store import MemoryStore
from gossamer.store.mongodb import schema
from gossamer.store.mongodb.items import MongoItemReader
from gossamer.store.mongodb.jobs import MongoJobStore
from gossamer.store.mongodb.store import MongoStore
from gossamer.store.postgres.items import PostgresItemReader
from gossamer.store.postgres.jobs import PostgresJobStore
from gossamer.store.postgres.schema import make_server
from gossamer.store.postgres.store import PostgresStore
from gossamer.store.sqlite.items import SqliteItemReader
from gossamer.store.sqlite.jobs import SqliteJobStore
from gossamer.store.sqlite.store import SqliteStore
from gossamer.testing.contracts.item_reader import ITEM_READER_CHECKS, ItemSubject, check_item_reader
from kit.servers import on_servers


@asynccontextmanager
async def memory(clock):
    store = MemoryStore()
    yield ItemSubject(MemoryItemReader(store), store, MemoryJobStore(clock))


def sqlite_in(folder):
    @asynccontextmanager
    async def make(clock):
        with closing(Database(folder / "x.db")) as db:
            yield ItemSubject(SqliteItemReader(db), SqliteStore(db), SqliteJobStore(db, clock))
        (folder / "x.db").unlink()

    return make


def postgres_at(url):
    @asynccontextmanager
    async def make(clock):
        server = make_server(url)
        try:
            book = PostgresJobStore(server, clock)
            yield ItemSubject(PostgresItemReader(server), PostgresStore(server), book)
        finally:
            await server.close()

    return make


def mongo_at(url):
    @asynccontextmanager
    async def make(clock):
        server = schema.make_server(url)
        try:
            yield ItemSubject(MongoItemReader(server), MongoStore(server), MongoJobStore(server, clock))
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


@pytest.mark.parametrize("name", ITEM_READER_CHECKS)
async def test_contract(make, name):
    await ITEM_READER_CHECKS[name](make)


async def test_parts_of_few_items_lead_to_all_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SLICES", (1, 2))
    await check_item_reader(sqlite_in(tmp_path))
    assert len(ITEM_READER_CHECKS) >= 3


async def test_the_suite_catches_a_reader_that_shows_what_later_jobs_saw(tmp_path):
    class Careless(SqliteItemReader):
        async def page_items(self, job, limit, which, before=None):
            rows = await super().page_items(job, limit, which, before)
            latest = {item.id: item async for item in self.store.read_items()}
            return type(rows)(
                items=tuple(latest[item.id] for item in rows.items), next_before=rows.next_before
            )

    @asynccontextmanager
    async def careless(clock):
        async with sqlite_in(tmp_path)(clock) as subject:
            reader = Careless(subject.reader._db)
            reader.store = subject.store
            yield replace(subject, reader=reader)

    with pytest.raises(AssertionError, match="as each saw them"):
        await ITEM_READER_CHECKS["a_job_has_what_it_saw"](careless)
