"""The progress of a crawl as lines for logs; :mod:`gossamer.cli.terminal.panel` is for terminals.

Both show the numbers of one :class:`~gossamer.observe.run_stats.RunStats`. Nothing here reads a clock: the
time is a parameter or comes with the events.
"""

from __future__ import annotations

from collections.abc import Callable

from gossamer.core.events import Event, ProgressEvent
from gossamer.core.text import format_count
from gossamer.observe.run_stats import RunStats
from gossamer.observe.units import format_duration, format_rate, format_statuses


def progress_line(tallies: RunStats, now: float) -> str:
    """Return the crawl in one line of plain text."""
    stats = tallies.stats
    parts = [
        f"{format_duration(tallies.elapsed_s(now))}",
        f"{format_count(stats.pages, 'page')} ({format_rate(tallies.current_rate(now))})",
        format_count(tallies.items, "item"),
        f"queue {stats.pending:,} pending, {stats.delayed:,} delayed, {stats.leased:,} in flight",
        format_count(tallies.retries, "retry", "retries"),
        f"{stats.dead:,} dead",
        format_statuses(tallies.classes),
    ]
    if tallies.left_text:
        parts.append(tallies.left_text)
    return "; ".join(parts)


class ProgressSink:
    """Port ``Sink``: gives ``write`` a line every ``every_s`` seconds. Its ``tallies`` get events first."""

    def __init__(self, tallies: RunStats, write: Callable[[str], None], *, every_s: float = 10.0) -> None:
        self._tallies = tallies
        self._write = write
        self._every_s = every_s
        self._next_at: float | None = None

    def emit(self, event: Event) -> None:
        """Write a line if one is due."""
        if not isinstance(event, ProgressEvent):
            return
        if self._next_at is None:
            self._next_at = event.at + self._every_s
        if event.at >= self._next_at:
            self._next_at = event.at + self._every_s
            self._write(progress_line(self._tallies, event.at))
