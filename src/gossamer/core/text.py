"""Numbers with their nouns, and times as programs read them."""

from __future__ import annotations

from datetime import UTC, datetime


def format_count(count: int, noun: str, plural: str = "") -> str:
    """``1 request``, ``2,000 requests``; ``plural`` where it is not the noun with an ``s``."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def iso_time(at: float | None) -> str | None:
    """A time for programs: ISO 8601 in UTC, to the second."""
    return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
