"""Small facts that all workers share, in Redis.

Guarantee: a value is there until it expires by the common clock (Redis's own, in production). When several
workers claim a value at the same time, exactly one may make it, and its claim ends with the value, at the
latest at its time. Redis deletes both by itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from math import ceil
from struct import Struct

from gossamer.core.errors import StorageError
from gossamer.drivers.redis.server import RedisServer, load_script
from gossamer.ports.clock import Clock

_EXPIRES_AT = Struct("<d")

MAX_ATTEMPTS = 1000
"""How often an update begins anew when others change the value at the same time."""


class RedisSharedState:
    """A ``SharedState`` over a Redis."""

    def __init__(self, server: RedisServer, clock: Clock) -> None:
        self._server = server
        self._clock = clock

    async def get(self, space: str, key: str) -> bytes | None:
        """See :class:`~gossamer.ports.shared_state.SharedState`."""
        get = load_script(
            "gossamer.shared", "get_shared.lua"
        )  # a script, so that a short break is waited for
        stored: bytes | None = await self._server.run_script(get, self._key_for(space, key), repeat=True)
        return _value_at(stored, self._clock.now())

    async def get_many(self, space: str, keys: Sequence[str]) -> list[bytes | None]:
        """See :class:`~gossamer.ports.shared_state.SharedState`."""
        if keys and not self._server.is_cluster:  # there, each key may be on another server
            with contextlib.suppress(StorageError):  # single calls wait for a short break
                stored = await self._server.run_command("MGET", *(self._key_for(space, key) for key in keys))
                now = self._clock.now()
                return [_value_at(one, now) for one in stored]
        return [await self.get(space, key) for key in keys]

    async def put(self, space: str, key: str, value: bytes, ttl_s: float) -> None:
        """See :class:`~gossamer.ports.shared_state.SharedState`."""
        stored = _EXPIRES_AT.pack(self._clock.now() + ttl_s) + value
        put = load_script("gossamer.shared", "put_shared.lua")
        await self._server.run_script(
            put, self._key_for(space, key), stored, _to_milliseconds(ttl_s), repeat=True
        )

    async def compare_and_swap(
        self, space: str, key: str, expected: bytes | None, value: bytes, ttl_s: float
    ) -> bool:
        """See :class:`~gossamer.ports.shared_state.SharedState`."""
        now = self._clock.now()
        swap = load_script("gossamer.shared", "swap_shared.lua")
        known = (b"0", b"") if expected is None else (b"1", expected)
        stored = _EXPIRES_AT.pack(now + ttl_s) + value
        times = (_EXPIRES_AT.pack(now), _to_milliseconds(ttl_s))
        return bool(
            await self._server.run_script(
                swap, self._key_for(space, key), stored, *times, *known, repeat=True
            )
        )

    async def update(
        self, space: str, key: str, change: Callable[[bytes | None], bytes], ttl_s: float
    ) -> bytes:
        """See :class:`~gossamer.ports.shared_state.SharedState`."""
        for _ in range(MAX_ATTEMPTS):
            known = await self.get(space, key)
            value = change(known)
            if await self.compare_and_swap(space, key, known, value, ttl_s):
                return value
        raise StorageError(
            f"Redis at {self._server.where}: the shared value {space} {key!r} changes too fast: others were "
            f"faster {MAX_ATTEMPTS} times in a row. Nothing was changed; fewer workers at once would help"
        )

    async def claim(self, space: str, key: str, ttl_s: float) -> bool:
        """See :class:`~gossamer.ports.shared_state.SharedState`."""
        now = self._clock.now()
        claim = load_script("gossamer.shared", "claim_shared.lua")
        times = (_EXPIRES_AT.pack(now), _EXPIRES_AT.pack(now + ttl_s), _to_milliseconds(ttl_s))
        return bool(await self._server.run_script(claim, self._key_for(space, key), *times))

    def _key_for(self, space: str, key: str) -> str:
        return self._server.key_for(f"shared:{space}:{key}")


def _value_at(stored: bytes | None, now: float) -> bytes | None:
    """Return the stored value without its time; ``None`` if it is missing or has expired."""
    if stored is None or _EXPIRES_AT.unpack_from(stored)[0] <= now:
        return None
    return stored[_EXPIRES_AT.size :]


def _to_milliseconds(ttl_s: float) -> int:
    return max(ceil(ttl_s * 1000), 1)
