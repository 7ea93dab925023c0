"""Near-duplicate pages: similar texts have fingerprints that differ in few bits. Pure.

The fingerprint is Charikar's simhash (2002) of all groups of three words that follow each other; pages whose
fingerprints differ in at most three of 64 bits are alike (Manku, Jain and Sarma 2007). Two such
fingerprints share at least one of four parts of 16 bits, so few have to be compared.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from hashlib import blake2b
from itertools import islice

MAX_WORDS = 20_000
"""Maximum number of words of a page that count."""
MAX_PAGES = 50_000
"""Pages that are remembered, some 1.5 KB each: then the oldest are forgotten."""
MOST_COMPARED = 200
"""Pages with an equal part that a page is compared with, the latest: a site could make thousands of them."""
SHINGLE = 3
_PARTS = tuple(range(0, 64, 16))
_WORD = re.compile(r"\w+")
_BIT = [bytes(value >> bit & 1 for value in range(256)) for bit in range(8)]
"""For each bit a table from a byte to that bit of it."""


def simhash_of(text: str, min_words: int) -> int | None:
    """64 bits for the first words of a text; ``None``: it has too few to be compared."""
    words = [found[0] for found in zip(_WORD.findall(text.lower()), range(MAX_WORDS), strict=False)]
    if len(words) < max(min_words, SHINGLE):
        return None
    shingles = zip(words, words[1:], words[2:], strict=False)
    texts = (" ".join(group).encode("utf-8", "replace") for group in shingles)
    digests = b"".join(blake2b(text, digest_size=8).digest() for text in texts)
    half = len(digests) // 16
    number = 0
    for place in range(8):
        column = digests[place::8]
        for bit in range(8):
            if column.translate(_BIT[bit]).count(1) > half:
                number |= 1 << (place * 8 + bit)
    return number


class PageIndex:
    """The fingerprints of pages in many groups, the latest of them; pages of one group are compared.

    With a ``distance`` of more than 3 bits two of them may have no part in common, and are not compared.
    """

    def __init__(self, distance: int, most: int = MAX_PAGES) -> None:
        self._distance = distance
        self._most = most
        self._pages: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._parts: dict[tuple[str, int, int], dict[str, None]] = {}

    def find_near(self, group: str, url: str, simhash: int) -> str | None:
        """The URL of another page of the group that is alike; ``None``: none is, and this one is kept."""
        for place in _parts_of(group, simhash):
            for known in islice(reversed(self._parts.get(place, {})), MOST_COMPARED):
                if known != url and (self._pages[group, known] ^ simhash).bit_count() <= self._distance:
                    return known
        self._forget_page(group, url)
        self._pages[group, url] = simhash
        for place in _parts_of(group, simhash):
            self._parts.setdefault(place, {})[url] = None
        if len(self._pages) > self._most:
            self._forget_page(*next(iter(self._pages)))
        return None

    def _forget_page(self, group: str, url: str) -> None:
        simhash = self._pages.pop((group, url), None)
        if simhash is None:
            return
        for place in _parts_of(group, simhash):
            members = self._parts[place]
            del members[url]
            if not members:
                del self._parts[place]


def _parts_of(group: str, simhash: int) -> list[tuple[str, int, int]]:
    return [(group, shift, simhash >> shift & 0xFFFF) for shift in _PARTS]
