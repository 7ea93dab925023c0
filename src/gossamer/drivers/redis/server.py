"""One Redis (or Valkey, or Redis Cluster): its connections, scripts, start-up checks, and its clock.

Guarantee: nothing connects before the first command; every wait for the server has an end; drivers' errors
leave here as :class:`~gossamer.core.errors.StorageError` and show no password. A command is sent once,
unless its caller says that it may be repeated: then a restart of the server is waited out, without a busy
loop.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import Any, NamedTuple, TypeVar, cast
from urllib.parse import quote

from gossamer.core.errors import StorageError, UsageError
from gossamer.core.redaction import shown_server
from gossamer.drivers.redis.address import CLUSTER, FORMS, kind_of, parse_address
from gossamer.drivers.redis.clients import close_client, make_client
from gossamer.drivers.redis.errors import is_passing, translate_error
from gossamer.drivers.redis.packages import Redis, RedisCluster
from gossamer.drivers.redis.packages import exceptions as driver
from gossamer.policy.fitness import RedisFacts
from gossamer.runtime.cancelling import heed_cancellation

T = TypeVar("T")

STEP = 500
"""Keys that one step of a search goes through."""
PATIENCE_S = 10.0
"""How long repeatable calls are retried."""
OLDEST = (6, 2)
"""The version from which on everything is there that is used."""


class LuaScript(NamedTuple):
    """A Lua script, and the name by which a server remembers it."""

    source: str
    digest: str


@cache
def load_script(package: str, *names: str) -> LuaScript:
    """Return the script that the ``.lua`` files of a package make, one after the other."""
    source = "\n".join((files(package) / "lua" / name).read_text("utf-8") for name in names)
    return LuaScript(source, sha1(source.encode(), usedforsecurity=False).hexdigest())


class RedisServer:
    """A server, the primary that Sentinels name, or a cluster, by its URL (:data:`~.address.ADDRESSES`).

    ``prefix`` is the first part of every key.
    """

    client: Redis | RedisCluster

    def __init__(self, url: str, *, prefix: str = "gossamer") -> None:
        self.prefix = prefix
        self.where = shown_server(url).partition("://")[2] or "…"
        if self.where.endswith("…"):  # a part of a password may be anywhere in it
            raise UsageError(f"a Redis URL cannot be read; {FORMS}")
        self.is_cluster = kind_of(url) == CLUSTER
        try:
            address = parse_address(url)
        except ValueError as error:
            raise UsageError(f"{self.where} is not a Redis URL: {error}; {FORMS}") from None
        try:
            self.client = make_client(address)
        except TypeError:
            unknown = "a parameter behind its ? is not known"
            raise UsageError(f"{self.where} is not a Redis URL: {unknown}; {FORMS}") from None
        except (ValueError, driver.RedisError) as error:
            raise UsageError(
                f"{self.where} is not a Redis URL ({_without_secrets(error)}); {FORMS}"
            ) from None

    def __repr__(self) -> str:
        return f"<RedisServer {self.where}>"

    def key_for(self, tag: str, *parts: str) -> str:
        """Return a key; all of one ``tag`` are in one slot of a cluster."""
        return ":".join((f"{self.prefix}:{{{quote(tag, safe=':')}}}", *parts))

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Drivers' errors as ``StorageError``."""
        try:
            yield
        except (driver.RedisError, driver.RedisClusterException, OSError) as error:
            raise translate_error(error, self.where) from error

    async def answer_of(self, call: Awaitable[T]) -> T:
        """Return a client call's answer. A cancellation that the driver loses still takes effect."""
        with self.translate_errors():
            return await heed_cancellation(call)

    async def run_command(self, command: str, *args: Any) -> Any:
        """Return the raw answer of one command."""
        return await self.answer_of(self.client.execute_command(command, *args))

    async def run_together(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Return many commands' answers, a few hundred in a round trip; an error stands in its answer's
        place.

        Not for clusters. Raises :class:`StorageError` when the server is away.
        """
        answers: list[Any] = []
        for start in range(0, len(commands), STEP):
            pipeline = cast("Redis", self.client).pipeline(transaction=False)
            for command in commands[start : start + STEP]:
                pipeline.execute_command(*command)
            answers += await self.answer_of(pipeline.execute(raise_on_error=False))
        return answers

    async def run_script(self, script: LuaScript, key: str, *args: Any, repeat: bool = False) -> Any:
        """Return a script's answer. ``key`` is its first key; all its keys are in the same slot.

        With ``repeat`` it may run twice, so a short absence of the server is waited for.
        """
        ends_at, tries = time.monotonic() + PATIENCE_S, 0
        while True:
            try:
                return await self.answer_of(self._send_script(script, key, args))
            except StorageError as error:
                wait_s = min(0.1 * 2**tries, 2.0) * (0.5 + random.random() / 2)  # noqa: S311 - a jitter
                passing = error.__cause__ is not None and is_passing(error.__cause__)
                if not (repeat and passing) or time.monotonic() + wait_s > ends_at:
                    raise
            tries += 1
            await asyncio.sleep(wait_s)

    async def _send_script(self, script: LuaScript, key: str, args: tuple[Any, ...]) -> Any:
        try:
            return await self.client.evalsha(script.digest, 1, key, *args)
        except driver.NoScriptError:
            return await self.client.eval(script.source, 1, key, *args)

    async def check_server(self, *, require_durable: bool = True) -> str:
        """Whether this Redis can be relied upon; what could not be found out (empty: nothing).

        Raises :class:`StorageError` for one that is too old, that may drop keys or forgets them when it
        ends (unless not ``require_durable``), :class:`UsageError` for a cluster that is not named as one.
        """
        try:
            found = await self.answer_of(self._read_infos())
        except StorageError as error:
            if isinstance(error.__cause__, driver.NoPermissionError):
                return f"Redis at {self.where} does not report its version, eviction policy and persistence"
            raise
        for info in found:
            self._check_version(info)
            if require_durable:
                self._check_durable(info)
        return ""

    async def _read_infos(self) -> list[dict[str, Any]]:
        if isinstance(self.client, RedisCluster):
            await self.client.initialize()
            by_node = await self.client.info(target_nodes=RedisCluster.PRIMARIES)
            return [by_node] if "redis_version" in by_node else list(by_node.values())
        return [await self.client.info()]

    def _check_version(self, info: dict[str, Any]) -> None:
        if info.get("redis_mode") == "sentinel":
            raise UsageError(
                f"Redis at {self.where} is a Sentinel, which keeps no data; write "
                "redis+sentinel://HOST:PORT/NAME for the primary that it calls NAME"
            )
        version = str(info["redis_version"])
        if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
            needed = ".".join(map(str, OLDEST))
            raise StorageError(f"Redis at {self.where} is version {version}; {needed} or newer is needed")
        if info.get("cluster_enabled") and not self.is_cluster:
            raise UsageError(
                f"Redis at {self.where} is a node of a Redis Cluster; write its URL as redis+cluster://HOST:PORT"
            )

    def _check_durable(self, info: dict[str, Any]) -> None:
        way_out = "For tests and trials it can be allowed: redis.require_durable = false"
        policy = info.get("maxmemory_policy", "noeviction")
        if policy != "noeviction":
            raise StorageError(
                f"Redis at {self.where} drops keys when it is full (maxmemory-policy {policy}), and "
                f"with them requests: redis-cli CONFIG SET maxmemory-policy noeviction. {way_out}"
            )
        if not info.get("aof_enabled", 1):
            raise StorageError(
                f"Redis at {self.where} loses its data when it stops (no append-only file): "
                f"redis-cli CONFIG SET appendonly yes. {way_out}"
            )

    async def check_writes(self) -> None:
        """Raise :class:`StorageError` where it takes no changes: a replica, a full one, one without its disk.

        Changes nothing: to write nothing behind the end of a key that is not there makes no key.
        """
        await self.run_command("SETRANGE", self.key_for("doctor", "nothing"), 0, b"")

    async def read_facts(self) -> list[RedisFacts]:
        """Return the reports of the server, or of each primary of a cluster."""
        return [
            RedisFacts(
                version=str(info["redis_version"]),
                role=str(info.get("role", "master")),
                replicas=int(info.get("connected_slaves", 0)),
                used_bytes=int(info.get("used_memory", 0)),
                max_bytes=int(info.get("maxmemory", 0)),
                policy=str(info.get("maxmemory_policy", "noeviction")),
                is_durable=bool(info.get("aof_enabled", 1)),
            )
            for info in await self.answer_of(self._read_infos())
        ]

    async def read_memory(self) -> tuple[int, int]:
        """Return the bytes used, and the limit; of a cluster, those of its fullest server.

        0 stands for no limit, and for a figure that this user may not read.
        """
        try:
            found = await self.answer_of(self._read_infos())
        except StorageError as error:
            if isinstance(error.__cause__, driver.NoPermissionError):
                return 0, 0
            raise
        sizes = [(int(info.get("used_memory", 0)), int(info.get("maxmemory", 0))) for info in found]
        return max(sizes, key=lambda size: size[0] / size[1] if size[1] else 0.0, default=(0, 0))

    async def delete_keys(self, pattern: str, *, but: bytes = b"") -> None:
        """Delete the keys of a pattern, but one, in small steps. Goes through all keys that there are."""

        async def delete() -> None:
            async for key in self.client.scan_iter(match=pattern, count=STEP):
                if key != but:
                    await heed_cancellation(self.client.unlink(key))

        await self.answer_of(delete())

    async def read_time(self) -> float:
        """Return the server's time."""
        targets = {"target_nodes": RedisCluster.RANDOM} if self.is_cluster else {}
        seconds, micros = await self.answer_of(self.client.time(**targets))
        return float(seconds) + micros / 1e6

    async def close(self) -> None:
        """Let go of the connections. Idempotent."""
        await close_client(self.client)


class RedisClock:
    """A :class:`~gossamer.ports.clock.Clock` that shows the server's time, equal on every machine.

    Between two measurements it follows this machine's monotonic clock, so that setting the machine's clock
    changes nothing.
    """

    MEASURED_FOR_S = 30.0

    def __init__(self, server: RedisServer) -> None:
        self._server = server
        self._offset_s = time.time() - time.monotonic()
        self._measure_at = 0.0

    @classmethod
    async def from_server(cls, server: RedisServer) -> RedisClock:
        """Return a clock that was set by the server. Raises :class:`StorageError`."""
        clock = cls(server)
        await clock.measure_offset()
        return clock

    @property
    def ahead_s(self) -> float:
        """By how much this machine's clock is ahead of the server's; negative: behind."""
        return time.time() - self.now()

    async def measure_offset(self) -> None:
        """Set it by the server: by the quickest of three answers."""
        found = []
        for _ in range(3):
            asked = time.monotonic()
            at = await self._server.read_time()
            took_s = time.monotonic() - asked
            found.append((took_s, at - asked - took_s / 2))
        self._offset_s = min(found)[1]
        self._measure_at = time.monotonic() + self.MEASURED_FOR_S

    def now(self) -> float:
        """See :class:`~gossamer.ports.clock.Clock`."""
        return time.monotonic() + self._offset_s

    async def sleep(self, seconds: float) -> None:
        """See :class:`~gossamer.ports.clock.Clock`. From time to time it is set anew meanwhile."""
        ends_at = time.monotonic() + seconds
        if time.monotonic() >= self._measure_at:
            self._measure_at = time.monotonic() + self.MEASURED_FOR_S
            try:
                async with asyncio.timeout(max(seconds, 1.0)):
                    await self.measure_offset()
            except (StorageError, TimeoutError):
                pass  # callers of the server report it; the time continues without it
        await asyncio.sleep(max(ends_at - time.monotonic(), 0.0))


def _without_secrets(error: Exception) -> str:
    """Return the driver's message about a URL, unless it may hold a part of it."""
    return re.split(r"[:\"'@]", str(error))[0].strip()
