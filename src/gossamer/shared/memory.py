"""Shared state in the memory of one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gossamer.ports.clock import Clock


class MemorySharedState:
    """A ``SharedState`` that lives and dies with its process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._values: dict[tuple[str, str], tuple[bytes, float]] = {}  # with the time of expiry
        self._claims: dict[tuple[str, str], float] = {}

    async def get(self, space: str, key: str) -> bytes | None:
        """See :class:`~gossamer.ports.shared_state.SharedState`."""
        value, expires_at = self._values.get((space, key), (None, 0.0))
        return value if expires_at > self._clock.now() else None

    async def get_many(self, space: str, keys: Sequence[str]) -> list[bytes | None]:
        """See :class:`~gossamer.ports.shared_state.SharedState`."""
        return [await self.get(space, key) for key in keys]

    async def put(self, space: str, key: str, value: bytes, ttl_s: float) -> None:
        """See :class:`~gossamer.ports.shared_state.SharedState`."""
        self._values[space, key] = (value, self._clock.now() + ttl_s)
        self._claims.pop((space, key), None)

    async def compare_and_swap(
        self, space: str, key: str, expected: bytes | None, value: bytes, ttl_s: float
    ) -> bool:
        """See :class:`~gossamer.ports.shared_state.SharedState`."""
        if await self.get(space, key) != expected:
            return False
        await self.put(space, key, value, ttl_s)
        return True

    async def update(
        self, space: str, key: str, change: Callable[[bytes | None], bytes], ttl_s: float
    ) -> bytes:
        """See :class:`~gossamer.ports.shared_state.SharedState`."""
        value = change(await self.get(space, key))
        await self.put(space, key, value, ttl_s)
        return value

    async def claim(self, space: str, key: str, ttl_s: float) -> bool:
        """See :class:`~gossamer.ports.shared_state.SharedState`."""
        now = self._clock.now()
        if self._claims.get((space, key), 0.0) > now:
            return False
        self._claims[space, key] = now + ttl_s
        return True
