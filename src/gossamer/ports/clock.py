"""Time as a parameter.

Code below the engine reads no clock of its own. Production passes ``gossamer.runtime.clock.SystemClock`` or a
server's time, tests pass ``gossamer.testing.clock``.
"""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Seconds since the epoch, and a way to wait."""

    def now(self) -> float:
        """Seconds since the epoch (UTC). May jump when the machine's clock is set."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; zero or less yields to other tasks once."""
        ...
