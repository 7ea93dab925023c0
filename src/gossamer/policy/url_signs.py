"""Signs in a URL of a site without an end: far months, ids of a visit, words that come again. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from gossamer.core.lazy import lazy_pattern
from gossamer.policy.url_parser import head_of
from gossamer.policy.urls import SESSION_PARAMETERS

AHEAD_MONTHS = 13
"""Dates in URLs beyond these are those of a calendar that is turned on and on."""

_DATE = lazy_pattern(r"(?<!\d)(19\d\d|2[01]\d\d)[/._-](0?[1-9]|1[0-2])(?!\d)")
_YEAR = lazy_pattern(r"\b(?:year|yr|y|jahr)=([12]\d{3})\b", re.IGNORECASE)
_MONTH = lazy_pattern(r"\b(?:month|mon|m|monat)=(\d{1,2})\b", re.IGNORECASE)
_SESSION = lazy_pattern("|".join(name.replace("*", ".*") for name in SESSION_PARAMETERS))
_WORD = re.compile(r"[\w-]{8,}", re.ASCII)
_NAME = re.compile(r"\w+")
_DIGIT, _LETTER, _HEXADECIMAL = re.compile(r"\d"), re.compile(r"[A-Za-z]"), re.compile(r"[0-9a-f]+")


def find_month(url: str) -> int | None:
    """The month that a URL names, counted from the year 0; ``None``: it names none."""
    rest = url[len(head_of(url)) :]
    year, month = _YEAR.search(rest), _MONTH.search(rest)
    if year is not None and month is not None:
        return int(year[1]) * 12 + int(month[1]) - 1
    found = _DATE.search(rest)
    return None if found is None else int(found[1]) * 12 + int(found[2]) - 1


def is_far_date(url: str, now: float) -> bool:
    """Whether a URL names a month that is farther ahead than what people put into calendars."""
    month = find_month(url)
    if month is None:
        return False
    today = datetime.fromtimestamp(now, UTC)
    ahead = month - (today.year * 12 + today.month - 1)
    return ahead > AHEAD_MONTHS


def find_session_ids(url: str) -> list[str]:
    """Return the likely session ids of a URL: values of parameters with known names, and long tokens."""
    rest = url[len(head_of(url)) :]
    found = [word for word in _WORD.findall(rest) if _is_token(word)]
    if "=" in rest:
        path, _, query = rest.partition("?")
        for part in (*query.split("&"), *path.split(";")[1:]):
            name, _, value = part.partition("=")
            if value and _SESSION.fullmatch(name.lower()):
                found.append(value)
    return found


def _is_token(word: str) -> bool:
    """Whether a word has digits and letters, and is long or hexadecimal."""
    has_both = not word.isalpha() and _DIGIT.search(word) is not None and _LETTER.search(word) is not None
    return has_both and (len(word) >= 16 or _HEXADECIMAL.fullmatch(word) is not None)


def find_loop(url: str) -> frozenset[str]:
    """The words of a path that names a place of it twice, in lower case; else nothing."""
    path = url[len(head_of(url)) :].partition("?")[0].lower()
    segments = path.split("/")
    if len({*segments}) == len(segments):
        return frozenset()
    names = [segment for segment in segments if segment and not segment.isdigit()]
    return frozenset(_NAME.findall(path)) if len({*names}) < len(names) else frozenset()
