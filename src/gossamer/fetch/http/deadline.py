"""One timer for many deadlines that move."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class DeadlineTimer:
    """Calls ``expire`` when the deadline has passed. To move it later costs nothing until it would fire."""

    __slots__ = ("_at", "_expire", "_loop", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop, expire: Callable[[], None]) -> None:
        self._loop = loop
        self._expire = expire
        self._at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_running(self) -> bool:
        """Whether it will expire."""
        return self._timer is not None

    def start(self, at: float) -> None:
        """Expire at this time of the loop's, and no more at another one."""
        if self._timer is not None:
            self._timer.cancel()
        self._at = at
        self._timer = self._loop.call_at(at, self._check_time)

    def move_to(self, at: float) -> None:
        """Another time instead, if it is running."""
        if self._timer is None:
            return
        if at < self._timer.when():
            self.start(at)
        else:
            self._at = at

    def stop(self) -> None:
        """Never expire. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check_time(self) -> None:
        if self._loop.time() < self._at:
            self._timer = self._loop.call_at(self._at, self._check_time)
        else:
            self._timer = None
            self._expire()
