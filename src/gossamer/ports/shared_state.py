"""State that workers share besides requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol


class SharedState(Protocol):
    """Small facts that all workers share and that survive restarts (robots.txt, cookies).

    Guarantee: every call that begins after a value was set sees it, in any worker, until it expires. A
    ``space`` (the kind of fact) and a ``key`` name a value; values are small, up to about ten kilobytes.
    Times are by the clock that all workers share.
    """

    async def get(self, space: str, key: str) -> bytes | None:
        """Return the value unless it has expired."""
        ...

    async def get_many(self, space: str, keys: Sequence[str]) -> list[bytes | None]:
        """Return the values of several keys, in their order, at a lower cost than single calls."""
        ...

    async def put(self, space: str, key: str, value: bytes, ttl_s: float) -> None:
        """Set a value for ``ttl_s`` seconds and end any claim on it."""
        ...

    async def compare_and_swap(
        self, space: str, key: str, expected: bytes | None, value: bytes, ttl_s: float
    ) -> bool:
        """Set the value if it equals ``expected`` (``None``: absent); return whether it was set.

        After a lost connection a set value may return ``False``: read the value and retry.
        """
        ...

    async def update(
        self, space: str, key: str, change: Callable[[bytes | None], bytes], ttl_s: float
    ) -> bytes:
        """Set the value to ``change`` of the present value (``None``: absent), and return it.

        No update is lost, also with concurrent workers: counts and observations (of a proxy, of a host) are
        kept this way. ``change`` must be pure and quick: it may be called several times, on any thread. Its
        exceptions propagate, and nothing is set. After a lost connection a change may be applied twice.
        """
        ...

    async def claim(self, space: str, key: str, ttl_s: float) -> bool:
        """Return whether the caller may now compute this value; others are refused until ``put`` or
        ``ttl_s``.
        """
        ...
