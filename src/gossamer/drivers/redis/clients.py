"""The client of redis-py for each kind of address, with bounds on every wait."""

from __future__ import annotations

from typing import Any

from gossamer.drivers.redis.address import CLUSTER, SENTINEL, RedisPlace
from gossamer.drivers.redis.packages import (
    BlockingConnectionPool,
    ClusterNode,
    NoBackoff,
    Redis,
    RedisCluster,
    Retry,
    Sentinel,
    SentinelConnectionPool,
    SSLConnection,
    parse_url,
)

CONNECT_S, ANSWER_S = 5.0, 15.0
CONNECTIONS = 32


class PrimaryPool(SentinelConnectionPool, BlockingConnectionPool):
    """Connections to the server that Sentinels name as the primary; who finds none free waits."""


def make_client(address: RedisPlace) -> Redis | RedisCluster:
    """Return a client, which connects on first use.

    Raises the driver's error for an unusable address: ``TypeError`` for an unknown parameter.
    """
    bounds: dict[str, Any] = {
        "socket_timeout": ANSWER_S,
        "socket_connect_timeout": CONNECT_S,
        "retry": Retry(NoBackoff(), 0),  # retries are decided here, not in the driver
        "decode_responses": False,
        "protocol": 2,  # supported by every version
    }
    if address.kind == CLUSTER:
        nodes = [ClusterNode(host, port) for host, port in address.servers]
        bounds |= {"max_connections": CONNECTIONS, **_options_of(address)}
        return RedisCluster(startup_nodes=nodes, **bounds)
    bounds |= {"max_connections": CONNECTIONS, "timeout": ANSWER_S}
    pool: BlockingConnectionPool
    if address.kind == SENTINEL:
        bounds |= _options_of(address)
        pool = PrimaryPool(address.name, _make_sentinels(address), **bounds)  # type: ignore[no-untyped-call]
    else:
        pool = BlockingConnectionPool.from_url(address.url, **bounds)
    pool.connection_class(**pool.connection_kwargs)  # or a parameter would fail at the first command
    return Redis.from_pool(pool)


async def close_client(client: Redis | RedisCluster) -> None:
    """Let go of its connections, to Sentinels as well. Idempotent."""
    await client.aclose()
    if isinstance(client, Redis):
        pool = client.connection_pool
        await pool.disconnect()
        if isinstance(pool, PrimaryPool):
            for sentinel in pool.sentinel_manager.sentinels:
                await sentinel.aclose()


def _make_sentinels(address: RedisPlace) -> Sentinel:
    options = {
        "socket_timeout": CONNECT_S,
        "socket_connect_timeout": CONNECT_S,
        "retry": Retry(NoBackoff(), 0),
        **tls_options(address),
        **address.sentinel_login,
    }
    return Sentinel(address.servers, sentinel_kwargs=options)  # type: ignore[no-untyped-call]


def tls_options(address: RedisPlace) -> dict[str, Any]:
    """Return the TLS options for servers and Sentinels; empty without TLS."""
    return {name: value for name, value in _options_of(address).items() if name.startswith("ssl")}


def _options_of(address: RedisPlace) -> dict[str, Any]:
    """User, password, database, TLS and parameters: everything but the one server's place."""
    options = dict(parse_url(address.url))
    is_tls = options.pop("connection_class", None) is SSLConnection
    for name in ("host", "port", *(("db",) if address.kind == CLUSTER else ())):
        options.pop(name, None)
    return options | ({"ssl": True} if is_tls else {})
