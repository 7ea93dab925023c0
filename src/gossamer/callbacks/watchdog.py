"""Names code that blocks the event loop: a callback that neither yields nor awaits stops every other page.

Nothing can interrupt such code, but a person can change it when the log names the callback and the line. A
short block is one warning for each callback; a long one is an error with the stack while it lasts.
"""

from __future__ import annotations

import asyncio
import linecache
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from types import FrameType
from typing import NamedTuple, Self

from gossamer.callbacks.extractor import find_callback
from gossamer.items.pipeline import find_step
from gossamer.observe.text import one_line, shown_url

FindCall = Callable[[FrameType], tuple[str, str] | None]
FINDERS: Sequence[FindCall] = (find_callback, find_step)
"""Functions that recognise a frame that called users' code, and return its URL."""
HELD_S = 10.0
BLOCKED_S = 0.5
"""Seconds of one block that are worth a warning, and between two looks: ``time.sleep(1)`` is found always."""
_TICKS = 5
"""Looks that make up ``BLOCKED_S``; while the machine starves this process, they are not taken either."""
_FRAMES = 8
_PACKAGE = __name__.partition(".")[0]


class Watchdog:
    """Looks, from a thread, whether the event loop still turns.

    Use as a context manager, within the loop. Code that blocks the loop for ``blocked_s`` seconds is a
    warning, once for each callback. After ``held_s`` seconds it is an error, again after twice as long, and
    so on.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, held_s: float = HELD_S, blocked_s: float = BLOCKED_S
    ) -> None:
        self._loop = loop
        self._held_s = held_s
        self._blocked_s = min(blocked_s, held_s / 2)
        self._named: set[str] = set()
        self.finders = FINDERS
        self._stopped = threading.Event()
        self._turned = threading.Event()
        self._loop_thread = threading.get_ident()
        self._thread = threading.Thread(target=self._watch_loop, name="gossamer-watchdog", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._turned.set()
        self._thread.join()

    def _watch_loop(self) -> None:
        while not self._stopped.wait(self._blocked_s):
            self._turned.clear()
            if self._stopped.is_set():
                return
            began = time.monotonic()
            try:
                self._loop.call_soon_threadsafe(self._turned.set)
            except RuntimeError:  # the loop is closed
                return
            if not any(self._turned.wait(self._blocked_s / _TICKS) for _ in range(_TICKS)):
                self._follow_block(began)

    def _follow_block(self, began: float) -> None:
        """Report the code that blocks the loop since ``began``, until the loop turns again."""
        frame = sys._current_frames().get(self._loop_thread)
        block = None if frame is None else find_block(frame, self.finders)
        del frame  # which holds all that the code holds
        patience_s = self._held_s
        while not self._turned.wait(max(began + patience_s - time.monotonic(), 0.0)):
            self._report_hold(patience_s)
            patience_s *= 2
        if block is not None and block.call not in self._named:
            self._named.add(block.call)
            blocked_s = time.monotonic() - began
            logging.getLogger("gossamer.crawl").warning("%s", block.describe(blocked_s))

    def _report_hold(self, held_s: float) -> None:
        frame = sys._current_frames().get(self._loop_thread)
        if frame is not None:
            logging.getLogger("gossamer.crawl").error("%s", describe_hold(frame, held_s, self.finders))


class LoopBlock(NamedTuple):
    """Code that blocks the event loop."""

    call: str  # the callback, step or hook in words
    url: str  # empty: of a request that was given up
    place: str  # the line of users' code; empty if there is none on the stack

    @property
    def owner(self) -> str:
        """The callback, step or hook, with its page."""
        return f"{self.call} {shown_url(self.url) if self.url else 'a request given up'}"

    def describe(self, blocked_s: float) -> str:
        """Return one sentence: the callback, the time, the line and the remedy."""
        where = f" ({self.place})" if self.place else ""
        return (
            f"{self.owner} blocked every other page for at least {blocked_s:.1f} s"
            f"{where}; in an `async def`, `await asyncio.sleep(...)` waits without blocking, and so does "
            "`await asyncio.to_thread(function)` for any other call"
        )


def find_block(frame: FrameType, finders: Sequence[FindCall] = FINDERS) -> LoopBlock | None:
    """Return the callback, step or hook that runs at this frame; ``None`` for code of Gossamer alone."""
    own: list[FrameType] = []  # users' code and the libraries that it calls, the innermost frame first
    below: FrameType | None = frame
    while below is not None:
        for find_call in finders:
            if (call := find_call(below)) is not None:
                return LoopBlock(*call, _describe_line(own))
        if below.f_globals.get("__name__", "").partition(".")[0] != _PACKAGE:
            own.append(below)
        below = below.f_back
    return None


def _describe_line(own: Sequence[FrameType]) -> str:
    """Return the last line of the file that was called first, as in the errors of a spider's code."""
    if not own:
        return ""
    file = own[-1].f_code.co_filename
    line = next(frame.f_lineno for frame in own if frame.f_code.co_filename == file)
    code = linecache.getline(file, line).strip()
    return one_line(f"{file.rpartition('/')[2]}, line {line}{f': `{code}`' if code else ''}", 120)


def describe_hold(frame: FrameType, held_s: float, finders: Sequence[FindCall] = FINDERS) -> str:
    """Which callback or pipeline step of which page the code at this frame belongs to, and where it is."""
    where = "".join(traceback.format_stack(frame, limit=_FRAMES)).rstrip()
    block = find_block(frame, finders)
    who = "something" if block is None else block.owner
    return f"{who} has held up everything else for {held_s:g} s; it is now at:\n{where}"
