"""Cursors: where the next part of a listing begins, as text that its reader gives back."""

from __future__ import annotations

from math import isfinite

from gossamer.core.errors import UsageError

_MOST = 2**63 - 1


def read_number(cursor: str) -> int | None:
    """The number that a cursor is; ``None`` for an empty one. Raises ``UsageError``."""
    if not cursor:
        return None
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 20 and int(cursor) <= _MOST):
        raise _no_cursor(cursor)
    return int(cursor)


def read_place(cursor: str) -> tuple[float, int] | None:
    """The time and the number that a cursor is; ``None`` for an empty one. Raises ``UsageError``."""
    if not cursor:
        return None
    at, dash, number = cursor.rpartition("-")
    try:
        place = float(at), read_number(number)
    except ValueError:
        raise _no_cursor(cursor) from None
    if not dash or not isfinite(place[0]) or place[1] is None:
        raise _no_cursor(cursor)
    return place[0], place[1]


def cursor_of(place: tuple[float, int] | int | None) -> str | None:
    """Return the cursor for a place; ``None`` after the last part."""
    if place is None or isinstance(place, int):
        return None if place is None else str(place)
    return f"{place[0]!r}-{place[1]}"


def _no_cursor(cursor: str) -> UsageError:
    return UsageError(f"{cursor[:60]!r} is not a cursor: use the one at the end of the previous part")
