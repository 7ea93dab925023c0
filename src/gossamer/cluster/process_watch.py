"""A thread that ends the shifts of this process that are past their deadlines, whatever hangs in them."""

from __future__ import annotations

import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping

from gossamer.core.health import PartHealth
from gossamer.fleet.shift_watch import OverdueShift, ShiftWatch, WatchedShift

LOOK_S = 1.0
JOIN_S = 2.0
STILL_S = 60.0
"""Seconds for which this thread may stand still."""
_FRAMES = 12

log = logging.getLogger("gossamer.worker")


class ProcessWatch:
    """Looks once a second. All functions that it is given are called in its thread.

    ``cancel`` is called once for each shift that is past its deadline, ``leave`` for one that did not end
    then; it ends the process. ``where`` says where a shift waits.
    """

    def __init__(
        self,
        read: Callable[[], Mapping[str, WatchedShift]],
        cancel: Callable[[str], None],
        leave: Callable[[], None],
        where: Callable[[str], str],
    ) -> None:
        self._read, self._cancel, self._leave, self._where = read, cancel, leave, where
        self._watch = ShiftWatch()
        self._cancelled: set[str] = set()
        self.overdue: list[OverdueShift] = []  # as of the latest look
        self._looked_at: float | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._keep_looking, name="gossamer-deadlines", daemon=True)

    def start(self) -> None:
        """Look from now on."""
        self._thread.start()

    def close(self) -> None:
        """Look no more. Idempotent."""
        self._is_over.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(JOIN_S)

    def read_health(self) -> list[PartHealth]:
        """This thread, and the shifts that are past their deadlines; for any thread."""
        if self._looked_at is None or self._is_over.is_set():
            return []
        failure = "the deadlines of shifts have not been looked at"
        own = PartHealth(failure=failure, seen_at=self._looked_at, within_s=STILL_S)
        now = time.monotonic()
        return [own, *(_health_of(shift, now) for shift in self.overdue)]

    def _keep_looking(self) -> None:
        while not self._is_over.wait(LOOK_S):
            self._looked_at = time.monotonic()
            try:
                self.look(time.monotonic())
            except Exception:
                log.exception("the deadlines of the shifts could not be looked at")

    def look(self, now: float) -> None:
        """One look."""
        shifts = self._read()
        self.overdue = self._watch.look(now, shifts)
        self._cancelled &= shifts.keys()
        for shift in self.overdue:
            if shift.id not in self._cancelled:
                self._cancelled.add(shift.id)
                log.error(
                    "%s is past its deadline and ends now. It is at:\n%s",
                    shift.name,
                    self._where(shift.id),
                )
                self._cancel(shift.id)
            elif shift.must_leave:
                log.critical(
                    "%s does not end: it was cancelled, and is %.0f s past its deadline. This process "
                    "ends now, so that others take over its work. It is at:\n%s",
                    shift.name, shift.overdue_s, self._where(shift.id),
                )  # fmt: skip
                self._leave()
                return


def _health_of(shift: OverdueShift, now: float) -> PartHealth:
    failure = f"{shift.name} has been past its deadline"
    return PartHealth(failure=failure, seen_at=now - shift.overdue_s, within_s=0.0)


def frames_of_thread(thread: threading.Thread) -> str:
    """Return the current lines of a thread; empty for an event loop that waits."""
    frame = sys._current_frames().get(thread.ident or 0)
    is_waiting = frame is None or frame.f_code.co_filename.endswith("selectors.py")
    return "" if is_waiting else "".join(traceback.format_stack(frame, limit=_FRAMES)).rstrip()
