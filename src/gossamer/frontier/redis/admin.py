"""Inspects a frontier in Redis, and carries out an operator's actions on it.

Guarantee: nothing here blocks the server: long data is read in small steps, so an answer may mix two moments
of a running crawl. Scripts make all changes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from heapq import nsmallest

from gossamer.core.hosts import HostState
from gossamer.core.jobs import DueCounts, HostReport
from gossamer.core.requests import Lease
from gossamer.frontier.redis.shard import RedisShard
from gossamer.frontier.redis.stats import due_of
from gossamer.frontier.redis.wire import (
    HostRow,
    fingerprint_bytes,
    host_of,
    lease_of,
    leases_of,
    pending_of,
    raw_bytes,
)
from gossamer.frontier.transitions import DUE_HOSTS, ROUND
from gossamer.policy.host_sharing import merge_pace

# --------------------------------------------------------------------------- all of them


async def count_due(shards: Sequence[RedisShard]) -> list[DueCounts]:
    """Return how many requests may start now, by lane."""
    rows = [await shard.run_script("due", DUE_HOSTS, repeat=True) for shard in shards]
    return due_of(row for found in rows for row in found)


async def are_known(shard: RedisShard, fingerprints: Sequence[int]) -> list[bool]:
    """Whether each fingerprint was accepted by a shard."""
    asked = (
        [raw_bytes(fingerprint_bytes(number)) for number in fingerprints],
        [str(number) for number in fingerprints],
    )
    return [bool(found) for found in await shard.run_script("known", *asked, repeat=True)]


# --------------------------------------------------------------------------- hosts


async def busiest_hosts(shards: Sequence[RedisShard], limit: int) -> list[HostReport]:
    """Return the hosts with most pending requests."""
    found: list[tuple[int, bytes, int, bytes]] = []
    for shard in shards:
        async for key, value in _scan_hash(shard, "hosts"):
            if pending := pending_of(value):
                found.append((-pending, key, shard.index, value))
    rows = [host_of(row[3]) for row in nsmallest(limit, found)]
    states = await merge_paces(shards[0], rows)
    return [
        HostReport(host=row.name, state=state, pending=row.pending_count)
        for row, state in zip(rows, states, strict=True)
    ]


async def merge_paces(shard: RedisShard, rows: Sequence[HostRow]) -> list[HostState]:
    """Return hosts for people, with the knowledge of all jobs. Any shard of the job will do."""
    now, paces = await shard.read_paces([row.name for row in rows])
    return [
        row.state if pace is None or row.state.is_free else merge_pace(row.state, pace, now)
        for row, pace in zip(rows, paces, strict=True)
    ]


async def place_hosts(shard: RedisShard) -> None:
    """Put all hosts where they belong by the rules in force, if a change of the rules asks for it."""
    (asked,) = await shard.read_meta("placing")
    if asked is None:
        return
    is_moving = asked.startswith(b"turns:")
    keys: list[bytes] = []
    async for key, _ in _scan_hash(shard, "hosts"):
        keys.append(key)
        if len(keys) == ROUND:
            await shard.run_script("place", [raw_bytes(key) for key in keys], False, is_moving)
            keys = []
    await shard.run_script("place", [raw_bytes(key) for key in keys], asked.decode(), is_moving)


async def read_host(shard: RedisShard, key: bytes) -> HostRow:
    """Return a host by its key."""
    value = await shard.run_command("HGET", "hosts", key)
    if value is None:
        raise shard.gone_error()
    return host_of(value)


# --------------------------------------------------------------------------- leases


async def recover_leases(shards: Sequence[RedisShard], owner: bytes | None) -> tuple[Lease, ...]:
    """Take back the leases of an owner, or all."""
    taken: list[Lease] = []
    for shard in shards:
        tokens = await _tokens_of(shard, owner)
        for first in range(0, len(tokens), ROUND):
            shown = await shard.run_script("take_back", tokens[first : first + ROUND])
            taken += leases_of(shown, shard.index, shard.of)
    return tuple(sorted(taken, key=lambda lease: (lease.deadline, lease.token)))


async def _tokens_of(shard: RedisShard, owner: bytes | None) -> list[int]:
    return [
        int.from_bytes(field)
        async for field, value in _scan_hash(shard, "leases")
        if owner is None or lease_of(value).owner == owner
    ]


# --------------------------------------------------------------------------- everything


async def delete_shard(shard: RedisShard) -> None:
    """Delete the keys of a shard, its marker first; but not ``going``, which says that it is not done yet."""
    await shard.run_command("UNLINK", "meta")
    await shard.server.delete_keys(f"{shard.key}:*", but=f"{shard.key}:going".encode())


async def _scan_hash(shard: RedisShard, name: str) -> AsyncIterator[tuple[bytes, bytes]]:
    """Yield the fields of a hash, each once or more."""
    cursor, seen = 0, set[bytes]()
    while True:
        cursor, found = await shard.run_command("HSCAN", name, cursor, "COUNT", ROUND)
        for field, value in found.items():
            if field not in seen:
                seen.add(field)
                yield field, value
        if not cursor:
            return
