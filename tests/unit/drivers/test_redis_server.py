"""A Redis that is not as it must be: what is said, and that nothing secret is."""

import asyncio
import subprocess
import sys

import pytest
from redis.asyncio.connection import Connection

from gossamer.core.errors import MissingServiceError, StorageError, UsageError
from gossamer.core.hosts import FrontierRules, HostSignal
from gossamer.core.jobs import DeadLetterFilter
from gossamer.core.lifecycle import JobCommand
from gossamer.core.results import Verdict
from gossamer.drivers.redis import clients
from gossamer.drivers.redis import server as servers
from gossamer.drivers.redis.errors import RIGHTS
from gossamer.drivers.redis.server import LuaScript, RedisClock, RedisServer
from gossamer.frontier.redis.frontier import RedisFrontier
from gossamer.install import install_command
from gossamer.runtime.clock import SystemClock
from gossamer.shared.redis import RedisSharedState
from gossamer.testing.contracts.frontier_harness import make_entry, make_outcome
from kit.servers import RedisProcess


@pytest.fixture
async def server(redis_url):
    opened = RedisServer(redis_url)
    yield opened
    await opened.close()


async def refusal(url, kind=StorageError, **options):
    """What `check` says."""
    server = RedisServer(url)
    try:
        with pytest.raises(kind) as caught:
            await server.check_server(**options)
    finally:
        await server.close()
    return str(caught.value)


async def test_a_redis_as_it_should_be(server):
    assert await server.check_server() == ""
    assert repr(server) == f"<RedisServer {server.where}>"


async def test_one_that_drops_keys_or_forgets(server, redis_url):
    await server.run_command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    try:
        assert "redis-cli CONFIG SET maxmemory-policy noeviction" in await refusal(redis_url)
        await server.check_server(require_durable=False)
    finally:
        await server.run_command("CONFIG", "SET", "maxmemory-policy", "noeviction")
    with RedisProcess(is_durable=False) as process:
        text = await refusal(process.url)
        assert "redis-cli CONFIG SET appendonly yes" in text
        assert "redis.require_durable = false" in text


async def test_one_that_is_too_old(redis_url, monkeypatch):
    monkeypatch.setattr(servers, "OLDEST", (99, 1))
    assert "; 99.1 or newer is needed" in await refusal(redis_url)
    monkeypatch.undo()

    async def info(self):
        return [{"redis_version": "6.0.16", "maxmemory_policy": "noeviction", "aof_enabled": 1}]

    monkeypatch.setattr(RedisServer, "_read_infos", info)
    text = await refusal(redis_url)
    assert text == f"Redis at {redis_url.removeprefix('redis://')} is version 6.0.16; 6.2 or newer is needed"
    assert await refusal(redis_url, require_durable=False) == text, "whatever it is for"


async def test_a_node_of_a_cluster_must_be_named_as_one():
    with RedisProcess(options=("--cluster-enabled", "yes")) as process:
        assert "redis+cluster://HOST:PORT" in await refusal(process.url, UsageError)


async def test_wrong_password_and_no_password():
    with RedisProcess(password="hush-hush") as process:
        good = RedisServer(process.url)
        await good.check_server()
        await good.close()
        text = await refusal(process.url.replace("hush-hush", "wr0ng"))
        assert "refuses the user name or password" in text
        assert "wr0ng" not in text
        text = await refusal(process.url.replace(":hush-hush@", ""))
        assert "refuses the user name or password" in text


async def test_a_user_without_rights(server, redis_url):
    await server.run_command(
        "ACL", "SETUSER", "poor", "on", ">pw", "~gossamer:*", "+@all", "-eval", "-evalsha", "-info"
    )
    url = redis_url.replace("redis://", "redis://poor:pw@")
    try:
        poor = RedisServer(url)
        assert "does not report its version" in await poor.check_server()
        with pytest.raises(StorageError, match="does not give this user the rights it needs") as caught:
            await poor.run_script(LuaScript("return 1", "0" * 40), "gossamer:x")
        assert "pw" not in str(caught.value)
        await poor.close()
        await server.run_command("ACL", "SETUSER", "poor", "+eval", "+evalsha", "-set")
        poor = RedisServer(url)
        with pytest.raises(StorageError, match="does not give this user the rights it needs"):
            await poor.run_script(LuaScript("return redis.call('SET', KEYS[1], 1)", "0" * 40), "gossamer:x")
        with pytest.raises(StorageError, match="does not give this user the rights it needs"):
            await poor.run_command("GET", "elsewhere")
        await poor.close()
    finally:
        await server.run_command("ACL", "DELUSER", "poor")


async def test_the_rights_that_are_named_are_enough(server, redis_url):
    rights = RIGHTS.partition("~PREFIX:*")[2].split()
    await server.run_command("ACL", "SETUSER", "fit", "on", ">pw", "~gossamer:*", *rights)
    fit = RedisServer(redis_url.replace("redis://", "redis://fit:pw@"))
    try:
        assert await fit.check_server() == ""
        await RedisClock.from_server(fit)
        frontier = RedisFrontier(fit, "j", FrontierRules(delay_s=0.0), SystemClock(), owner="me")
        await frontier.create_shards()
        await frontier.add([make_entry(1), make_entry(2, "b.example")])
        one, other = (await frontier.lease("http", 9, 60)).leases
        await frontier.settle([make_outcome(one, Verdict.DEAD, one.granted_at, outlinks=(make_entry(3),))])
        await frontier.release([other], [HostSignal()])
        await frontier.apply_change(JobCommand.RECOVER, FrontierRules(per_host=3))
        assert await frontier.revive_letters(DeadLetterFilter()) == 1
        assert (await frontier.read_stats()).pending == 3
        assert (await frontier.find_request(3, "a.example")).place.ahead == 1
        await frontier.delete_requests()
        await RedisSharedState(fit, SystemClock()).put("robots", "k", b"v", 9)
    finally:
        await fit.close()
        await server.run_command("ACL", "DELUSER", "fit")


async def test_nobody_there():
    text = await refusal("redis://user:secret@127.0.0.1:1/0")
    assert text.startswith("Redis at 127.0.0.1:1/0 cannot be reached")
    assert "secret" not in text


async def test_one_that_hangs(monkeypatch):
    monkeypatch.setattr(clients, "ANSWER_S", 0.3)
    with RedisProcess() as process:
        server = RedisServer(process.url)
        await server.check_server()
        process.freeze()
        try:
            with pytest.raises(StorageError, match="does not answer in time"):
                await server.read_time()
        finally:
            process.thaw()
        await server.read_time()
        await server.close()


@pytest.mark.parametrize("url", ["http://x", "redis+cluster://:p4ss@x:port", "redis://x/0?socket_timeout=y"])
def test_what_is_no_url_of_a_redis(url):
    with pytest.raises(UsageError, match="redis://HOST:PORT/DB") as caught:
        RedisServer(url)
    assert "p4ss" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("LOADING Redis is loading the dataset in memory", "still loading its data"),
        ("MISCONF Redis is configured to save RDB snapshots", "cannot write to its disk"),
        ("READONLY You can't write against a read only replica.", "is a replica"),
        ("CLUSTERDOWN The cluster is down", "is an incomplete cluster"),
        ("ERR something else", "refuses a command: "),
    ],
)
async def test_what_the_server_says_is_translated(server, answer, words):
    failing = LuaScript(f'return redis.error_reply("{answer}")', "1" * 40)
    with pytest.raises(StorageError, match=words):
        await server.run_script(failing, "k")


async def test_a_forgotten_script_is_sent_again(server):
    doubled = servers.load_script("gossamer.shared", "put_shared.lua")
    await server.run_script(doubled, "k", b"12345678v", 1000)
    await server.run_command("SCRIPT", "FLUSH")
    await server.run_script(doubled, "k", b"12345678w", 1000)
    assert await server.run_command("GET", "k") == b"12345678w"


def test_keys_of_a_tag_are_in_one_slot():
    server = RedisServer("redis://x", prefix="p")
    assert server.key_for("job-1:0", "meta") == "p:{job-1:0}:meta"
    assert server.key_for("a}b", "meta") == "p:{a%7Db}:meta"


async def test_the_clock_shows_the_servers_time(server, monkeypatch):
    clock = await RedisClock.from_server(server)
    assert abs(clock.now() - await server.read_time()) < 0.5
    real = server.read_time

    async def an_hour_ahead():
        return await real() + 3600

    monkeypatch.setattr(server, "read_time", an_hour_ahead)
    await clock.sleep(0)
    assert abs(clock.now() - await real()) < 0.5  # measured a moment ago
    monkeypatch.setattr(clock, "_measure_at", 0.0)
    await clock.sleep(0)
    assert abs(clock.now() - await real() - 3600) < 0.5

    async def gone():
        raise StorageError("gone")

    monkeypatch.setattr(server, "read_time", gone)
    monkeypatch.setattr(clock, "_measure_at", 0.0)
    await clock.sleep(0)  # goes on without it


def test_the_driver_is_asked_for_when_it_is_missing():
    code = (
        "import sys\nsys.modules['redis'] = None\n"
        "from gossamer.core.errors import MissingServiceError\n"
        "try:\n    import gossamer.drivers.redis.server\n"
        "except MissingServiceError as error:\n    print(error)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert install_command("redis") in found.stdout
    assert issubclass(MissingServiceError, Exception)


@pytest.mark.parametrize(
    "url",
    [
        "redis://:s3cr/et@h",
        "redis://me:12/s3cret@h:1/0",
        "redis://me:12?s3cret@h",
        "redis://me:12#s3cret@h",
        "redis://h:s3cr",
        "redis://h/0?socket_timeout=s3cret",
    ],
)
def test_a_url_that_cannot_be_read_is_refused_and_not_shown(url):
    with pytest.raises(UsageError, match="write redis://HOST:PORT/DB") as caught:
        RedisServer(url)
    assert "s3cr" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["redis://h/0?{}", "redis+sentinel://h/main/0?{}", "rediss+cluster://h?{}"],
    ids=lambda url: url[:14],
)
async def test_an_unknown_parameter_is_refused_and_a_bound_of_its_own_is_taken(url):
    with pytest.raises(UsageError, match=r"a parameter behind its \? is not known; write") as caught:
        RedisServer(url.format("pasword=s3cret"))
    assert "s3cret" not in str(caught.value)
    await RedisServer(url.format("socket_timeout=3")).close()


async def test_one_cancellation_ends_a_task_whose_command_has_just_been_written(server, monkeypatch):
    clock = await RedisClock.from_server(server)
    clock.MEASURED_FOR_S = 0.0
    clock._measure_at = 0.0
    send, sent = Connection._send_packed_command, []

    async def send_and_cancel(connection, command):
        await send(connection, command)
        if not sent:
            sent.append(command)
            asyncio.get_running_loop().call_soon(task.cancel)  # before the one who waits has heard of it

    async def keep_leases():
        while True:
            await clock.sleep(0.01)

    monkeypatch.setattr(Connection, "_send_packed_command", send_and_cancel)
    task = asyncio.create_task(keep_leases())
    await asyncio.wait({task}, timeout=5)
    ended = task.done()
    task.cancel()
    await asyncio.wait({task}, timeout=5)
    assert sent
    assert ended, "the cancellation was lost"
