"""How a frontier remembers which URLs it has seen."""

from __future__ import annotations

from math import ceil, exp
from typing import Literal, NamedTuple

Dedup = Literal["exact", "bloom"]

IN_SET = 370
"""Expected fingerprints per set: few enough that hardly any set exceeds 512."""
BITS, HASHES, BITS_PER_URL = 65407, 10, 14.4
GENERATIONS = 4
"""Parts of ``seen_ttl_s``: seen fingerprints expire one part at a time."""


class DedupReport(NamedTuple):
    """How URLs are known again."""

    dedup: str  # ``exact`` or ``bloom``
    known: int  # accepted so far
    error_rate: float  # of new URLs that are taken for known ones, at the present fill; 0.0 for ``exact``


def buckets_for(dedup: Dedup, expected: int) -> int:
    """Into how many sets or filters fingerprints are spread."""
    return max(ceil(expected / (IN_SET if dedup == "exact" else BITS / BITS_PER_URL)), 1)


def error_rate(known: int, buckets: int) -> float:
    """Return the error rate of a Bloom filter: ``(1 - exp(-kn/m)) ** k``."""
    return float((1 - exp(-HASHES * known / (buckets * BITS))) ** HASHES)
