"""By how much an event loop is late: what a callback that computes for long does to everything else."""

from __future__ import annotations

import asyncio
from collections import deque

EVERY_S = 0.5
"""How often it is looked at; a look costs a few microseconds."""
WINDOW_S = 15.0
"""The time of which the longest delay is told: the usual time between two looks at metrics."""


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
        """The longest delay lately, in seconds; of a loop that is held up now, for how long it is already."""
        return max(*tuple(self._late), self.held_up_s())

    def held_up_s(self) -> float:
        """For how long the loop is held up already, in seconds."""
        return max(self._loop.time() - self._expected, 0.0)

    def close(self) -> None:
        """Look no more."""
        self._timer.cancel()
