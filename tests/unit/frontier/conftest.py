"""A connection to Redis, and a clock; a module whose tests upset Redis has a ``redis_url`` of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from gossamer.drivers.redis.server import RedisServer
from gossamer.testing.clock import ManualClock


@pytest.fixture
async def server(redis_url: str) -> AsyncIterator[RedisServer]:
    opened = RedisServer(redis_url)
    yield opened
    await opened.close()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()
