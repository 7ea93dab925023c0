"""Checks whether a supervisor leads the fleet, as its workers see it.

Only the leader sends alerts, so none reports a missing leader: the logs of the workers do.
"""

from __future__ import annotations

import logging

EVERY_S = 15.0
"""Seconds between two looks."""

log = logging.getLogger("gossamer.worker")


class LeaderCheck:
    """Logs one line after ``patience_s`` without a leader (0: never), and one when a leader is back."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._next_at = 0.0
        self._since: float | None = None  # without a leader since then
        self._is_told = False

    def is_due(self, now: float) -> bool:
        """Whether it is time to look again."""
        return self._patience_s > 0 and now >= self._next_at

    def note_leader(self, now: float, *, is_there: bool) -> None:
        """Record the result of a look."""
        self._next_at = now + EVERY_S
        if is_there:
            if self._is_told:
                log.info("a supervisor leads the fleet again")
            self._since, self._is_told = None, False
            return
        self._since = now if self._since is None else self._since
        if not self._is_told and now - self._since >= self._patience_s:
            log.warning(
                "no supervisor leads the fleet: no shifts are requested, and no alerts are sent; "
                "`gossamer supervisor` starts one"
            )
            self._is_told = True
