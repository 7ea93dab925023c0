"""Whether pages take so much computing that a second process is worth its cost.

Processes that share a host's slots record smaller groups, and wait for each other's transactions: cheap pages
go faster through one process alone. Pure: the times are given.
"""

from __future__ import annotations

HIGH_S = 0.0025
"""Computing for one page, from which on two processes are faster than one."""
PAGES, LONG_S = 20, 0.5
"""Pages, and seconds of computing, after which the cost is measured anew."""


class PageCost:
    """The computing time of a page. The first pages also load modules for the others."""

    def __init__(self) -> None:
        self._seen: tuple[int, float] | None = None
        self._cost_s = 0.0
        self._cost_before_s = 0.0

    def __repr__(self) -> str:
        return f"<PageCost {self._cost_s * 1000:.1f} ms>"

    @property
    def is_high(self) -> bool:
        """Whether others should have a part of the pages."""
        return min(self._cost_s, self._cost_before_s) >= HIGH_S

    def note_pages(self, pages: int, computed_s: float) -> None:
        """Record the number of pages until now, and their computing time."""
        if self._seen is None:
            self._seen = pages, computed_s
        more, took_s = pages - self._seen[0], computed_s - self._seen[1]
        if more >= PAGES or (more and took_s >= LONG_S):
            self._cost_before_s, self._cost_s = self._cost_s, took_s / more
            self._seen = pages, computed_s
