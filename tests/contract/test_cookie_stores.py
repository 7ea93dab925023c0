"""Every cookie store keeps every promise of the contract."""

from contextlib import asynccontextmanager

import pytest

from gossamer.fetch.sessions.cookies import CookieJar
from gossamer.fetch.sessions.shared_cookies import SharedCookieStore
from gossamer.shared.memory import MemorySharedState
from gossamer.testing.contracts.cookie_store import (
    COOKIE_STORE_CHECKS,
    CookieSubject,
    check_cookie_store,
)


@asynccontextmanager
async def jar(clock):
    yield CookieSubject(CookieJar(100), clock)


@asynccontextmanager
async def shared(clock):
    yield CookieSubject(SharedCookieStore(MemorySharedState(clock), clock, "shop-1", max_jars=100), clock)


MAKES = {"jar": jar, "shared": shared}


@pytest.mark.parametrize("name", COOKIE_STORE_CHECKS)
@pytest.mark.parametrize("kind", MAKES)
async def test_contract(kind, name):
    await COOKIE_STORE_CHECKS[name](MAKES[kind])


async def test_the_suite_runs_every_check():
    await check_cookie_store(jar)
    assert len(COOKIE_STORE_CHECKS) >= 6


async def test_the_suite_catches_a_store_that_forgets_sessions():
    class Careless(CookieJar):
        def store_cookies(self, session, url, lines, now):
            return super().store_cookies("", url, lines, now)

        def cookie_header(self, session, url, now):
            return super().cookie_header("", url, now)

    @asynccontextmanager
    async def careless(clock):
        yield CookieSubject(Careless(100), clock)

    with pytest.raises(AssertionError, match="each its own"):
        await COOKIE_STORE_CHECKS["sessions_are_apart"](careless)
