"""A bound on the memory of all large bodies in flight.

One page of 32 MB is bearable, sixty-four at once are not. Bodies beyond :data:`LARGE_BYTES` are counted
here, and wait while all together exceed the budget, except the one that began first. So memory is bounded
(the budget and one body), and one body always proceeds. Ordinary pages are not counted.
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
        """Release a finished body, whatever its outcome, and continue those that waited for it.
        Idempotent."""
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
