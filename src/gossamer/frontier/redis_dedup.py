"""How the Redis frontier knows URLs again, and how sure it is.

``exact`` keeps every fingerprint, in sets so small that Redis stores them as sorted arrays: about 9 bytes
a URL. ``bloom`` keeps a filter of 14.4 bits a URL: at the number of URLs that were expected one new URL in a
thousand is taken for a known one and left out. The numbers here are those of ``lua/admit.lua``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from math import ceil, exp
from typing import Literal, NamedTuple

from gossamer.frontier.redis_shard import Shard

Dedup = Literal["exact", "bloom"]

IN_SET = 370
"""Fingerprints of one set when it knows what was expected: few enough that hardly one outgrows 512."""
BITS, HASHES, BITS_PER_URL = 65407, 10, 14.4
GENERATIONS = 4
"""With ``seen_ttl_s`` what is seen is kept by quarters of it; the oldest is forgotten as a whole."""


class DedupReport(NamedTuple):
    """How URLs are known again."""

    dedup: str  # ``exact`` or ``bloom``
    known: int  # accepted so far
    error_rate: float  # of new URLs that are taken for known ones, at the present fill; 0.0 for ``exact``


def buckets_for(dedup: Dedup, expected: int) -> int:
    """Into how many sets or filters fingerprints are spread."""
    return max(ceil(expected / (IN_SET if dedup == "exact" else BITS / BITS_PER_URL)), 1)


def error_rate(known: int, buckets: int) -> float:
    """Of a Bloom filter: ``(1 - exp(-kn/m)) ** k``."""
    return float((1 - exp(-HASHES * known / (buckets * BITS))) ** HASHES)


async def dedup_report(shards: Sequence[Shard]) -> DedupReport:
    """Of a job, from its counters; with ``seen_ttl_s`` an upper bound of the errors."""
    fields = ("dedup", "buckets", "pending", "delayed", "leased", "done", "dead")
    rows = await asyncio.gather(*(shard.meta(*fields) for shard in shards))
    dedup = rows[0][0].decode()
    counts = [sum(int(number) for number in row[2:]) for row in rows]
    known = sum(counts)
    if dedup == "exact" or not known:
        return DedupReport(dedup, known, 0.0)
    wrong = sum(count * error_rate(count, int(row[1])) for count, row in zip(counts, rows, strict=True))
    return DedupReport(dedup, known, wrong / known)
