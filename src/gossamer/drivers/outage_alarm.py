"""A server that is away is named once, not by each try of each caller, and once more when it is back."""

from __future__ import annotations

import logging
from math import inf

log = logging.getLogger("gossamer.crawl")


class OutageAlarm:
    """Logs that a server is away, and that it is back. Times are those of one event loop, in seconds."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._away_since: float | None = None  # when it was first found away; None: all is well
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
        if self._away_since is None and begun_at >= self._well_at:
            self._away_since = now
            log.warning("%s; trying again for up to %.0f s", what, patience_s)

    def note_answer(self, begun_at: float, now: float) -> None:
        """It has answered; it is back when that was asked since it was found away."""
        if self._away_since is None:
            self._well_at = now
        elif begun_at >= self._away_since:
            log.warning("%s is back after %.1f s", self._server, now - self._away_since)
            self._away_since, self._well_at = None, now
