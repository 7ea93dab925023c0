"""Every reader of a ledger keeps every promise of the contract."""

from contextlib import asynccontextmanager, closing
from dataclasses import replace

import pytest
from msgspec import structs

from gossamer.core.results import EVERY_ATTEMPT
from gossamer.drivers.sqlite.database import Database
from gossamer.store import attempts as module
from gossamer.store.memory.jobs import MemoryJobStore
from gossamer.store.memory.ledger import MemoryLedgerReader
from gossamer.store.memory.store import MemoryStore
from gossamer.store.mongodb import schema
from gossamer.store.mongodb.jobs import MongoJobStore
from gossamer.store.mongodb.ledger import MongoLedgerReader
from gossamer.store.mongodb.store import MongoStore
from gossamer.store.postgres.jobs import PostgresJobStore
from gossamer.store.postgres.ledger import PostgresLedgerReader
from gossamer.store.postgres.schema import make_server
from gossamer.store.postgres.store import PostgresStore
from gossamer.store.sqlite.jobs import SqliteJobStore
from gossamer.store.sqlite.ledger import SqliteLedgerReader
from gossamer.store.sqlite.store import SqliteStore
from gossamer.testing.contracts.ledger_reader import (
    LEDGER_READER_CHECKS,
    LedgerSubject,
    check_ledger_reader,
)
from kit.servers import on_servers


@asynccontextmanager
async def memory(clock):
    store = MemoryStore()
    yield LedgerSubject(MemoryLedgerReader(store), store, MemoryJobStore(clock))


def sqlite_in(folder):
    @asynccontextmanager
    async def make(clock):
        with closing(Database(folder / "x.db")) as db:
            yield LedgerSubject(SqliteLedgerReader(db), SqliteStore(db), SqliteJobStore(db, clock))
        (folder / "x.db").unlink()

    return make


def postgres_at(url):
    @asynccontextmanager
    async def make(clock):
        server = make_server(url)
        try:
            book = PostgresJobStore(server, clock)
            yield LedgerSubject(PostgresLedgerReader(server), PostgresStore(server), book)
        finally:
            await server.close()

    return make


def mongo_at(url):
    @asynccontextmanager
    async def make(clock):
        server = schema.make_server(url)
        try:
            yield LedgerSubject(MongoLedgerReader(server), MongoStore(server), MongoJobStore(server, clock))
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


@pytest.mark.parametrize("name", LEDGER_READER_CHECKS)
async def test_contract(make, name):
    await LEDGER_READER_CHECKS[name](make)


@pytest.mark.parametrize("read_at_once", [1, 3])
async def test_filters_look_as_far_back_as_needed_however_much_is_read_at_once(
    make, monkeypatch, read_at_once
):
    monkeypatch.setattr(module, "ROUND", read_at_once)
    await LEDGER_READER_CHECKS["filters_look_as_far_back_as_needed"](make)


async def test_parts_of_few_rows_lead_to_all_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SLICES", 2)
    monkeypatch.setattr("gossamer.store.sqlite.ledger.SLICE", 3)
    await LEDGER_READER_CHECKS["a_part_goes_on_where_the_former_ended"](sqlite_in(tmp_path))


async def test_the_suite_runs_every_check(tmp_path):
    await check_ledger_reader(sqlite_in(tmp_path))
    assert len(LEDGER_READER_CHECKS) >= 4


async def test_the_suite_catches_a_reader_that_stops_looking(tmp_path):
    class Hasty:
        def __init__(self, ledger):
            self.ledger = ledger

        async def find_attempts(self, job, limit, which=EVERY_ATTEMPT):
            found = await self.ledger.find_attempts(job, limit, structs.replace(which, verdict=""))
            return [row for row in found if which.verdict in ("", row.verdict)]

    @asynccontextmanager
    async def hasty(clock):
        async with sqlite_in(tmp_path)(clock) as subject:
            yield replace(subject, ledger=Hasty(subject.ledger))

    with pytest.raises(AssertionError, match="attempts that fit"):
        await LEDGER_READER_CHECKS["filters_look_as_far_back_as_needed"](hasty)
