"""Numbers with their nouns, errors on one line, and times as programs read them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime


def format_count(count: int, noun: str, plural: str = "") -> str:
    """``1 request``, ``2,000 requests``; ``plural`` where it is not the noun with an ``s``."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def by_reason(counts: Mapping[str, int], most: int = 4) -> str:
    """``12 offsite, 3 nofollow``: the most frequent first."""
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{count:,} {reason}" for reason, count in ranked[:most])
    return shown + (", ..." if len(ranked) > most else "")


def describe_error(error: BaseException) -> str:
    """Return ``ValueError: its message`` on one line; the name alone without a message."""
    name, message = type(error).__name__, " ".join(str(error).split())
    return f"{name}: {message}" if message else name


def iso_time(at: float | None) -> str | None:
    """A time for programs: ISO 8601 in UTC, to the second."""
    return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
