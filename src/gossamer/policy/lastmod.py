"""Data of entries in sitemaps and feeds: time of change and importance. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_CLOCK = r"[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?"
_W3C = re.compile(rf"(\d{{4}})(?:-(\d{{2}})(?:-(\d{{2}})(?:{_CLOCK})?)?)?", re.IGNORECASE)
LEVELS = 4
"""Priorities of requests from that of an entry with 0.0 to that of one with 1.0."""


def read_lastmod(text: str) -> float:
    """Return the time by which a page had changed, in seconds since the epoch; 0 for other text.

    Accepts the formats of sitemaps (W3C, "Date and Time Formats") and RSS (RFC 822). An inexact time stands
    for its end: a page that changed on a day may have changed after its check on that day.
    """
    try:
        found = _W3C.fullmatch(text.strip())
        when = _end_of_rfc(text) if found is None else _end_of_w3c(found)
        return max(when.timestamp(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return 0.0


def read_priority(text: str) -> int:
    """The priority of the request for an entry: 0 for the usual 0.5, and up to two more or less."""
    try:
        said = float(text)
    except ValueError:
        return 0
    return round((said - 0.5) * LEVELS) if 0.0 <= said <= 1.0 else 0


def _end_of_rfc(text: str) -> datetime:
    when = parsedate_to_datetime(text)
    return (when if when.tzinfo else when.replace(tzinfo=UTC)) + timedelta(seconds=1)


def _end_of_w3c(found: re.Match[str]) -> datetime:
    year, month, day, hour, minute, second, zone = found.groups()
    if month is None:
        return datetime(int(year) + 1, 1, 1, tzinfo=UTC)
    if day is None:
        in_next = datetime(int(year), int(month), 1, tzinfo=UTC) + timedelta(days=31)
        return in_next.replace(day=1)
    begin = datetime(int(year), int(month), int(day), tzinfo=UTC)
    if hour is None:
        return begin + timedelta(days=1)
    begin += timedelta(hours=int(hour), minutes=int(minute), seconds=int(second or 0))
    length = timedelta(minutes=1) if second is None else timedelta(seconds=1)
    return begin + length - _offset_of(zone or "Z")


def _offset_of(zone: str) -> timedelta:
    if zone in "Zz":
        return timedelta()
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return timedelta(minutes=minutes if zone[0] == "+" else -minutes)
