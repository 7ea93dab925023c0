"""The delay of an event loop, caused by callbacks that compute for long."""

from __future__ import annotations

import asyncio
from collections import deque

EVERY_S = 0.5
"""Seconds between two looks; a look costs a few microseconds."""
WINDOW_S = 15.0
"""Seconds over which the longest delay is reported: the usual interval of Prometheus."""


class LoopLagMonitor:
    """Measures the delay of the event loop that runs when it is made. ``longest_s`` is for any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._late: deque[float] = deque([0.0], maxlen=round(WINDOW_S / EVERY_S))
        self._expected = 0.0
        self._wait()

    def _wait(self) -> None:
        self._expected = self._loop.time() + EVERY_S
        self._timer = self._loop.call_at(self._expected, self._look)

    def _look(self) -> None:
        self._late.append(max(self._loop.time() - self._expected, 0.0))
        self._wait()

    def longest_s(self) -> float:
        """The longest recent delay, in seconds; for a blocked loop, its delay until now."""
        return max(*tuple(self._late), self.held_up_s())

    def held_up_s(self) -> float:
        """Seconds for which the loop is blocked now."""
        return max(self._loop.time() - self._expected, 0.0)

    def close(self) -> None:
        """Stop measuring."""
        self._timer.cancel()
