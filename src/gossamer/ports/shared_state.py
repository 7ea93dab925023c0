"""What workers share beside requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol


class SharedState(Protocol):
    """Small facts that all workers share and that survive restarts (robots.txt, cookies).

    Guarantee: a value that was set is seen by every call that begins afterwards, by any worker, until it
    expires. A value is named by a ``space`` (what kind of fact it is) and a ``key``; values are small, up to
    some ten kilobytes. Times are by the clock that all workers share.
    """

    async def get(self, space: str, key: str) -> bytes | None:
        """The value, unless it has expired."""
        ...

    async def get_many(self, space: str, keys: Sequence[str]) -> list[bytes | None]:
        """The values of several keys, in their order, at a part of the cost of single calls."""
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

    async def update(
        self, space: str, key: str, change: Callable[[bytes | None], bytes], ttl_s: float
    ) -> bytes:
        """``put`` what ``change`` makes of the value (``None``: there is none), and return that.

        No update is lost, however many workers change the value at the same time: this is how counts and
        observations are kept (of a proxy, of a host). ``change`` must be pure and quick: it may be called
        several times, on any thread. What it raises is raised, and nothing is set. Over a break of the
        server a change may be applied twice.
        """
        ...

    async def claim(self, space: str, key: str, ttl_s: float) -> bool:
        """Whether the caller may now make this value; others are refused until ``put`` or ``ttl_s``."""
        ...
