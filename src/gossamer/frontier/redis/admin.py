"""Looking into a frontier in Redis, and what a person may do to it.

Guarantee: nothing here holds the server up: it goes through what may be long in small steps, so an answer
may mix two moments of a crawl that goes on meanwhile. What changes something is done by scripts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from heapq import nsmallest
from typing import NamedTuple

import msgspec

from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DueCounts, HostReport, KnownRequest
from gossamer.core.lifecycle import RequestState
from gossamer.core.position import QueuePosition
from gossamer.core.requests import Lease
from gossamer.frontier.redis.shard import RedisShard
from gossamer.frontier.redis.stats import due_of
from gossamer.frontier.redis.wire import (
    HostRow,
    StoredRequest,
    fingerprint_bytes,
    host_of,
    lease_of,
    leases_of,
    raw_bytes,
    stored_of,
    text_bytes,
    unpack_member,
)
from gossamer.frontier.transitions import DUE_HOSTS, ROUND

_rules = msgspec.msgpack.Decoder(FrontierRules)


class QueueRange(NamedTuple):
    """Ranks of one structure that may hold a request."""

    key: str  # after the shard's
    kind: str  # list or zset
    first: int
    last: int
    offset: int  # where the fingerprint stands in an element, from 1
    state: RequestState
    host: bytes = b""
    lane: int = 0
    band: int = 0


class StoredPosition(NamedTuple):
    """Where a request was found."""

    shard: RedisShard
    state: RequestState
    stored: StoredRequest
    host: HostRow
    rank: int = 0
    part: QueueRange | None = None
    granted_at: float = 0.0
    token: bytes = b""


# --------------------------------------------------------------------------- all of them


async def count_due(shards: Sequence[RedisShard]) -> list[DueCounts]:
    """How many requests may start now, by lane."""
    rows = [await shard.run_script("due", DUE_HOSTS, repeat=True) for shard in shards]
    return due_of(row for found in rows for row in found)


# --------------------------------------------------------------------------- one request


async def are_known(shard: RedisShard, fingerprints: Sequence[int]) -> list[bool]:
    """Whether each fingerprint was accepted by a shard."""
    asked = (
        [raw_bytes(fingerprint_bytes(number)) for number in fingerprints],
        [str(number) for number in fingerprints],
    )
    return [bool(found) for found in await shard.run_script("known", *asked, repeat=True)]


async def find_request(shards: Sequence[RedisShard], fingerprint: int) -> KnownRequest | None:
    """What is known of a fingerprint."""
    wanted = fingerprint_bytes(fingerprint)
    holders = [shard for shard in shards if (await are_known(shard, [fingerprint]))[0]]
    for shard in holders:
        spot = await _find_spot(shard, wanted)
        if spot is not None:
            entry = spot.stored.to_entry(spot.host.name)
            return KnownRequest(
                state=spot.state,
                entry=entry,
                due_at=entry.due_at,
                attempts=spot.stored.attempts,
                reason=spot.stored.reason,
                host=spot.host.state,
            )
    return KnownRequest(state=RequestState.DONE) if holders else None


async def find_position(
    shards: Sequence[RedisShard], fingerprint: int
) -> tuple[FrontierRules, QueuePosition]:
    """The rules in force, and where a request stands."""
    (packed,) = await shards[0].read_meta("rules")
    rules = _rules.decode(packed)
    for shard in shards:
        spot = await _find_spot(shard, fingerprint_bytes(fingerprint))
        if spot is not None:
            return rules, await _position_of(spot)
    return rules, QueuePosition()


async def _position_of(spot: StoredPosition) -> QueuePosition:
    shard = spot.shard
    if spot.state is RequestState.LEASED:
        deadline = await shard.run_command("ZSCORE", "deadlines", spot.token)
        return QueuePosition(granted_at=spot.granted_at, deadline=float(deadline or 0.0))
    if spot.state is RequestState.DEAD:
        found = await shard.run_command("ZRANGE", "dead", spot.rank, spot.rank, "WITHSCORES")
        return QueuePosition(died_at=float(found[1]) if found else 0.0, number=shard.number_of(spot.stored))
    return (
        QueuePosition(ahead=await _count_ahead(spot))
        if spot.state is RequestState.PENDING
        else QueuePosition()
    )


async def _count_ahead(spot: StoredPosition) -> int:
    """How many requests of its host go before a pending one."""
    part, shard = spot.part, spot.shard
    assert part is not None
    ours = [slot for slot in spot.host.waiting if slot.lane == part.lane]
    better = sum(slot.listed + slot.back for slot in ours if slot.band < part.band)
    tail = text_bytes(part.key[2:])
    if part.kind == "list":
        others = await shard.run_command("ZCOUNT", b"b" + tail, "-inf", f"({spot.stored.id}")
        return better + spot.rank + int(others)
    low, high = 0, await shard.run_command("LLEN", b"q" + tail)
    while low < high:  # ids rise along the list
        middle = (low + high) // 2
        element = await shard.run_command("LINDEX", b"q" + tail, middle)
        is_before = element is not None and int.from_bytes(element[:6]) < spot.stored.id
        low, high = (middle + 1, high) if is_before else (low, middle)
    return better + spot.rank + low


async def _find_spot(shard: RedisShard, fingerprint: bytes) -> StoredPosition | None:
    """The request with a fingerprint that is not done."""
    async for field, value in _scan_hash(shard, "leases"):
        lease = lease_of(value)
        if lease.element[6:14] == fingerprint:
            host = await read_host(shard, lease.host)
            stored = stored_of(lease.element)
            return StoredPosition(
                shard, RequestState.LEASED, stored, host, granted_at=lease.granted_at, token=field
            )
    group: list[QueueRange] = []
    size = 0
    async for part in _iter_parts(shard):
        group.append(part)
        size += part.last - part.first + 1
        if size >= ROUND:
            if (spot := await _search_parts(shard, fingerprint, group)) is not None:
                return spot
            group, size = [], 0
    return await _search_parts(shard, fingerprint, group)


async def _search_parts(
    shard: RedisShard, fingerprint: bytes, group: list[QueueRange]
) -> StoredPosition | None:
    flat = [value for part in group for value in (raw_bytes(text_bytes(part.key)), *part[1:5])]
    found = await shard.run_script("search", raw_bytes(fingerprint), flat, repeat=True)
    if not found:
        return None
    number, rank, element = found
    part = group[number]
    key, stored = (part.host, stored_of(element)) if part.host else unpack_member(element)
    return StoredPosition(shard, part.state, stored, await read_host(shard, key), rank, part)


async def _iter_parts(shard: RedisShard) -> AsyncIterator[QueueRange]:
    """Everything that waits or is dead, in parts of ``ROUND`` at most."""
    packed, former = await shard.read_meta("lane_names", "lanes")
    lanes: list[str] = msgspec.msgpack.decode(packed or former)
    scored = [(f"d:{number}", RequestState.DELAYED) for number in range(1, len(lanes) + 1)]
    for key, state in (("dead", RequestState.DEAD), *scored):
        size = await shard.run_command("ZCARD", key)
        for part in _split_ranks(QueueRange(f":{key}", "zset", 0, size, 13, state)):
            yield part
    async for host_key, value in _scan_hash(shard, "hosts"):
        row = host_of(value)
        for lane, band, listed, back in row.waiting:
            tail, where = f":{lane}:{band}:{row.name}", (host_key, lane, band)
            for part in _split_ranks(
                QueueRange(f":q{tail}", "list", 0, listed, 7, RequestState.PENDING, *where)
            ):
                yield part
            for part in _split_ranks(
                QueueRange(f":b{tail}", "zset", 0, back, 7, RequestState.PENDING, *where)
            ):
                yield part


def _split_ranks(whole: QueueRange) -> list[QueueRange]:
    return [
        whole._replace(first=first, last=min(first + ROUND, whole.last) - 1)
        for first in range(0, whole.last, ROUND)
    ]


# --------------------------------------------------------------------------- hosts


async def busiest_hosts(shards: Sequence[RedisShard], limit: int) -> list[HostReport]:
    """The hosts with most pending requests."""
    found: list[tuple[int, bytes, int, HostReport]] = []
    for shard in shards:
        async for key, value in _scan_hash(shard, "hosts"):
            row = host_of(value)
            if row.pending_count:
                report = HostReport(host=row.name, state=row.state, pending=row.pending_count)
                found.append((-row.pending_count, key, shard.index, report))
    return [row[3] for row in nsmallest(limit, found, key=lambda row: row[:3])]


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
    """A host by its key."""
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
    """The fields of a hash, each once or more."""
    cursor, seen = 0, set[bytes]()
    while True:
        cursor, found = await shard.run_command("HSCAN", name, cursor, "COUNT", ROUND)
        for field, value in found.items():
            if field not in seen:
                seen.add(field)
                yield field, value
        if not cursor:
            return
