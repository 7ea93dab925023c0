"""Which of several answers to one URL is not like the others. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gossamer.core.media_type import essence_of
from gossamer.core.record import Record
from gossamer.core.results import FetchResult

LOOKED_AT_BYTES = 64 * 1024
"""Bytes of each body that are compared."""
LEAST_ALIKE = 0.4
"""Two pages are alike that have this share of all their words in common."""
_ADDRESS = re.compile(rb"(?=[0-9a-f:.]*[0-9:])[0-9a-f:.]{3,45}")
_WORD = re.compile(rb"[a-z\x80-\xff]{2,}")


class AnswerLook(Record, frozen=True, kw_only=True):
    """The look of an answer, independent of the client: without numbers and addresses."""

    status: int
    kind: str = ""  # its media type
    place: str = ""  # where it redirects to, without a query
    words: frozenset[bytes] = frozenset()


def look_at_answer(fetched: FetchResult) -> AnswerLook:
    """Return the compared part of an answer."""
    text = _ADDRESS.sub(b" ", fetched.body[:LOOKED_AT_BYTES].lower())
    return AnswerLook(
        status=fetched.status,
        kind=essence_of(fetched.content_type),
        place=fetched.header("location").partition("?")[0],
        words=frozenset(_WORD.findall(text)),
    )


def are_alike(one: AnswerLook, other: AnswerLook) -> bool:
    """Whether two answers may be those of one page."""
    if (one.status, one.kind, one.place) != (other.status, other.kind, other.place):
        return False
    every = len(one.words | other.words)
    return not every or len(one.words & other.words) >= LEAST_ALIKE * every


def find_different(looks: Sequence[AnswerLook]) -> frozenset[int] | None:
    """Return the indexes of looks that differ from the majority; ``None`` without a majority."""
    groups: list[list[int]] = []
    for place, look in enumerate(looks):
        group = next((group for group in groups if are_alike(looks[group[0]], look)), None)
        if group is None:
            groups.append([place])
        else:
            group.append(place)
    groups.sort(key=len, reverse=True)
    if len(groups) < 2:
        return frozenset()
    if len(groups[0]) == len(groups[1]):
        return None
    return frozenset(place for group in groups[1:] for place in group)
