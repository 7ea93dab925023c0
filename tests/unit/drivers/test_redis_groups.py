"""Redis as clouds give it, with real servers: Sentinels that change the primary, and a cluster over TLS."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from gossamer.cluster.app import check_broker, make_app
from gossamer.cluster.publisher import ShiftPublisher
from gossamer.config.layers import load_settings
from gossamer.config.settings import Settings
from gossamer.core.errors import GossamerError, StorageError, UsageError
from gossamer.core.shifts import Shift
from gossamer.drivers.redis.server import RedisServer, load_script
from kit.redis_groups import SentinelGroup, TlsRedisProcess, TlsSentinelProcess
from kit.servers import redis_cluster

PUT = load_script("gossamer.shared", "put_shared.lua")
PASSWORD, OTHER = "hush-hush", "other-secret"

pytestmark = [pytest.mark.server, pytest.mark.slow]


@pytest.fixture(scope="module")
def group() -> Iterator[SentinelGroup]:
    with SentinelGroup(password=PASSWORD, sentinel_password=OTHER) as found:
        yield found


async def write(server: RedisServer) -> None:
    await server.run_script(PUT, server.key_for("t", "k"), b"12345678v", 60_000, repeat=True)


def refused(url: str, kind: type[GossamerError]) -> str:
    """The refusal of a server at a URL."""

    async def check() -> None:
        server = RedisServer(url)
        try:
            await server.check_server()
        finally:
            await server.close()

    with pytest.raises(kind) as caught:
        asyncio.run(check())
    said = str(caught.value)
    assert PASSWORD not in said
    assert OTHER not in said
    return said


def settings_at(url: str) -> Settings:
    return load_settings(env={}, spider={"frontier": {"url": url}, "broker": {"url": url}}).settings


def test_mistakes_in_the_address_of_sentinels_are_named(group: SentinelGroup) -> None:
    assert "name no primary 'mian' that is up" in refused(group.url.replace("/main/", "/mian/"), StorageError)
    assert "add ?sentinel_password=PASSWORD" in refused(group.url.partition("?")[0], StorageError)
    wrong = group.url.replace(f":{PASSWORD}@", ":wrong-one@")
    assert "refuses the user name or password" in refused(wrong, StorageError)
    alone = f"redis://:{OTHER}@127.0.0.1:{group.url.rpartition(':')[2].partition('/')[0]}/0"
    assert "is a Sentinel, which keeps no data; write redis+sentinel://" in refused(alone, UsageError)
    plain = f"redis+sentinel://127.0.0.1:{group.primary.port}/main?sentinel_password={PASSWORD}"
    assert "is not a Sentinel; write redis://HOST:PORT/DB" in refused(plain, StorageError)
    nowhere = f"redis+sentinel://:{PASSWORD}@127.0.0.1:1,127.0.0.1:2/main"
    assert "no Sentinel that answers" in refused(nowhere, StorageError)
    cluster = f"redis+cluster://:{PASSWORD}@127.0.0.1:{group.primary.port}"
    assert "is not in a Redis Cluster" in refused(cluster, StorageError)


def test_requests_and_messages_follow_the_primary(group: SentinelGroup) -> None:
    url = group.url.replace("@127", "@127.0.0.1:1,127")  # one Sentinel is away
    settings = settings_at(url)
    check_broker(settings)
    publisher = ShiftPublisher(make_app(settings), "default")

    async def outlast() -> None:
        server = RedisServer(url)
        await write(server)
        publisher.publish_shifts([Shift(id="before", job="shop-1", lane="http")])
        await asyncio.to_thread(group.fail_over)
        await write(server)
        assert (await server.run_command("INFO", "server"))["tcp_port"] == group.replica.port
        await server.close()

    asyncio.run(outlast())
    check_broker(settings)
    publisher.publish_shifts([Shift(id="after", job="shop-1", lane="http")])


async def use(url: str) -> None:
    server = RedisServer(url)
    assert await server.check_server() == ""
    await write(server)
    await server.close()


def test_sentinels_over_tls(tmp_path: Path) -> None:
    with TlsRedisProcess(tmp_path) as primary, TlsSentinelProcess(primary) as sentinel:
        asyncio.run(use(sentinel.url))
        check_broker(settings_at(sentinel.url))
        said = refused(sentinel.url.partition("?")[0], StorageError)
        assert "no Sentinel that answers" in said
        assert "can their certificates be verified" in said


@pytest.mark.long
def test_a_cluster_over_tls(tmp_path: Path) -> None:
    with redis_cluster(partial(TlsRedisProcess, tmp_path)) as nodes:
        url = nodes[0].url.replace("rediss:", "rediss+cluster:")
        asyncio.run(use(url))
        asyncio.run(use(url.replace("127.0.0.1", "127.0.0.1:1,127.0.0.1")))
        said = refused(url.partition("?")[0], StorageError)
        assert "has a certificate that cannot be verified" in said
        assert "?ssl_ca_certs=FILE" in said
        assert "write its URL as redis+cluster://" in refused(nodes[0].url, UsageError)
