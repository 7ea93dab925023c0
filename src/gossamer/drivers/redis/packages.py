"""Imports redis-py; without it, an error says which package to install."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from gossamer.core.errors import MissingServiceError
from gossamer.install import install_command


@contextmanager
def _without_metrics() -> Iterator[None]:
    """Keep redis-py from importing a whole SDK for metrics of its own, which is half of its start-up.

    A program that has OpenTelemetry may want them.
    """
    if "opentelemetry" in sys.modules:
        yield
        return
    sys.modules["opentelemetry"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["opentelemetry"]


try:
    with _without_metrics():
        from redis import exceptions
        from redis.asyncio import BlockingConnectionPool, Redis, RedisCluster
        from redis.asyncio.cluster import ClusterNode
        from redis.asyncio.connection import SSLConnection, parse_url
        from redis.asyncio.retry import Retry
        from redis.asyncio.sentinel import MasterNotFoundError, Sentinel, SentinelConnectionPool
        from redis.backoff import NoBackoff
        from redis.retry import Retry as BlockingRetry
except ImportError:
    raise MissingServiceError(
        f"the settings name Redis, but its driver is missing: {install_command('redis')}"
    ) from None

__all__ = [
    "BlockingConnectionPool",
    "BlockingRetry",
    "ClusterNode",
    "MasterNotFoundError",
    "NoBackoff",
    "Redis",
    "RedisCluster",
    "Retry",
    "SSLConnection",
    "Sentinel",
    "SentinelConnectionPool",
    "exceptions",
    "parse_url",
]
