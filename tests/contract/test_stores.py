"""Every store keeps every promise of the contract."""

from contextlib import asynccontextmanager

import pytest

from gossamer.disk.database import Database
from gossamer.servers.postgres import PostgresServer
from gossamer.servers.redis import RedisServer
from gossamer.store.jobs import SqliteJobBook
from gossamer.store.memory import MemoryJobBook, MemorySharedState, MemoryStore
from gossamer.store.postgres import PostgresStore
from gossamer.store.postgres_jobs import PostgresJobBook
from gossamer.store.redis_state import RedisSharedState
from gossamer.store.shared_state import SqliteSharedState
from gossamer.store.sqlite import SqliteStore
from gossamer.testing.contracts.store import STORE_CHECKS, StoreSubject, check_store
from servers import on_servers


@asynccontextmanager
async def memory(clock):
    yield StoreSubject(MemoryStore(), MemoryJobBook(clock), MemorySharedState(clock), clock)


def sqlite_in(folder):
    @asynccontextmanager
    async def make(clock):
        db = Database(folder / "store.db")
        try:
            yield StoreSubject(SqliteStore(db), SqliteJobBook(db, clock), SqliteSharedState(db, clock), clock)
        finally:
            db.close()

    return make


def postgres_at(url):
    @asynccontextmanager
    async def make(clock):
        server = PostgresServer(url)
        try:
            # The shared state of a cluster is in Redis.
            shared = MemorySharedState(clock)
            yield StoreSubject(PostgresStore(server), PostgresJobBook(server, clock), shared, clock)
        finally:
            await server.close()

    return make


def redis_at(url):
    @asynccontextmanager
    async def make(clock):
        server = RedisServer(url)
        try:
            # Items and jobs of a cluster are in PostgreSQL.
            shared = RedisSharedState(server, clock)
            yield StoreSubject(MemoryStore(), MemoryJobBook(clock), shared, clock)
        finally:
            await server.close()

    return make


@pytest.mark.parametrize("name", STORE_CHECKS)
@pytest.mark.parametrize("kind", ["memory", "sqlite", *on_servers("postgres", "redis")])
async def test_contract(kind, name, tmp_path, request):
    if kind == "redis":
        make = redis_at(request.getfixturevalue("redis_url"))
    elif kind == "postgres":
        make = postgres_at(request.getfixturevalue("postgres_url"))
    else:
        make = memory if kind == "memory" else sqlite_in(tmp_path)
    await STORE_CHECKS[name](make)


async def test_the_suite_runs_every_check():
    await check_store(memory)
    assert len(STORE_CHECKS) > 10
