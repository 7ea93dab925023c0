"""How one call of the Redis frontier becomes calls of its shards, each bounded.

Guarantee: no call of a script takes in more than ``ROUND`` requests, however many a caller brings; a host
is always on the same shard; which shard leases how many follows from whose hosts' turns come first.
"""

from __future__ import annotations

import asyncio
from binascii import crc32
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest
from typing import TypeVar

from gossamer.frontier.redis.shard import RedisShard
from gossamer.frontier.redis.wire import raw_bytes, text_bytes
from gossamer.frontier.transitions import ROUND

T = TypeVar("T")


def shard_of(shards: Sequence[RedisShard], host: str) -> RedisShard:
    """Return where a host is, forever."""
    return shards[crc32(text_bytes(host)) % len(shards)] if len(shards) > 1 else shards[0]


def by_shard(
    shards: Sequence[RedisShard], things: Sequence[T], host: Callable[[T], str]
) -> dict[RedisShard, list[tuple[int, T]]]:
    """Things with their positions, by the shard of their host."""
    found: dict[RedisShard, list[tuple[int, T]]] = {}
    for position, thing in enumerate(things):
        found.setdefault(shard_of(shards, host(thing)), []).append((position, thing))
    return found


def split_chunks(things: Sequence[T], size: Callable[[T], int] = lambda _: 1) -> Iterator[list[T]]:
    """Things in groups whose sizes are ``ROUND`` together at most; one that is larger alone."""
    group: list[T] = []
    total = 0
    for thing in things:
        weight = size(thing)
        if group and total + weight > ROUND:
            yield group
            group, total = [], 0
        group.append(thing)
        total += weight
    if group:
        yield group


async def first_shares(shards: Sequence[RedisShard], lane: str, limit: int) -> dict[RedisShard, int]:
    """How many requests each shard is asked for at first: as many as it has hosts among the first in turn."""
    if len(shards) == 1:
        return {shards[0]: min(limit, ROUND)}
    turns = await asyncio.gather(
        *(shard.run_script("peek", raw_bytes(text_bytes(lane)), min(limit, ROUND)) for shard in shards)
    )
    first = nsmallest(
        limit,
        (
            (band, float(at), shard.index)
            for shard, found in zip(shards, turns, strict=True)
            for band, at in zip(found[::2], found[1::2], strict=True)
        ),
    )
    counts = Counter(index for _, _, index in first)
    return {shard: counts[shard.index] for shard in shards}


def even_shares(shards: Iterable[RedisShard], left: int) -> dict[RedisShard, int]:
    """Distribute the remaining number over the shards that may give more."""
    shares: dict[RedisShard, int] = {}
    waiting = list(shards)
    while waiting and left > 0:
        share = min(-(-left // len(waiting)), ROUND)
        shares[waiting.pop()] = share
        left -= share
    return shares
