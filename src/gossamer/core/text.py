"""Numbers with their nouns."""

from __future__ import annotations


def format_count(count: int, noun: str, plural: str = "") -> str:
    """``1 request``, ``2,000 requests``; ``plural`` where it is not the noun with an ``s``."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
