"""Finds the shifts of a process that are past their deadlines, whatever hangs in them.

It belongs to a thread of its own. Time counts only while it is watched: the shifts of a process that was
stopped (SIGSTOP, a machine that slept) have not used that time.
"""

from __future__ import annotations

from collections.abc import Mapping

from gossamer.core.record import Record
from gossamer.policy.shift_deadlines import deadline_of, must_leave

MOST_S = 5.0
"""The longest gap in seconds between two looks; a longer one counts as this long."""


class WatchedShift(Record, frozen=True, kw_only=True):
    """A shift under way."""

    name: str  # for people: its job and lane
    max_s: float  # its length; infinite for one that ends by itself
    drain_s: float  # to finish requests in flight
    patience_s: float = 0.0  # with a store that is away
    is_told: bool = False  # to end


class OverdueShift(Record, frozen=True, kw_only=True):
    """A shift that is past its deadline."""

    id: str
    name: str
    overdue_s: float
    must_leave: bool  # it was cancelled in vain: only the end of its process ends it


class ShiftWatch:
    """The shifts of one process, and since when they are under way."""

    def __init__(self) -> None:
        self._watched_s = 0.0
        self._looked_at: float | None = None
        self._began: dict[str, float] = {}
        self._told: dict[str, float] = {}

    def __repr__(self) -> str:
        return f"<ShiftWatch of {len(self._began)} shifts>"

    def look(self, now: float, shifts: Mapping[str, WatchedShift]) -> list[OverdueShift]:
        """Return those past their deadlines. Call it every second or so with all that are under way."""
        since = now if self._looked_at is None else self._looked_at
        self._looked_at = now
        self._watched_s += min(now - since, MOST_S)
        at = self._watched_s
        self._began = {key: self._began.get(key, at) for key in shifts}
        self._told = {key: self._told.get(key, at) for key, shift in shifts.items() if shift.is_told}
        found = []
        for key, shift in shifts.items():
            deadline = deadline_of(
                shift.max_s,
                shift.drain_s,
                patience_s=shift.patience_s,
                began_at=self._began[key],
                told_at=self._told.get(key),
            )
            overdue_s = at - deadline
            if overdue_s >= 0:
                is_last = must_leave(overdue_s)
                found.append(OverdueShift(id=key, name=shift.name, overdue_s=overdue_s, must_leave=is_last))
        return found
