"""One shard of a job's frontier in Redis: its keys, and its scripts.

Guarantee: every call of a script is one atomic step, at one time; a call for a job whose marker is gone
(Redis was emptied) raises, so that a crawl that lost its requests never looks finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha1
from typing import Any

import msgspec

from gossamer.core.errors import LostRequestsError, StorageError
from gossamer.core.hosts import SharedPace
from gossamer.core.requests import Lease
from gossamer.drivers.redis.server import LuaScript, RedisServer, load_script
from gossamer.frontier.redis.wire import pace_of, text_bytes
from gossamer.ports.clock import Clock

_LIBRARY = ("politeness.lua", "sharing.lua", "library.lua")
_ADMITTING = ("add", "settle", "known", "places", "bury")
_STEERING = ("control", "rules", "steer", "place")
HOURS_S = 21_600.0
"""The period that one hash of hosts' common knowledge covers (``sharing.lua``)."""
_packed = msgspec.msgpack.Encoder().encode


def script_of(name: str) -> LuaScript:
    """Load a script of the frontier, with the parts that it includes."""
    if name == "create":
        return load_script("gossamer.frontier.redis", "create.lua")
    more = ("admit.lua",) if name in _ADMITTING else ("steering.lua",) if name in _STEERING else ()
    return load_script("gossamer.frontier.redis", *_LIBRARY, *more, f"{name}.lua")


class RedisShard:
    """Shard ``index`` of ``of``. With ``clock`` the scripts take the time from it instead of the server's.

    ``tag`` stands in the names of its keys, by default the job's id. Jobs with the same ``paces``, the name
    of a key, share the pace of their hosts; without one each job has its own.
    """

    def __init__(
        self,
        server: RedisServer,
        job: str,
        index: int,
        of: int,
        clock: Clock | None,
        *,
        tag: str = "",
        paces: str = "",
    ) -> None:
        self.server = server
        self.index = index
        self.of = of
        self.key = server.key_for(f"{tag or job}:{index}")
        self._job = job
        self._clock = clock
        self._paces = server.key_for(paces) if paces else ""
        self._claimant = sha1(self.key.encode(), usedforsecurity=False).hexdigest()[:8]

    def token_of(self, lease: Lease) -> int:
        """Return a lease's token on this shard; 0, which matches no lease, for a lease of another shard."""
        token, index = divmod(lease.token, self.of)
        return token if index == self.index and 0 < token < 2**48 else 0

    async def run_script(self, name: str, *args: Any, repeat: bool = False) -> Any:
        """Run a script and return its answer. Raises :class:`StorageError`."""
        try:
            return await self.server.run_script(
                script_of(name), self.key, *self._script_arguments(args), repeat=repeat
            )
        except StorageError as error:
            if "GOSSAMER_GONE" in str(error.__cause__):
                raise self.gone_error() from None
            raise

    def script_command(self, name: str, *args: Any) -> tuple[Any, ...]:
        """Return the command that runs a script which the server knows already."""
        return ("EVALSHA", script_of(name).digest, 1, self.key, *self._script_arguments(args))

    def _script_arguments(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        now = "" if self._clock is None else f"{self._clock.now():.17g}"
        return now, _packed(args), self._paces, self._claimant

    async def read_paces(self, hosts: Sequence[str]) -> tuple[float, list[SharedPace | None]]:
        """Return the time, and the common knowledge of some hosts; ``None`` for an unknown one."""
        if not self._paces or not hosts:
            return 0.0, [None] * len(hosts)
        told = (await self.server.run_command("TIME"))[0] if self._clock is None else self._clock.now()
        now = float(told)
        names, present = [text_bytes(host) for host in hosts], int(now // HOURS_S)
        rows = [
            await self.server.run_command("HMGET", f"{self._paces}:{number}", *names)
            for number in (present, present - 1)
        ]
        return now, [pace_of(new or old) if new or old else None for new, old in zip(*rows, strict=True)]

    def number_of(self, id_here: int) -> int:
        """Return a request's id, as no other shard gives it."""
        return id_here * self.of + self.index

    async def run_command(self, command: str, key: str | bytes, *args: Any) -> Any:
        """Run a command on one of the shard's keys and return its answer."""
        return await self.server.run_command(command, self.key_of(key), *args)

    def key_of(self, key: str | bytes) -> bytes:
        """Return one of its keys by its end."""
        return self.key.encode() + b":" + (key.encode() if isinstance(key, str) else key)

    async def read_meta(self, *fields: str) -> list[Any]:
        """Fields of its marker. Raises :class:`StorageError`."""
        found = await self.run_command("HMGET", "meta", "state", *fields)
        if found[0] is None:
            raise self.gone_error()
        return list(found[1:])

    def gone_error(self) -> LostRequestsError:
        """Return the error for a missing marker."""
        return LostRequestsError(
            f"the requests of job {self._job} are gone from Redis at {self.server.where}: it was emptied, "
            "it started without its append-only file, or the job ended longer ago than frontier.keep says. "
            "Stored items and pages stay; start the crawl over "
            f"(`gossamer crawl --fresh`, or `gossamer cancel {self._job}` and submit it again)"
        )
