"""How the Redis frontier knows URLs again, and how sure it is.

``exact`` keeps every fingerprint, in sets so small that Redis stores them as sorted arrays: about 9 bytes
a URL. ``bloom`` keeps a filter of 14.4 bits a URL: at the number of URLs that were expected one new URL in a
thousand is taken for a known one and left out. The numbers here are those of ``lua/admit.lua``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from gossamer.core.dedup import (
    DedupReport,
    error_rate,
)
from gossamer.frontier.redis.shard import RedisShard


async def dedup_report(shards: Sequence[RedisShard]) -> DedupReport:
    """Return a job's report, from its counters; with ``seen_ttl_s`` an upper bound of the errors."""
    fields = ("dedup", "buckets", "pending", "delayed", "leased", "done", "dead")
    rows = await asyncio.gather(*(shard.read_meta(*fields) for shard in shards))
    dedup = rows[0][0].decode()
    counts = [sum(int(number) for number in row[2:]) for row in rows]
    known = sum(counts)
    if dedup == "exact" or not known:
        return DedupReport(dedup, known, 0.0)
    wrong = sum(count * error_rate(count, int(row[1])) for count, row in zip(counts, rows, strict=True))
    return DedupReport(dedup, known, wrong / known)
