"""How the workers of one crawl share what may be in hand altogether, where all of them could take more.

The slots of a busy host stay with whoever has them, since a worker takes new requests as its old ones end. A
worker that is short of work says so, with what it has in hand; one that has more than twice as much comes
down by its part of the difference, and then takes more again by and by: what nobody else wants is not left
unused for long. Pure: the time is given.
"""

from __future__ import annotations

from math import inf

GROW_S = 1.0
"""How often a worker that has made room may have some more."""
SMOOTH_S = 0.5
"""What is in hand is compared as it was for about so long: all that a worker has may end at once."""
LONGEST_S = 10.0
"""How long a worker comes down at most: what it has in hand may take long."""


class ConcurrencyLimit:
    """How much one worker may have in hand; ``concurrency`` is what it has when nobody is short of work."""

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
        """How much this worker has from now on when nobody is short of work."""
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
        """So many requests are in hand; call it some times a second."""
        weight = min((now - self._seen_at) / SMOOTH_S, 1.0)
        self.usual += (held - self.usual) * weight
        self._seen_at = now

    def limit_for(self, held: int, now: float) -> int:
        """How many requests may be in hand now, when there are ``held``."""
        if self._is_coming_down and held <= self._most:
            self._is_coming_down, self._grow_at = False, now + GROW_S
        while now >= self._grow_at:
            self._is_coming_down = False
            self._most += max(1, self._most // 4)
            self._grow_at += GROW_S
            if self._most >= self._concurrency:
                self._most, self._grow_at = self._concurrency, inf
        return self._most
