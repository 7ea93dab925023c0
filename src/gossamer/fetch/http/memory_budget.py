"""The memory that large bodies under way may take together.

One page of 32 MB is bearable, sixty-four at once are not. What has grown beyond :data:`LARGE_BYTES` is
counted here, and waits when all together are beyond the budget, except the one that began first: so memory
has a bound (the budget and one body), and somebody always gets to an end. Ordinary pages never come here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

LARGE_BYTES = 512 * 1024
"""Bodies are counted in steps of so much."""


class MemoryBudget:
    """Belongs to one event loop."""

    def __init__(self, budget_bytes: int) -> None:
        self._budget = budget_bytes
        self._used = 0
        self._inside: dict[Hashable, int] = {}  # bytes of each body, the one that began first in front
        self._waiting: dict[Hashable, Callable[[], None]] = {}

    def __repr__(self) -> str:
        return (
            f"<MemoryBudget of {self._used} bytes in {len(self._inside)} bodies, {len(self._waiting)} wait>"
        )

    def reserve_bytes(self, body: Hashable, size: int, go_on: Callable[[], None]) -> bool:
        """Count ``size`` more bytes; ``False``: wait until ``go_on`` is called."""
        self._inside[body] = self._inside.get(body, 0) + size
        self._used += size
        if self._used <= self._budget or body is next(iter(self._inside)):
            return True
        self._waiting[body] = go_on
        return False

    def release_body(self, body: Hashable) -> None:
        """This body is over, one way or the other; those that it kept waiting go on. Idempotent."""
        size = self._inside.pop(body, None)
        if size is None:
            return
        self._used -= size
        self._waiting.pop(body, None)
        first = next(iter(self._inside), None)
        ready = (
            list(self._waiting) if self._used <= self._budget else [first] if first in self._waiting else []
        )
        for waiting in ready:
            self._waiting.pop(waiting)()
