"""Divides the requests in flight among the workers of one crawl when all of them could take more.

The slots of a busy host stay with their worker, since a worker takes new requests as its old ones end. A
worker that is short of work reports it with its load; one that has more than twice as much reduces its limit
by its part of the difference, and then raises it again step by step, so that unused slots do not stay unused
for long. Pure: the time is a parameter.
"""

from __future__ import annotations

from math import inf

GROW_S = 1.0
"""How often a worker that has made room may have some more."""
SMOOTH_S = 0.5
"""Seconds over which the load is smoothed: all requests of a worker may end at once."""
LONGEST_S = 10.0
"""Seconds for which a worker lowers its load at most: its requests may take long."""


class ConcurrencyLimit:
    """The limit of one worker; ``concurrency`` applies while no other worker is short of work."""

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self._most = concurrency
        self._is_coming_down = False
        self._grow_at = inf
        self.usual = 0.0  # how much was in hand lately
        self._seen_at = -inf

    def __repr__(self) -> str:
        return f"<ConcurrencyLimit of {self._most} of {self._concurrency}>"

    def set_concurrency(self, concurrency: int) -> None:
        """Set the limit that applies while no other worker is short of work."""
        self._most = concurrency if self._most >= self._concurrency else min(self._most, concurrency)
        self._concurrency = concurrency

    def make_room(self, other: float, workers: int, now: float) -> None:
        """Another of ``workers`` is short of work, and has had ``other`` requests in hand lately."""
        part = round((self.usual - other) / workers)
        is_uneven = part > 0 and 2 * other < self.usual  # less is chance, and not worth a slot that waits
        if is_uneven and not self._is_coming_down:
            self._most = min(round(self.usual) - part, self._most)
            self._is_coming_down, self._grow_at = True, now + LONGEST_S

    def record_load(self, held: int, now: float) -> None:
        """Record the number of requests in hand; call it several times a second."""
        weight = min((now - self._seen_at) / SMOOTH_S, 1.0)
        self.usual += (held - self.usual) * weight
        self._seen_at = now

    def limit_for(self, held: int, now: float) -> int:
        """Return the number of requests that may be in hand now, when there are ``held``."""
        if self._is_coming_down and held <= self._most:
            self._is_coming_down, self._grow_at = False, now + GROW_S
        while now >= self._grow_at:
            self._is_coming_down = False
            self._most += max(1, self._most // 4)
            self._grow_at += GROW_S
            if self._most >= self._concurrency:
                self._most, self._grow_at = self._concurrency, inf
        return self._most
