"""What is needed of redis-py; without it, a message that says what to install."""

from __future__ import annotations

from gossamer.core.errors import MissingServiceError

try:
    from redis import exceptions
    from redis.asyncio import BlockingConnectionPool, Redis, RedisCluster
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
except ImportError:
    raise MissingServiceError(
        "the settings name Redis, but its driver is missing: pip install 'gossamer[redis]'"
    ) from None

__all__ = ["BlockingConnectionPool", "NoBackoff", "Redis", "RedisCluster", "Retry", "exceptions"]
