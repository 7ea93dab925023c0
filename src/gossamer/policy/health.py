"""Whether a process is well, from when each of its parts did its work last. Pure.

*Alive* means that the process gets on; one that is not is to be started again. *Ready* means that it could do
its work: its servers answer. Starting it again would not help against a server that is away.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from gossamer.core.health import PartHealth

HELD_UP_S = 60.0
"""Seconds for which an event loop, or a thread that does the same again and again, may stand still."""
ANSWER_S = 20.0
"""Seconds within which a server has to have answered: longer than from one answer over a question that is not
answered in time to the next answer (``wiring/backend_check.py``)."""


def describe_failures(parts: Iterable[PartHealth], now: float, wall: float) -> list[str]:
    """A line for each part that fails, with since when; none: all is well.

    ``now`` is the time of the monotonic clock, ``wall`` the same time since the epoch.
    """
    return [_describe_failure(part, now, wall) for part in parts if now - part.seen_at > part.within_s]


def _describe_failure(part: PartHealth, now: float, wall: float) -> str:
    silent_s = now - part.seen_at
    since = datetime.fromtimestamp(wall - silent_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    detail = f": {part.detail}" if part.detail else ""
    return f"{part.failure} for {silent_s:.0f} s, since {since}{detail}"
