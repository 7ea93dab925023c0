"""Text that every sink can take: no white space around it, no NUL, no lone surrogates.

NUL is refused by PostgreSQL and lone surrogates have no UTF-8; both come from broken pages, and one such
value must not cost a whole batch. Each becomes U+FFFD, the character for what could not be
represented. What needs no change is returned as the same object.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

REPLACEMENT = "\ufffd"
MAX_DEPTH = 100
"""Levels of lists and dicts within an item; deeper ones are left for validation to refuse."""

UNTOUCHED = frozenset({int, float, bool, type(None), Decimal, datetime})


def clean_text(text: str) -> str:
    """A string without surrounding white space, NUL and lone surrogates."""
    text = text.strip()
    if "\0" in text:
        text = text.replace("\0", REPLACEMENT)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            # UTF-16 joins surrogates that do form a pair, and replaces the others.
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean(value: Any, depth: int = 0) -> Any:
    """The same value with all strings within lists, tuples and dicts cleaned."""
    if isinstance(value, str):
        return clean_text(value)
    if depth > MAX_DEPTH:
        return value
    if isinstance(value, dict):
        return clean_dict(value, depth)
    if type(value) in (list, tuple):
        cleaned = [clean(element, depth + 1) for element in value]
        if all(new is old for new, old in zip(cleaned, value, strict=True)):
            return value
        return type(value)(cleaned)
    return value


def clean_dict(values: dict[Any, Any], depth: int = 0) -> dict[Any, Any]:
    """The same for a dict, names included."""
    for name, value in values.items():
        # Most items need nothing: find that out without building anything.
        if type(value) in UNTOUCHED:
            if type(name) is str and clean_text(name) is not name:
                break
        elif clean(value, depth + 1) is not value or clean(name) is not name:
            break
    else:
        return values
    return {clean(name): clean(value, depth + 1) for name, value in values.items()}
