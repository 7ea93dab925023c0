"""The contract of a token store, as named checks.

Use: ``await check_token_store(make)``, or one by one from ``TOKEN_STORE_CHECKS``; ``make(clock)`` is an async
context manager that gives a ``TokenStore`` with nothing in it.
"""

from __future__ import annotations

import asyncio

from gossamer.core.access import AccessToken, Role
from gossamer.ports.token_store import TokenStore
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["TOKEN_STORE_CHECKS", "check_token_store"]

TOKEN_STORE_CHECKS: ContractSuite[TokenStore] = ContractSuite()
"""The checks by name."""
GOOD = AccessToken(name="ann", role=Role.OPERATE, made_at=100.0)


async def check_token_store(make: Make[TokenStore]) -> None:
    """Run every check against a fresh store each. Raises ``AssertionError`` for a broken promise."""
    await TOKEN_STORE_CHECKS.run(make)


def _session(at: float, name: str = "ann") -> AccessToken:
    return AccessToken(name=name, role=Role.OPERATE, made_at=at, expires_at=at + 10.0, is_session=True)


@TOKEN_STORE_CHECKS.register
async def a_token_is_found_by_its_digest(s: TokenStore) -> None:
    """And by nothing else."""
    assert_holds(await s.add_token(GOOD, b"\x00one"), "a token is added")
    assert_equal(await s.find_token(b"\x00one", 1e9), GOOD, "it is found as it was")
    assert_equal(await s.find_token(b"\x00two", 0.0), None, "another digest finds nothing")
    assert_equal(await s.find_token(b"ann", 0.0), None, "nor does a name")


@TOKEN_STORE_CHECKS.register
async def a_name_is_there_once(s: TokenStore) -> None:
    """If many add it at the same time, one succeeds."""
    added = await asyncio.gather(*(s.add_token(GOOD, b"%d" % n) for n in range(4)))
    assert_equal(sum(added), 1, "one of them is added")
    assert_equal(await s.list_tokens(), [GOOD], "and is there")
    digest = b"%d" % added.index(True)
    assert_equal(await s.find_token(digest, 0.0), GOOD, "the caller that succeeded")


@TOKEN_STORE_CHECKS.register
async def tokens_are_listed_by_name(s: TokenStore) -> None:
    """Without their sessions."""
    bob = AccessToken(name="Bob", role=Role.READ, made_at=1.0)
    await s.add_token(GOOD, b"1")
    await s.add_token(bob, b"2")
    await s.add_token(_session(101.0), b"3")
    assert_equal(await s.list_tokens(), [bob, GOOD], "by name")


@TOKEN_STORE_CHECKS.register
async def what_is_revoked_is_gone(s: TokenStore) -> None:
    """With its sessions; the name is free again."""
    await s.add_token(GOOD, b"1")
    await s.add_token(AccessToken(name="bob", role=Role.READ, made_at=1.0), b"2")
    await s.add_token(_session(101.0), b"3")
    assert_holds(await s.revoke_token("ann"), "it was there")
    assert_holds(not await s.revoke_token("ann"), "and is not there twice")
    assert_equal([await s.find_token(d, 102.0) for d in (b"1", b"3")], [None, None], "token and session")
    assert_holds(await s.find_token(b"2", 102.0), "others stay")
    assert_holds(not await s.add_token(_session(103.0), b"4"), "no session is made without its token")
    assert_holds(await s.add_token(GOOD, b"5"), "the name is free again")


@TOKEN_STORE_CHECKS.register
async def a_session_expires(s: TokenStore) -> None:
    """At its time; its token stays."""
    await s.add_token(GOOD, b"1")
    assert_holds(await s.add_token(_session(100.0), b"2"), "a session is added")
    assert_equal(await s.find_token(b"2", 109.9), _session(100.0), "until it expires")
    assert_equal(await s.find_token(b"2", 110.0), None, "and not longer")
    assert_holds(await s.add_token(_session(200.0), b"3"), "another one is added")
    assert_equal(await s.find_token(b"2", 0.0), None, "then expired entries are deleted")
    assert_holds(await s.find_token(b"1", 200.0), "its token stays")


@TOKEN_STORE_CHECKS.register
async def a_session_is_ended(s: TokenStore) -> None:
    """A token is not: that is what revoking is for."""
    await s.add_token(GOOD, b"1")
    await s.add_token(_session(100.0), b"2")
    await s.add_token(_session(100.5), b"3")
    for digest in (b"1", b"2", b"4"):
        await s.end_session(digest)
    found = [await s.find_token(digest, 101.0) is not None for digest in (b"1", b"2", b"3")]
    assert_equal(found, [True, False, True], "exactly that session")


@TOKEN_STORE_CHECKS.register
async def sessions_of_a_token_are_bounded(s: TokenStore) -> None:
    """The oldest ones go."""
    await s.add_token(GOOD, b"token")
    for number in range(103):
        await s.add_token(_session(100.0 + number / 100), b"%d" % number)
    found = [await s.find_token(b"%d" % number, 103.0) is not None for number in range(103)]
    assert_equal(found, [False] * 3 + [True] * 100, "the newest hundred are there")
