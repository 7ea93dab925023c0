"""The servers of the tests: they start, keep their data when killed, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from kit import server_process
from kit.environment import environment
from kit.server_process import Process
from kit.servers import PostgresProcess, RabbitProcess, RedisProcess

KILLED = """
import sys, time
from kit.servers import *
with {kind}() as server:
    print(server.pid, server.port, server.folder, flush=True)
    time.sleep(600)
"""


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def is_there(pid: int) -> bool:
    """A zombie is not there: whoever inherits it has not looked yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def members(group: int) -> list[int]:
    """The processes of a group."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields[0] != "Z" and int(fields[2]) == group:
            found.append(int(stat.parent.name))
    return found


async def test_redis_keeps_what_was_written_when_it_is_killed() -> None:
    with RedisProcess() as server, redis.Redis.from_url(server.url) as client:
        client.set("page", 1)
        info = client.info("persistence")
        assert info["aof_enabled"] == 1
        until(lambda: client.info("persistence")["aof_pending_bio_fsync"] == 0)
        folder, port = server.folder, server.port
        server.kill()
        assert not server.is_running
        server.restart()
        assert (server.folder, server.port) == (folder, port)
        assert client.get("page") == b"1"
    assert not folder.exists()


def test_redis_as_a_test_wants_it() -> None:
    once = Retry(NoBackoff(), 0)
    with RedisProcess(password="secret", maxmemory="50mb", policy="allkeys-lru", is_durable=False) as server:
        with redis.Redis.from_url(server.url) as client:
            assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "allkeys-lru"}
            assert client.config_get("maxmemory") == {"maxmemory": str(50 * 1024 * 1024)}
            assert client.config_get("appendonly") == {"appendonly": "no"}
        with redis.Redis(port=server.port, retry=once) as stranger, pytest.raises(redis.AuthenticationError):
            stranger.ping()
        server.freeze()
        with (
            redis.Redis(port=server.port, socket_timeout=0.1, retry=once) as client,
            pytest.raises(redis.TimeoutError),
        ):
            client.ping()
        server.thaw()
        assert server.answers()


@pytest.mark.long
@pytest.mark.parametrize("mode", ["immediate", "fast", "kill"])
async def test_postgres_keeps_what_was_committed(postgres_server: PostgresProcess, mode: str) -> None:
    connection = await asyncpg.connect(postgres_server.start().url)
    await connection.execute("CREATE TABLE kept AS SELECT 1 AS page")
    connection.terminate()
    postgres_server.restart(mode)  # type: ignore[arg-type]
    connection = await asyncpg.connect(postgres_server.url)
    assert await connection.fetchval("SELECT page FROM kept") == 1
    assert await connection.fetchval("SHOW fsync") == "on"
    await connection.execute("DROP TABLE kept")
    await connection.close()


@pytest.mark.long
async def test_postgres_with_a_password() -> None:
    with PostgresProcess(password="secret", options={"max_connections": "7"}) as server:
        connection = await asyncpg.connect(server.url)
        assert await connection.fetchval("SHOW max_connections") == "7"
        await connection.close()
        with pytest.raises(asyncpg.InvalidPasswordError):
            await asyncpg.connect(server.url.replace("secret", "wrong"))


@pytest.mark.long
def test_rabbit_carries_messages(amqp_url: str) -> None:
    kombu = pytest.importorskip("kombu")
    with kombu.Connection(amqp_url) as connection, connection.SimpleQueue("hello") as queue:
        queue.put({"shift": 1})
        message = queue.get(timeout=30)
        assert message.payload == {"shift": 1}
        message.ack()


async def test_each_test_has_an_empty_place(redis_url: str, postgres_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.set("left", "over")
    connection = await asyncpg.connect(postgres_url)
    assert await connection.fetchval("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0
    await connection.execute("CREATE TABLE left_over ()")
    await connection.close()


async def test_so_has_the_next(redis_url: str, postgres_url: str) -> None:
    await test_each_test_has_an_empty_place(redis_url, postgres_url)


def test_a_place_is_there_after_a_test_has_killed_the_server(
    redis_server: RedisProcess, request: pytest.FixtureRequest
) -> None:
    redis_server.kill()
    with redis.Redis.from_url(request.getfixturevalue("redis_url")) as client:
        assert client.ping()


@pytest.mark.parametrize(
    "kind",
    [
        RedisProcess,
        *(pytest.param(kind, marks=pytest.mark.thorough) for kind in (PostgresProcess, RabbitProcess)),
    ],
)
def test_nothing_stays_when_the_tests_are_killed(kind: type[Process]) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", KILLED.format(kind=kind.__name__)],
        stdout=subprocess.PIPE,
        env=environment(PYTHONPATH=str(Path(server_process.__file__).parents[1])),
    )
    assert program.stdout is not None
    with program.stdout:
        pid, port, folder = program.stdout.readline().split()
    group = os.getpgid(int(pid))
    assert is_there(int(pid))
    assert members(group)
    program.send_signal(signal.SIGKILL)
    program.wait()
    until(lambda: not is_there(int(pid)) and not members(group) and not Path(folder.decode()).exists())
    assert not server_process.said(int(port), b"PING\r\n")


def test_a_port_that_somebody_takes_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    with RedisProcess() as other:
        ports = [other.port]
        choose = server_process.free_port
        monkeypatch.setattr(server_process, "free_port", lambda: ports.pop() if ports else choose())
        with RedisProcess() as server:
            assert server.port != other.port
            assert server.answers()


def test_a_missing_program_is_a_failure_only_in_continuous_integration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="apt-get install nothing"):
        server_process.program("no-such-server", "nothing")
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="apt-get install nothing"):
        server_process.program("no-such-server", "nothing")
