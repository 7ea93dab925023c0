"""Every token store and every audit log keeps every promise of its contract."""

from functools import partial

import pytest

from gossamer.store.memory.actions import MemoryActionLog
from gossamer.store.memory.tokens import MemoryTokenStore
from gossamer.store.mongodb.actions import MongoActionLog
from gossamer.store.mongodb.tokens import MongoTokenStore
from gossamer.store.postgres.actions import PostgresActionLog
from gossamer.store.postgres.tokens import PostgresTokenStore
from gossamer.store.sqlite.actions import SqliteActionLog
from gossamer.store.sqlite.tokens import SqliteTokenStore
from gossamer.testing.contracts.action_log import ACTION_LOG_CHECKS, check_action_log
from gossamer.testing.contracts.token_store import TOKEN_STORE_CHECKS, check_token_store
from kit.store_parts import KINDS, maker_of, memory

TOKENS = {
    "memory": MemoryTokenStore,
    "sqlite": SqliteTokenStore,
    "postgres": PostgresTokenStore,
    "mongo": MongoTokenStore,
}
ACTIONS = {
    "memory": MemoryActionLog,
    "sqlite": SqliteActionLog,
    "postgres": PostgresActionLog,
    "mongo": MongoActionLog,
}


@pytest.fixture(params=KINDS)
def open_part(request, tmp_path):
    """From the parts of all kinds of stores to what makes the one of this kind."""
    return partial(maker_of, request=request, folder=tmp_path)


@pytest.mark.parametrize("name", TOKEN_STORE_CHECKS)
async def test_contract_of_token_stores(open_part, name):
    await TOKEN_STORE_CHECKS[name](open_part(TOKENS))


@pytest.mark.parametrize("name", ACTION_LOG_CHECKS)
async def test_contract_of_action_logs(open_part, name):
    await ACTION_LOG_CHECKS[name](open_part(ACTIONS))


async def test_the_suites_run_every_check():
    await check_token_store(memory(MemoryTokenStore))
    await check_action_log(memory(MemoryActionLog))
    assert len(TOKEN_STORE_CHECKS) >= 7
    assert len(ACTION_LOG_CHECKS) >= 5


async def test_the_suite_catches_a_store_that_leaves_the_sessions_of_a_revoked_token():
    class Careless(MemoryTokenStore):
        async def revoke_token(self, name):
            tokens = {d: t for d, t in self._tokens.items() if t.name == name and not t.is_session}
            for digest in tokens:
                del self._tokens[digest]
            return bool(tokens)

    with pytest.raises(AssertionError, match="token and session"):
        await TOKEN_STORE_CHECKS["what_is_revoked_is_gone"](memory(Careless))


async def test_the_suite_catches_a_log_that_does_the_same_twice():
    class Careless(MemoryActionLog):
        async def find_key(self, token, key):
            return None

    with pytest.raises(AssertionError, match="one of them is added"):
        await ACTION_LOG_CHECKS["a_key_counts_once"](memory(Careless))
