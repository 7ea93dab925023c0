"""Attempts by host, bounded: the hosts with most attempts have their own counts, all others share one.

A count never falls, since Prometheus would take that for a restart: a host that gets its own counts begins at
0, and when it loses them they are added to the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest

from gossamer.core.results import Verdict
from gossamer.observe.metrics import OTHER

SHOWN = 20
"""Maximum hosts with their own counts."""
KEPT = 1000
"""Hosts remembered to find those with most attempts; up to four times as many between clearings."""
WORTH = 16
"""Attempts after which a host may replace another one, if it has twice as many."""


class HostCounts:
    """Attempts of one job by host and verdict."""

    __slots__ = ("_others", "_seen", "_shown")

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}  # attempts since it is remembered
        self._shown: dict[str, dict[Verdict, int]] = {}
        self._others: dict[Verdict, int] = {}

    def count_attempt(self, host: str, verdict: Verdict) -> None:
        """Count one attempt."""
        seen = self._seen[host] = self._seen.get(host, 0) + 1
        counts = self._shown.get(host)
        if counts is None:
            counts = self._find_place(host, seen)
        counts[verdict] = counts.get(verdict, 0) + 1

    def read_counts(self) -> Iterator[tuple[str, str, int]]:
        """Yield host, verdict and count."""
        for host, counts in (*self._shown.copy().items(), (OTHER, self._others)):
            for verdict, number in counts.copy().items():
                yield host, verdict.value, number

    def _find_place(self, host: str, seen: int) -> dict[Verdict, int]:
        """Return the counts for a host without its own ones."""
        if len(self._shown) >= SHOWN:
            if len(self._seen) > 4 * KEPT:
                self._forget_some()
            if seen < WORTH or seen & (seen - 1):  # looked at with 16, 32, 64 ... attempts
                return self._others
            least = min(self._shown, key=self._seen.__getitem__)
            if seen < 2 * self._seen[least]:
                return self._others
            for verdict, number in self._shown.pop(least).items():
                self._others[verdict] = self._others.get(verdict, 0) + number
        counts = self._shown[host] = {}
        return counts

    def _forget_some(self) -> None:
        kept = nlargest(KEPT, self._seen, key=self._seen.__getitem__)
        self._seen = {host: self._seen[host] for host in (*kept, *self._shown)}
