"""Ctrl-C and SIGTERM: the first drains, the second stops at once, and nothing can keep the process alive.

The handlers are Python's own and not the loop's: a callback of a spider that never returns blocks the loop,
and must not take away the way out.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import Any, Protocol

from gossamer.cli.errors import SIGNALS, print_progress
from gossamer.core.exits import ExitCode

PATIENCE_S = 1.5
"""Seconds after the second signal until the process ends itself. Everything acknowledged is on disk."""
SHOW_CURSOR = "\x1b[?25h"


class StoppableRun(Protocol):
    """A run that can be stopped."""

    def stop(self) -> None:
        """Finish requests in flight, then end."""
        ...

    def abort(self) -> None:
        """End at once."""
        ...


class StopHandler:
    """Listens for signals while it is entered (in the loop's thread)."""

    def __init__(self, crawling: StoppableRun) -> None:
        self._crawling = crawling
        self._count = 0
        self._before: dict[int, Any] = {}
        self._watchdog = threading.Timer(PATIENCE_S, end_process)
        self._watchdog.daemon = True
        self.status = ""  # for the live view: the stop that was requested

    @property
    def is_aborted(self) -> bool:
        """Whether a second signal came."""
        return self._count > 1

    def __enter__(self) -> StopHandler:
        self._loop = asyncio.get_running_loop()
        self._before = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._watchdog.cancel()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
        if self._count == 1:
            self.status = "finishing the requests in flight; press Ctrl-C again to stop at once"
            self._loop.call_soon_threadsafe(self._crawling.stop)
        elif self._count == 2:
            self.status = "stopping at once"
            self._watchdog.start()
            self._loop.call_soon_threadsafe(self._crawling.abort)
        else:
            end_process()
        self._loop.call_soon_threadsafe(print_progress, self.status)


def end_process() -> None:
    """End the process now. The frontier takes the leases back at the next start."""
    with suppress(OSError, ValueError):
        if sys.stderr.isatty():
            os.write(sys.stderr.fileno(), f"{SHOW_CURSOR}\n".encode())
    os._exit(ExitCode.STOPPED)
