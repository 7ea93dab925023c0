"""A server that is away is named once, not by each try of each caller, and once more when it is back."""

from __future__ import annotations

import logging
from math import inf

log = logging.getLogger("gossamer.crawl")


QUIET_S = 5.0
"""Seconds without a failure after which any answer shows that the server is back: longer than any pause
between two tries."""


class OutageAlarm:
    """Logs that a server is away, and that it is back. Times are those of one event loop, in seconds.

    A server that is read-only, or whose disk is full, answers readers while writers fail. Until ``QUIET_S``
    seconds have passed without a failure, only a caller that had failed can find it back.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._away_since: float | None = None  # when it was first found away; None: all is well
        self._failed_at = -inf  # when a try failed last
        self._well_at = -inf  # when it answered last

    def __repr__(self) -> str:
        return f"<OutageAlarm: {self._server} is {self.state}>"

    @property
    def state(self) -> str:
        """``away`` or ``well``."""
        return "away" if self._away_since is not None else "well"

    def note_failure(self, what: object, begun_at: float, now: float, patience_s: float) -> None:
        """A try has failed by ``what``, and is made again for ``patience_s``.

        A try that was begun before the latest answer says nothing of the server since then.
        """
        self._failed_at = now
        if self._away_since is None and begun_at >= self._well_at:
            self._away_since = now
            log.warning("%s; trying again for up to %.0f s", what, patience_s)

    def note_answer(self, begun_at: float, now: float, *, has_failed: bool) -> None:
        """It has answered, to a caller that ``has_failed`` before; is it back since it was found away?"""
        if self._away_since is None:
            self._well_at = now
        elif begun_at >= self._away_since and (has_failed or now - self._failed_at > QUIET_S):
            log.warning("%s is back after %.1f s", self._server, now - self._away_since)
            self._away_since, self._well_at = None, now
