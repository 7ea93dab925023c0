"""Trouble that lasts, told at growing intervals."""

from __future__ import annotations

import logging
import random as random_numbers
from collections.abc import Callable

from gossamer.fleet.parts import FleetOptions

log = logging.getLogger("gossamer.fleet")


class ErrorThrottle:
    """Logs trouble by its subject: one line when it begins or changes, one when it is over, with back-off.

    Equal messages are logged once: a server that is gone troubles every job.
    """

    def __init__(
        self, options: FleetOptions | None = None, random: Callable[[], float] = random_numbers.random
    ) -> None:
        self._options = options or FleetOptions()
        self._random = random
        self._texts: dict[str, str] = {}
        self._until: dict[str, float] = {}
        self._times: dict[str, int] = {}
        self._told: set[str] = set()

    def report_error(self, what: str, text: str, now: float) -> float:
        """There is trouble; how long to leave it alone."""
        if text not in self._texts.values():
            log.warning("%s: %s", what, text)
            self._told.add(what)
        self._texts[what] = text
        times = self._times[what] = self._times.get(what, 0) + 1
        most_s = self._options.first_pause_s * 2.0 ** min(times - 1, 30)
        pause_s = min(most_s, self._options.longest_pause_s) * (0.5 + self._random() / 2)
        self._until[what] = now + pause_s
        return pause_s

    def clear_error(self, what: str) -> None:
        """It goes again."""
        if what in self._told:
            log.info("%s: it works again", what)
        self._forget_error(what)

    def leaves_alone(self, what: str, now: float) -> bool:
        """Whether it is too early to try again."""
        return self._until.get(what, now) > now

    def error_of(self, what: str) -> str:
        """Return the trouble, if there is any."""
        return self._texts.get(what, "")

    def forget_others(self, those: set[str]) -> None:
        """Forget all but the trouble with these."""
        for what in self._texts.keys() - those:
            self._forget_error(what)

    def _forget_error(self, what: str) -> None:
        self._told.discard(what)
        for kept in (self._texts, self._until, self._times):
            kept.pop(what, None)
