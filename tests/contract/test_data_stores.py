"""Every profile store, list of results made again and file store keeps every promise of its contract."""

from functools import partial

import pytest

from gossamer.store.memory.files import MemoryFileStore
from gossamer.store.memory.profiles import MemoryProfileStore
from gossamer.store.memory.result_versions import MemoryResultVersions
from gossamer.store.mongodb.files import MongoFileStore
from gossamer.store.mongodb.profiles import MongoProfileStore
from gossamer.store.mongodb.result_versions import MongoResultVersions
from gossamer.store.postgres.files import PostgresFileStore
from gossamer.store.postgres.profiles import PostgresProfileStore
from gossamer.store.postgres.result_versions import PostgresResultVersions
from gossamer.store.sqlite.files import SqliteFileStore
from gossamer.store.sqlite.profiles import SqliteProfileStore
from gossamer.store.sqlite.result_versions import SqliteResultVersions
from gossamer.testing.contracts.file_store import FILE_STORE_CHECKS, check_file_store
from gossamer.testing.contracts.profile_store import PROFILE_STORE_CHECKS, check_profile_store
from gossamer.testing.contracts.result_versions import RESULT_VERSIONS_CHECKS, check_result_versions
from kit.store_parts import KINDS, maker_of, memory

PROFILES = {
    "memory": MemoryProfileStore,
    "sqlite": SqliteProfileStore,
    "postgres": PostgresProfileStore,
    "mongo": MongoProfileStore,
}
VERSIONS = {
    "memory": MemoryResultVersions,
    "sqlite": SqliteResultVersions,
    "postgres": PostgresResultVersions,
    "mongo": MongoResultVersions,
}
FILES = {
    "memory": MemoryFileStore,
    "sqlite": SqliteFileStore,
    "postgres": PostgresFileStore,
    "mongo": MongoFileStore,
}


@pytest.fixture(params=KINDS)
def open_part(request, tmp_path):
    """From the parts of all kinds of stores to what makes the one of this kind."""
    return partial(maker_of, request=request, folder=tmp_path)


@pytest.mark.parametrize("name", PROFILE_STORE_CHECKS)
async def test_contract_of_profile_stores(open_part, name):
    await PROFILE_STORE_CHECKS[name](open_part(PROFILES))


@pytest.mark.parametrize("name", RESULT_VERSIONS_CHECKS)
async def test_contract_of_result_versions(open_part, name):
    await RESULT_VERSIONS_CHECKS[name](open_part(VERSIONS))


@pytest.mark.parametrize("name", FILE_STORE_CHECKS)
async def test_contract_of_file_stores(open_part, name):
    await FILE_STORE_CHECKS[name](open_part(FILES))


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
