"""Every kind of shared state as two workers open it, for the suites of its users."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any, Protocol

import pytest

from gossamer.drivers.redis.server import RedisServer
from gossamer.drivers.sqlite.database import Database
from gossamer.ports.clock import Clock
from gossamer.ports.shared_state import SharedState
from gossamer.shared.memory import MemorySharedState
from gossamer.shared.redis import RedisSharedState
from gossamer.shared.sqlite import SqliteSharedState
from kit.servers import on_servers

KINDS = ["memory", "sqlite", *on_servers("redis")]
"""Parameters of a fixture that gives :func:`find_states`."""


class OpenStates(Protocol):
    """Opens the state that two workers share, as the one and as the other sees it."""

    def __call__(self, clock: Clock) -> AbstractAsyncContextManager[tuple[SharedState, SharedState]]: ...


class GatedState(MemorySharedState):
    """A state whose answer to an update is on its way for as long as the test says."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.is_reached, self.is_open = asyncio.Event(), asyncio.Event()
        self.is_open.set()

    def close(self) -> None:
        """Let later calls wait until it is open again."""
        self.is_reached.clear()
        self.is_open.clear()

    async def update(
        self, space: str, key: str, change: Callable[[bytes | None], bytes], ttl_s: float
    ) -> bytes:
        changed = await super().update(space, key, change, ttl_s)
        self.is_reached.set()
        await self.is_open.wait()
        return changed


def find_states(request: pytest.FixtureRequest, folder: Path) -> OpenStates:
    """Return the opener for the kind of state in the fixture's parameter."""
    if request.param == "memory":
        return open_memory
    if request.param == "sqlite":
        return open_sqlite_in(folder)
    return open_redis_at(request.getfixturevalue("redis_url"))


@asynccontextmanager
async def open_memory(clock: Any) -> AsyncIterator[tuple[SharedState, SharedState]]:
    """One process."""
    shared = MemorySharedState(clock)
    yield shared, shared


def open_sqlite_in(folder: Path) -> OpenStates:
    """Two processes with one file."""

    @asynccontextmanager
    async def open_states(clock: Clock) -> AsyncIterator[tuple[SharedState, SharedState]]:
        with closing(Database(folder / "x.db")) as one, closing(Database(folder / "x.db")) as other:
            yield SqliteSharedState(one, clock), SqliteSharedState(other, clock)

    return open_states


def open_redis_at(url: str) -> OpenStates:
    """Two machines with one server."""

    @asynccontextmanager
    async def open_states(clock: Clock) -> AsyncIterator[tuple[SharedState, SharedState]]:
        async with AsyncExitStack() as closing_servers:
            servers = [RedisServer(url), RedisServer(url)]
            for server in servers:
                closing_servers.push_async_callback(server.close)
            one, other = (RedisSharedState(server, clock) for server in servers)
            yield one, other

    return open_states
