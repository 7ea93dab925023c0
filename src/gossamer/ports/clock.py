"""Time as a parameter.

Nothing below the engine reads a clock; what needs one is given one of these. Production uses
``gossamer.runtime.clock.SystemClock`` or the time of a server, tests use ``gossamer.testing.clock``.
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
