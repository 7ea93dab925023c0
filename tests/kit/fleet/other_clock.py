"""``python -m kit.fleet.other_clock SECONDS ARGS...`` is ``gossamer ARGS`` where the clock is so far ahead.

Only what Python reads of the time is moved; clocks that count from the start of the machine stay right.
"""

from __future__ import annotations

import datetime
import sys
import time
from datetime import tzinfo
from typing import Any, Self


def move_clock(ahead_s: float) -> None:
    """Let the wall clock of this process be so far ahead from now on."""
    now, now_ns, right = time.time, time.time_ns, datetime.datetime

    class Kind(type(right)):  # type: ignore[misc] # objects made by C code are instances too
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, right)

    class Moved(right, metaclass=Kind):
        """``datetime`` of a wrong clock."""

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            """The wrong time."""
            return cls.fromtimestamp(time.time(), tz)

        @classmethod
        def utcnow(cls) -> Self:
            """The wrong time."""
            return cls.fromtimestamp(time.time(), datetime.UTC).replace(tzinfo=None)

    time.time = lambda: now() + ahead_s
    time.time_ns = lambda: now_ns() + int(ahead_s * 1e9)
    datetime.datetime = Moved  # type: ignore[misc]


if __name__ == "__main__":
    move_clock(float(sys.argv.pop(1)))
    from gossamer.cli.main import main

    main()
