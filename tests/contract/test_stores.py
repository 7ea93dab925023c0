"""Every store keeps every promise of the contract."""

from contextlib import asynccontextmanager

import pytest

from gossamer.drivers.postgres.server import PostgresServer
from gossamer.drivers.redis.server import RedisServer
from gossamer.drivers.sqlite.database import Database
from gossamer.shared.memory import MemorySharedState
from gossamer.shared.redis import RedisSharedState
from gossamer.shared.sqlite import SqliteSharedState
from gossamer.store.memory.jobs import MemoryJobStore
from gossamer.store.memory.store import MemoryStore
from gossamer.store.postgres.jobs import PostgresJobStore
from gossamer.store.postgres.store import PostgresStore
from gossamer.store.sqlite.jobs import SqliteJobStore
from gossamer.store.sqlite.store import SqliteStore
from gossamer.testing.contracts.store import STORE_CHECKS, StoreSubject, check_store
from kit.servers import on_servers


@asynccontextmanager
async def memory(clock):
    yield StoreSubject(MemoryStore(), MemoryJobStore(clock), MemorySharedState(clock), clock)


def sqlite_in(folder):
    @asynccontextmanager
    async def make(clock):
        db = Database(folder / "store.db")
        try:
            yield StoreSubject(
                SqliteStore(db), SqliteJobStore(db, clock), SqliteSharedState(db, clock), clock
            )
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
            yield StoreSubject(PostgresStore(server), PostgresJobStore(server, clock), shared, clock)
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
            yield StoreSubject(MemoryStore(), MemoryJobStore(clock), shared, clock)
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
