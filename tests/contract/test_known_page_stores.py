"""Every store of known pages keeps every promise of its contract."""

from contextlib import asynccontextmanager, closing

import pytest

from gossamer.drivers.sqlite.database import Database
from gossamer.store.memory.jobs import MemoryJobStore
from gossamer.store.memory.store import MemoryStore
from gossamer.store.mongodb import schema
from gossamer.store.mongodb.jobs import MongoJobStore
from gossamer.store.mongodb.known_pages import MongoKnownPageStore
from gossamer.store.mongodb.store import MongoStore
from gossamer.store.postgres.jobs import PostgresJobStore
from gossamer.store.postgres.known_pages import PostgresKnownPageStore
from gossamer.store.postgres.schema import make_server
from gossamer.store.postgres.store import PostgresStore
from gossamer.store.sqlite.jobs import SqliteJobStore
from gossamer.store.sqlite.known_pages import SqliteKnownPageStore
from gossamer.store.sqlite.store import SqliteStore
from gossamer.testing.contracts.known_page_store import (
    KNOWN_PAGE_STORE_CHECKS,
    KnownPageSubject,
    check_known_page_store,
)
from kit.servers import on_servers

ON_SERVERS = {
    "postgres": (make_server, PostgresKnownPageStore, PostgresStore, PostgresJobStore),
    "mongo": (schema.make_server, MongoKnownPageStore, MongoStore, MongoJobStore),
}


@asynccontextmanager
async def memory(clock):
    store = MemoryStore()
    yield KnownPageSubject(store.known, store, MemoryJobStore(clock))


def sqlite_in(folder):
    @asynccontextmanager
    async def make(clock):
        with closing(Database(folder / "store.db")) as db:
            yield KnownPageSubject(SqliteKnownPageStore(db), SqliteStore(db), SqliteJobStore(db, clock))

    return make


def server_at(kind, url):
    open_server, known, store, book = ON_SERVERS[kind]

    @asynccontextmanager
    async def make(clock):
        server = open_server(url)
        try:
            yield KnownPageSubject(known(server), store(server), book(server, clock))
        finally:
            await server.close()

    return make


@pytest.fixture(params=["memory", "sqlite", *on_servers("postgres", "mongo")])
def make(request, tmp_path):
    if request.param == "memory":
        return memory
    if request.param == "sqlite":
        return sqlite_in(tmp_path)
    return server_at(request.param, request.getfixturevalue(f"{request.param}_url"))


@pytest.mark.parametrize("name", KNOWN_PAGE_STORE_CHECKS)
async def test_contract_of_known_page_stores(make, name):
    await KNOWN_PAGE_STORE_CHECKS[name](make)


async def test_the_whole_suite_runs_in_one_call():
    await check_known_page_store(memory)
