"""What a crawl is doing, a line now and then, for logs; :mod:`gossamer.cli.terminal.panel` is for terminals.

Both show the numbers of one :class:`~gossamer.observe.tallies.Tallies`. Nothing here reads a clock; the time
is a parameter or comes with the events.
"""

from __future__ import annotations

from collections.abc import Callable

from gossamer.core.events import Event, Progress
from gossamer.core.text import quantity
from gossamer.observe.tallies import Tallies
from gossamer.observe.units import duration, rate, statuses


def line(tallies: Tallies, now: float) -> str:
    """The crawl in one line of plain text."""
    stats = tallies.stats
    parts = [
        f"{duration(tallies.elapsed_s(now))}",
        f"{quantity(stats.pages, 'page')} ({rate(tallies.rate(now))})",
        quantity(tallies.items, "item"),
        f"queue {stats.pending:,} pending, {stats.delayed:,} delayed, {stats.leased:,} in flight",
        quantity(tallies.retries, "retry", "retries"),
        f"{stats.dead:,} dead",
        statuses(tallies.classes),
    ]
    eta_s = tallies.eta_s(now)
    if eta_s:
        parts.append(f"ETA {duration(eta_s)}")
    return "; ".join(parts)


class LineProgress:
    """Port ``Sink``: gives ``write`` a line every ``every_s`` seconds. Its ``tallies`` get events first."""

    def __init__(self, tallies: Tallies, write: Callable[[str], None], *, every_s: float = 10.0) -> None:
        self._tallies = tallies
        self._write = write
        self._every_s = every_s
        self._next_at: float | None = None

    def emit(self, event: Event) -> None:
        """Write a line if one is due."""
        if not isinstance(event, Progress):
            return
        if self._next_at is None:
            self._next_at = event.at + self._every_s
        if event.at >= self._next_at:
            self._next_at = event.at + self._every_s
            self._write(line(self._tallies, event.at))
