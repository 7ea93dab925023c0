"""What workers share beside requests."""

from __future__ import annotations

from typing import Protocol


class SharedState(Protocol):
    """Small facts that all workers share and that survive restarts (robots.txt, cookies)."""

    async def get(self, space: str, key: str) -> bytes | None:
        """The value, unless it has expired."""
        ...

    async def put(self, space: str, key: str, value: bytes, ttl_s: float) -> None:
        """Set a value for ``ttl_s`` seconds and end any claim on it."""
        ...

    async def compare_and_swap(
        self, space: str, key: str, expected: bytes | None, value: bytes, ttl_s: float
    ) -> bool:
        """``put``, if the value is ``expected`` (``None``: there is none); ``False``: it is not, nothing set.

        Over a break of the server it may be set and answer ``False``: read the value and try again.
        """
        ...

    async def claim(self, space: str, key: str, ttl_s: float) -> bool:
        """Whether the caller may now make this value; others are refused until ``put`` or ``ttl_s``."""
        ...
