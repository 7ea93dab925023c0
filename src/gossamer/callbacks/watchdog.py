"""Says who holds the event loop: a callback that neither yields nor awaits stops every other page.

Nothing can interrupt such code; but a person can, when told which callback of which page it is.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Self

from gossamer.callbacks.extractor import find_callback
from gossamer.items.pipeline import find_step
from gossamer.observe.text import shown_url

FindCall = Callable[[FrameType], tuple[str, str] | None]
FINDERS: Sequence[FindCall] = (find_callback, find_step)
"""By what a frame is known to have called users' code, and for which URL."""
HELD_S = 10.0
_FRAMES = 8


class Watchdog:
    """Looks, from a thread, whether the event loop still turns.

    Use as a context manager, within the loop. What holds the loop for ``held_s`` seconds is logged, again
    when it has been twice as long, and so on.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, *, held_s: float = HELD_S) -> None:
        self._loop = loop
        self._held_s = held_s
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
        while not self._stopped.wait(self._held_s / 2):
            self._turned.clear()
            if self._stopped.is_set():
                return
            try:
                self._loop.call_soon_threadsafe(self._turned.set)
            except RuntimeError:  # the loop is closed
                return
            patience_s = self._held_s
            waited_s = 0.0
            while not self._turned.wait(patience_s - waited_s):
                waited_s = patience_s
                self._report_hold(waited_s)
                patience_s *= 2

    def _report_hold(self, held_s: float) -> None:
        frame = sys._current_frames().get(self._loop_thread)
        if frame is not None:
            logging.getLogger("gossamer.crawl").error("%s", describe_hold(frame, held_s, self.finders))


def describe_hold(frame: FrameType, held_s: float, finders: Sequence[FindCall] = FINDERS) -> str:
    """Which callback or pipeline step of which page the code at this frame belongs to, and where it is."""
    where = "".join(traceback.format_stack(frame, limit=_FRAMES)).rstrip()
    who = _owner_of(frame, finders)
    return f"{who} has held up everything else for {held_s:g} s; it is now at:\n{where}"


def _owner_of(frame: FrameType | None, finders: Sequence[FindCall]) -> str:
    """Whose code it is, from the frame of the extractor or the pipeline that called it."""
    while frame is not None:
        for find_call in finders:
            if (call := find_call(frame)) is not None:
                what, url = call
                return f"{what} {shown_url(url) if url else 'a request given up'}"
        frame = frame.f_back
    return "something"
