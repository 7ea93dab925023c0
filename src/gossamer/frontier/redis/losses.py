"""Handles the loss of a Redis server's last second: pages settled in reliance on lost links are redone.

Links of other shards are added before their page is settled. If both shards are on one server, its
append-only file keeps that order, so that it never has the page without the links. Two servers lose different
seconds: a page that was settled on one of them remembers for a while in which lives of the others its links
were added. When one of those lives has ended, the page is done again.
"""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.frontier.redis.shard import RedisShard
from gossamer.frontier.redis.wire import raw_bytes

Lives = set[tuple[int, bytes]]
"""Shards by their index, and the lives of their servers in which something was added there."""


async def redo_lost(shards: Sequence[RedisShard]) -> int:
    """Make pages pending again that rely on ended lives. Return the number of requests."""
    found = [await shard.run_script("reliances", repeat=True) for shard in shards]
    lives = [life for life, *_ in found]
    redone = 0
    for shard, (_, *reliances) in zip(shards, found, strict=True):
        for reliance in reliances:
            index, _, life = reliance.partition(b":")
            left = lives[int(index)] != life
            while left:
                count, left = await shard.run_script("redo", raw_bytes(reliance), repeat=True)
                redone += count
    return redone
