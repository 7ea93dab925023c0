"""Numbers in sentences: with the units of ``observe.units``, times with their zone.

That is the zone of this machine; a reader may be in another.
"""

from __future__ import annotations

from datetime import datetime

from gossamer.observe.units import format_duration, format_rate, format_size
from gossamer.policy.sentences.words import SentenceFormatter


def formatter_at(now: float) -> SentenceFormatter:
    """The form of numbers at a time: times of today have no date."""
    today = datetime.fromtimestamp(now).astimezone().date()

    def show_time(at: float) -> str:
        local = datetime.fromtimestamp(at).astimezone()
        return local.strftime("%H:%M %Z" if local.date() == today else "%m-%d %H:%M %Z")

    return SentenceFormatter(span=format_duration, time=show_time, rate=format_rate, size=format_size)
