"""One shard of a job's frontier in Redis: its keys, and its scripts.

Guarantee: every call of a script is one atomic step, at one time; one for a job whose marker is gone
(somebody emptied Redis) raises, so that a crawl that lost its requests never looks finished.
"""

from __future__ import annotations

from typing import Any

import msgspec

from gossamer.core.errors import LostRequestsError, StorageError
from gossamer.core.requests import Lease
from gossamer.drivers.redis.server import LuaScript, RedisServer, load_script
from gossamer.ports.clock import Clock

_LIBRARY = ("politeness.lua", "library.lua")
_ADMITTING = ("add", "settle", "known", "places", "bury")
_STEERING = ("control", "rules", "steer", "place")
_packed = msgspec.msgpack.Encoder().encode


def script_of(name: str) -> LuaScript:
    """A script of the frontier, with what it is made of."""
    if name == "create":
        return load_script("gossamer.frontier.redis", "create.lua")
    more = ("admit.lua",) if name in _ADMITTING else ("steering.lua",) if name in _STEERING else ()
    return load_script("gossamer.frontier.redis", *_LIBRARY, *more, f"{name}.lua")


class RedisShard:
    """Shard ``index`` of ``of``. With ``clock`` the scripts take the time from it instead of the server's.

    ``tag`` stands in the names of its keys, by default the job's id.
    """

    def __init__(
        self, server: RedisServer, job: str, index: int, of: int, clock: Clock | None, *, tag: str = ""
    ) -> None:
        self.server = server
        self.index = index
        self.of = of
        self.key = server.key_for(f"{tag or job}:{index}")
        self._job = job
        self._clock = clock

    def token_of(self, lease: Lease) -> int:
        """A lease's token as this shard knows it; 0, which is nobody's, for another's."""
        token, index = divmod(lease.token, self.of)
        return token if index == self.index and 0 < token < 2**48 else 0

    async def run_script(self, name: str, *args: Any, repeat: bool = False) -> Any:
        """What a script answers. Raises :class:`StorageError`."""
        now = "" if self._clock is None else f"{self._clock.now():.17g}"
        try:
            return await self.server.run_script(script_of(name), self.key, now, _packed(args), repeat=repeat)
        except StorageError as error:
            if "GOSSAMER_GONE" in str(error.__cause__):
                raise self.gone_error() from None
            raise

    def number_of(self, id_here: int) -> int:
        """A request's id, as no other shard gives it."""
        return id_here * self.of + self.index

    async def run_command(self, command: str, key: str | bytes, *args: Any) -> Any:
        """What a command answers about one of its keys."""
        end = key.encode() if isinstance(key, str) else key
        return await self.server.run_command(command, self.key.encode() + b":" + end, *args)

    async def read_meta(self, *fields: str) -> list[Any]:
        """Fields of its marker. Raises :class:`StorageError`."""
        found = await self.run_command("HMGET", "meta", "state", *fields)
        if found[0] is None:
            raise self.gone_error()
        return list(found[1:])

    def gone_error(self) -> LostRequestsError:
        """What to say when the marker is not there."""
        return LostRequestsError(
            f"the requests of job {self._job} are gone from Redis at {self.server.where}: it was emptied, "
            "it started without its append-only file, or the job ended longer ago than frontier.keep says. "
            "Stored items and pages stay; start the crawl over "
            f"(`gossamer crawl --fresh`, or `gossamer cancel {self._job}` and submit it again)"
        )
