"""Memory of page texts, and the difference of a new text from the latest similar one. Pure.

A text is kept as the smallest hashes of its groups of three words that follow each other (a *bottom sketch*:
Broder 1997). For a short text these are all its hashes, so its difference from another is exact, in words;
for a long one they are an even sample. Hashes are those of this process, which are fast: nothing is stored.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from itertools import islice
from math import inf

SHINGLE = 3
_LEAST_HASH = -(2**63)
KEPT = 256
"""Hashes of a text, two kilobytes."""
COMPARED = 30
"""Texts that a text is compared with: the latest under the same heading."""
MAX_WORDS = 1_000
"""Maximum number of words of a text that are compared."""
MIN_WORDS = 24
"""Shorter texts must be equal letter by letter."""
FEW_WORDS, MANY_WORDS = 2, 100
"""Texts that differ in this few words, or in one word of this many, are near-duplicates."""
OTHER_SHARE = 0.5
"""Texts that share less than this are different; between the two limits the answer is unknown."""


TextSketch = tuple[int, "array[int]"]
"""How many hashes a text has, and the smallest of them."""


class TextMemory:
    """The latest texts, at most ``most`` of them, in groups by their heading."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        self._groups: OrderedDict[str, dict[str, TextSketch]] = OrderedDict()

    def measure_news(self, group: str, url: str, text: str) -> float:
        """How many words of a text are new, as a share of those that may differ; remembers the text.

        At most 1: another page of the group says nearly the same. ``inf``: it is another text.
        """
        known = self._groups.setdefault(group, {})
        self._groups.move_to_end(group)
        own = _sketch_of(text)
        latest = (other for place, other in reversed(known.items()) if place != url)
        news = min((_compare(own, other) for other in islice(latest, COMPARED)), default=inf)
        if known.pop(url, None) is None:
            self._count += 1
        known[url] = own
        if len(known) > COMPARED:
            del known[next(iter(known))]
            self._count -= 1
        while self._count > self._most:
            self._count -= len(self._groups.popitem(last=False)[1])
        return news


def _sketch_of(text: str) -> TextSketch:
    words = [word.lower() for word in text.split(None, MAX_WORDS)[:MAX_WORDS]]
    hashes = {*map(hash, zip(words, words[1:], words[2:], strict=False))}
    if len(words) < MIN_WORDS:
        hashes = {hash(tuple(text.split()))}
    return len(hashes), array("q", _least_of(hashes))


def _least_of(hashes: set[int]) -> list[int]:
    """The smallest hashes in their order. They are spread evenly, so most need not be sorted to find them."""
    if len(hashes) > 2 * KEPT:
        bound = _LEAST_HASH + 2**64 * (KEPT + KEPT // 4) // len(hashes)
        small = sorted([number for number in hashes if number < bound])
        if len(small) >= KEPT:
            return small[:KEPT]
    return sorted(hashes)[:KEPT]


def _compare(one: TextSketch, other: TextSketch) -> float:
    first, second = {*one[1]}, {*other[1]}
    least = sorted(first | second)
    if max(one[0], other[0]) > KEPT:
        least = least[:KEPT]
    alike = sum(number in first and number in second for number in least) / len(least)
    if alike < OTHER_SHARE:
        return inf
    size = one[0] + other[0]
    words = (1 - alike) / (1 + alike) * size / (2 * SHINGLE)  # one that differs changes three on each side
    return round(words / max(FEW_WORDS, size / 2 / MANY_WORDS), 6)
