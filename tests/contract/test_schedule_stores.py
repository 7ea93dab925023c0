"""Every schedule store keeps every promise of its contract."""

from contextlib import asynccontextmanager, closing

import pytest

from gossamer.drivers.sqlite.database import Database
from gossamer.store.memory.schedules import MemoryScheduleStore
from gossamer.store.mongodb import schema
from gossamer.store.mongodb.schedules import MongoScheduleStore
from gossamer.store.postgres.schedules import PostgresScheduleStore
from gossamer.store.postgres.schema import make_server
from gossamer.store.sqlite.schedules import SqliteScheduleStore
from gossamer.testing.contracts.schedule_store import SCHEDULE_STORE_CHECKS, check_schedule_store
from kit.servers import on_servers


@asynccontextmanager
async def memory(_clock, kind=MemoryScheduleStore):
    yield kind()


@pytest.fixture(params=["memory", "sqlite", *on_servers("postgres", "mongo")])
def make(request, tmp_path):
    if request.param == "memory":
        return memory

    @asynccontextmanager
    async def make(_clock):
        if request.param == "sqlite":
            with closing(Database(tmp_path / "store.db")) as db:
                yield SqliteScheduleStore(db)
            return
        is_mongo = request.param == "mongo"
        server = (schema.make_server if is_mongo else make_server)(
            request.getfixturevalue(f"{request.param}_url")
        )
        try:
            yield (MongoScheduleStore if is_mongo else PostgresScheduleStore)(server)
        finally:
            await server.close()

    return make


@pytest.mark.parametrize("name", SCHEDULE_STORE_CHECKS)
async def test_contract_of_schedule_stores(make, name):
    await SCHEDULE_STORE_CHECKS[name](make)


async def test_the_suite_runs_every_check():
    await check_schedule_store(memory)
    assert len(SCHEDULE_STORE_CHECKS) >= 12


async def test_the_suite_catches_a_store_that_claims_twice():
    class Careless(MemoryScheduleStore):
        async def claim_run(self, schedule, run):
            self._runs[run.schedule, run.due_at] = run
            return True

    with pytest.raises(AssertionError, match="one of them claims it"):
        await SCHEDULE_STORE_CHECKS["a_due_time_is_claimed_once"](lambda clock: memory(clock, Careless))


async def test_the_suite_catches_a_store_that_changes_outcomes():
    class Careless(MemoryScheduleStore):
        async def save_run(self, run):
            self._runs[run.schedule, run.due_at] = run
            return True

    with pytest.raises(AssertionError, match="cannot be opened again"):
        await SCHEDULE_STORE_CHECKS["a_run_keeps_its_outcome"](lambda clock: memory(clock, Careless))
