"""The production clock.

Anchored to the wall clock once, when it is made, and counted on by the monotonic clock: an operator or NTP
that sets the machine's clock in mid-run moves neither leases nor politeness. The price: after a jump
or a suspended machine the stamps of this process stay off by that much until it starts again.
"""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """A :class:`~gossamer.ports.clock.Clock` that never jumps and never goes back."""

    def __init__(self) -> None:
        self._anchor = time.time() - time.monotonic()

    def now(self) -> float:
        """Seconds since the epoch as they were at the start, plus the time that has passed since."""
        return self._anchor + time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait; zero or less yields to other tasks once."""
        await asyncio.sleep(max(0.0, seconds))
