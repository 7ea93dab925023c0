"""Every profile store, list of results made again and file store keeps every promise of its contract."""

from contextlib import asynccontextmanager, closing

import pytest

from gossamer.drivers.sqlite.database import Database
from gossamer.store.memory.files import MemoryFileStore
from gossamer.store.memory.profiles import MemoryProfileStore
from gossamer.store.memory.result_versions import MemoryResultVersions
from gossamer.store.mongodb import schema
from gossamer.store.mongodb.files import MongoFileStore
from gossamer.store.mongodb.profiles import MongoProfileStore
from gossamer.store.mongodb.result_versions import MongoResultVersions
from gossamer.store.postgres.files import PostgresFileStore
from gossamer.store.postgres.profiles import PostgresProfileStore
from gossamer.store.postgres.result_versions import PostgresResultVersions
from gossamer.store.postgres.schema import make_server
from gossamer.store.sqlite.files import SqliteFileStore
from gossamer.store.sqlite.profiles import SqliteProfileStore
from gossamer.store.sqlite.result_versions import SqliteResultVersions
from gossamer.testing.contracts.file_store import FILE_STORE_CHECKS, check_file_store
from gossamer.testing.contracts.profile_store import PROFILE_STORE_CHECKS, check_profile_store
from gossamer.testing.contracts.result_versions import RESULT_VERSIONS_CHECKS, check_result_versions
from kit.servers import on_servers

KINDS = {
    "memory": (MemoryProfileStore, MemoryResultVersions, MemoryFileStore),
    "sqlite": (SqliteProfileStore, SqliteResultVersions, SqliteFileStore),
    "postgres": (PostgresProfileStore, PostgresResultVersions, PostgresFileStore),
    "mongo": (MongoProfileStore, MongoResultVersions, MongoFileStore),
}


def memory(kind):
    @asynccontextmanager
    async def make(_clock):
        yield kind()

    return make


@pytest.fixture(params=["memory", "sqlite", *on_servers("postgres", "mongo")])
def open_kind(request, tmp_path):
    """From 0 (profiles), 1 (versions) or 2 (files) to what makes one."""

    def open_kind(number):
        kind = KINDS[request.param][number]
        if request.param == "memory":
            return memory(kind)

        @asynccontextmanager
        async def make(_clock):
            if request.param == "sqlite":
                with closing(Database(tmp_path / "store.db")) as db:
                    yield kind(db)
                return
            open_server = schema.make_server if request.param == "mongo" else make_server
            server = open_server(request.getfixturevalue(f"{request.param}_url"))
            try:
                yield kind(server)
            finally:
                await server.close()

        return make

    return open_kind


@pytest.mark.parametrize("name", PROFILE_STORE_CHECKS)
async def test_contract_of_profile_stores(open_kind, name):
    await PROFILE_STORE_CHECKS[name](open_kind(0))


@pytest.mark.parametrize("name", RESULT_VERSIONS_CHECKS)
async def test_contract_of_result_versions(open_kind, name):
    await RESULT_VERSIONS_CHECKS[name](open_kind(1))


@pytest.mark.parametrize("name", FILE_STORE_CHECKS)
async def test_contract_of_file_stores(open_kind, name):
    await FILE_STORE_CHECKS[name](open_kind(2))


async def test_the_suites_run_every_check():
    await check_file_store(memory(MemoryFileStore))
    await check_profile_store(memory(MemoryProfileStore))
    await check_result_versions(memory(MemoryResultVersions))
    assert len(PROFILE_STORE_CHECKS) >= 2
    assert len(RESULT_VERSIONS_CHECKS) >= 2


async def test_the_suite_catches_versions_that_change_their_neighbours():
    class Careless(MemoryResultVersions):
        async def change_state(self, job, state):
            return all([await super(Careless, self).change_state(each, state) for each in self._versions])

    with pytest.raises(AssertionError, match="its state"):
        await RESULT_VERSIONS_CHECKS["what_became_of_a_result_is_noted"](memory(Careless))
