"""Every store keeps every promise of the contract."""

from contextlib import asynccontextmanager

import pytest

from gossamer.disk.database import Database
from gossamer.store.jobs import SqliteJobBook
from gossamer.store.memory import MemoryJobBook, MemorySharedState, MemoryStore
from gossamer.store.shared_state import SqliteSharedState
from gossamer.store.sqlite import SqliteStore
from gossamer.testing.contracts.store import STORE_CHECKS, StoreSubject, check_store


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


@pytest.mark.parametrize("name", STORE_CHECKS)
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_contract(kind, name, tmp_path):
    await STORE_CHECKS[name](memory if kind == "memory" else sqlite_in(tmp_path))


async def test_the_suite_runs_every_check():
    await check_store(memory)
    assert len(STORE_CHECKS) > 10
