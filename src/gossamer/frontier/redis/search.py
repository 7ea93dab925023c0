"""Finds one request for an operator: Redis has no index of requests by their fingerprints.

Guarantee: only places that may hold it are searched, up to a limit (``OF_HOST``, ``OF_OTHERS``), in steps
that block the server for about a millisecond each; an answer may mix two moments of a running crawl.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gossamer.core.jobs import KnownRequest
from gossamer.core.lifecycle import RequestState
from gossamer.core.position import QueuePosition
from gossamer.core.requests import Entry
from gossamer.frontier.redis.admin import are_known, merge_paces
from gossamer.frontier.redis.shard import RedisShard
from gossamer.frontier.redis.wire import (
    HostRow,
    StoredRequest,
    fingerprint_bytes,
    host_of,
    lease_of,
    raised_parts,
    raw_bytes,
    stored_of,
    text_bytes,
    unpack_member,
)
from gossamer.frontier.transitions import ROUND, best_wanted, raised_request
from gossamer.policy.urls import again_twin_of

STEP = 2000
"""Requests that one call looks at: measured 0.8 ms, at most 1.5 ms."""
OF_HOST = 100_000
"""Requests that are looked at of those that wait for their host's turns: those that go first."""
OF_OTHERS = 20_000
"""The same of leases, of delayed requests, and of dead letters."""
RAISED = 50
"""Requests that one call raises: it holds the server up for a millisecond or two."""
SLACK_S = 60.0
"""The tolerance for differences between clocks."""


class QueueRange(NamedTuple):
    """Ranks of one structure that may hold a request."""

    key: str  # after the shard's
    kind: str  # list or zset
    first: int
    end: int  # behind the last
    offset: int  # where the fingerprint stands in an element, from 1
    state: RequestState
    lane: int = 0
    band: int = 0

    @property
    def size(self) -> int:
        """How many elements it has."""
        return max(self.end - self.first, 0)

    def cut_to(self, most: int) -> QueueRange:
        """Return its first elements."""
        return self._replace(end=min(self.end, self.first + most))

    def split(self) -> Iterator[QueueRange]:
        """Yield the same in parts for one call each."""
        for first in range(self.first, self.end, STEP):
            yield self._replace(first=first).cut_to(min(STEP, self.end - first))


class StoredPosition(NamedTuple):
    """Where a request was found."""

    part: QueueRange
    rank: int
    element: bytes


async def find_request(
    shard: RedisShard, fingerprint: int, host: str, tried_at: float
) -> KnownRequest | None:
    """Return the facts about a request to a host of the shard."""
    wanted = raw_bytes(fingerprint_bytes(fingerprint))
    found = await _find_places(shard, fingerprint, host, max(tried_at - SLACK_S, 0.0))
    if not found:
        return None
    row, leased, *ranks = found
    if not row:  # of a host of which nothing ever waited
        return KnownRequest(state=RequestState.DONE)
    owner = host_of(row)
    (state,) = await merge_paces(shard, [owner])
    owner = owner._replace(state=state)
    if (lease := await _find_lease(shard, wanted, owner)) is not None:
        return lease
    whole = [*_others_of(ranks), *_queues_of(owner)]
    parts = list(_cut_parts(whole))
    async for place in _search_parts(shard, [wanted], _split_parts(parts)):
        return await _known_at(shard, owner, place)
    looked_at, there = sum(part.size for part in parts), sum(part.size for part in whole)
    if looked_at < there or leased > OF_OTHERS:
        return KnownRequest(state=RequestState.PENDING, host=owner.state, beyond=looked_at)
    return KnownRequest(state=RequestState.DONE)


async def raise_requests(shard: RedisShard, entries: Sequence[Entry]) -> int:
    """Give waiting requests to hosts of the shard a higher priority, as far as they are found.

    All are looked for together, and those of one queue are taken out of it together, ``RAISED`` in a call.
    """
    wanted = await _known_of(shard, best_wanted(entries))
    asked = [raw_bytes(fingerprint_bytes(number)) for number in {one.fingerprint for one in wanted.values()}]
    pieces = list(_split_parts(await _find_queues(shard, wanted.values())))
    groups: dict[tuple[str, QueueRange], dict[bytes, tuple[Any, ...]]] = {}
    async for place in _search_parts(shard, asked, pieces[::-1]):  # entries that move ahead are met again
        stored, whole = _stored_at(place), place.part._replace(first=0, end=0)
        for entry in (wanted.get(stored.fingerprint), wanted.get(again_twin_of(stored.fingerprint))):
            if entry is not None and (row := _raised_row(place, stored, entry)):
                groups.setdefault((entry.host, whole), {}).setdefault(place.element, row)
    return sum([await _raise_rows(shard, *where, list(found.values())) for where, found in groups.items()])


async def _known_of(shard: RedisShard, wanted: Mapping[int, Entry]) -> dict[int, Entry]:
    """Return the entries of which something was accepted."""
    numbers, known = list(wanted), list[bool]()
    for first in range(0, len(numbers), ROUND):
        known += await are_known(shard, numbers[first : first + ROUND])
    return {number: wanted[number] for number, is_known in zip(numbers, known, strict=True) if is_known}


async def _find_queues(shard: RedisShard, wanted: Iterable[Entry]) -> list[QueueRange]:
    """Return the places of accepted entries: the shard's delayed requests, and their hosts' queues."""
    parts: list[QueueRange] = []
    for entry in {entry.host: entry for entry in wanted}.values():
        found = await _find_places(shard, entry.fingerprint, entry.host, 0.0)
        if not found or not found[0]:  # nothing ever waited for the host
            continue
        row, _, *ranks = found
        if not parts:
            parts += [part for part in _cut_parts(_others_of(ranks)) if part.state is RequestState.DELAYED]
        parts += _cut_parts(_queues_of(host_of(row)))
    return parts


def _stored_at(place: StoredPosition) -> StoredRequest:
    is_pending = place.part.state is RequestState.PENDING
    return stored_of(place.element) if is_pending else unpack_member(place.element)[1]


def _raised_row(place: StoredPosition, stored: StoredRequest, entry: Entry) -> tuple[Any, ...] | None:
    """Return a request for the script; ``None`` if it has that priority, or is another kind of request."""
    waiting = stored.to_entry(entry.host)
    request = None if waiting.unreadable else raised_request(waiting.request, entry.request)
    if request is None or waiting.request.dont_filter != entry.request.dont_filter:
        return None
    return raw_bytes(place.element), place.rank, *raised_parts(request, entry.host)


async def _raise_rows(shard: RedisShard, host: str, part: QueueRange, rows: Sequence[tuple[Any, ...]]) -> int:
    """Raise requests to a host that were found in one structure."""
    where = (raw_bytes(text_bytes(host)), raw_bytes(text_bytes(part.key)), part.kind, part.lane, part.band)
    raised = 0
    for first in range(0, len(rows), RAISED):
        flat = [value for row in rows[first : first + RAISED] for value in row]
        raised += await shard.run_script("raise", *where, flat)
    return raised


async def _find_places(shard: RedisShard, fingerprint: int, host: str, since: float) -> list[Any]:
    """Where a request may be that died, or was due, after a time; nothing where it was never accepted."""
    again = again_twin_of(fingerprint)
    asked = (raw_bytes(fingerprint_bytes(fingerprint)), str(fingerprint), raw_bytes(text_bytes(host)), since)
    recorded = (raw_bytes(fingerprint_bytes(again)), str(again))
    found: list[Any] = await shard.run_script("places", *asked, *recorded, repeat=True)
    return found


def _others_of(ranks: list[int]) -> Iterator[QueueRange]:
    """Dead letters and delayed requests, from where the request may be."""
    states = (RequestState.DEAD, *[RequestState.DELAYED] * (len(ranks) // 2 - 1))
    for number, state in enumerate(states):
        first, size = ranks[2 * number : 2 * number + 2]
        yield QueueRange(f":d:{number}" if number else ":dead", "zset", first, size, 13, state)


def _queues_of(owner: HostRow) -> Iterator[QueueRange]:
    """Yield the queues of a host, best band first; in each band, entries outside the list come first."""
    for lane, band, listed, back in sorted(owner.waiting, key=lambda slot: slot.band):
        for kind, key, size in (("zset", "b", back), ("list", "q", listed)):
            name = f":{key}:{lane}:{band}:{owner.name}"
            yield QueueRange(name, kind, 0, size, 7, RequestState.PENDING, lane, band)


def _cut_parts(whole: Iterable[QueueRange]) -> Iterator[QueueRange]:
    """Cut each structure to the part that is searched."""
    left = {RequestState.PENDING: OF_HOST, RequestState.DEAD: OF_OTHERS, RequestState.DELAYED: OF_OTHERS}
    for part in whole:
        cut = part.cut_to(left[part.state])
        left[part.state] -= cut.size
        yield cut


async def _find_lease(shard: RedisShard, wanted: object, owner: HostRow) -> KnownRequest | None:
    cursor, looked_at = b"0", 0
    while looked_at < OF_OTHERS:
        cursor, *found = await shard.run_script("search_leases", wanted, cursor.decode(), STEP, repeat=True)
        if found:
            lease = lease_of(found[0])
            place = QueuePosition(granted_at=lease.granted_at, deadline=float(found[1]))
            return _known_as(RequestState.LEASED, stored_of(lease.element), owner, place)
        if cursor == b"0":
            break
        looked_at += STEP
    return None


async def _search_parts(
    shard: RedisShard, wanted: Sequence[object], pieces: Iterable[QueueRange]
) -> AsyncIterator[StoredPosition]:
    for group in _group_pieces(pieces):
        flat = [
            value
            for part in group
            for value in (raw_bytes(text_bytes(part.key)), part.kind, part.first, part.end - 1, part.offset)
        ]
        found = await shard.run_script("search", wanted, flat, repeat=True)
        for number, rank, element in zip(found[::3], found[1::3], found[2::3], strict=True):
            yield StoredPosition(group[number], rank, element)


def _split_parts(parts: Iterable[QueueRange]) -> Iterator[QueueRange]:
    return (piece for whole in parts for piece in whole.split())


def _group_pieces(pieces: Iterable[QueueRange]) -> Iterator[list[QueueRange]]:
    """Pieces for one call each."""
    group: list[QueueRange] = []
    size = 0
    for part in pieces:
        if group and size + part.size > STEP:
            yield group
            group, size = [], 0
        group.append(part)
        size += part.size
    if group:
        yield group


async def _known_at(shard: RedisShard, owner: HostRow, found: StoredPosition) -> KnownRequest:
    state, position = found.part.state, QueuePosition()
    if state is RequestState.PENDING:
        stored = stored_of(found.element)
        position = QueuePosition(ahead=await _count_ahead(shard, owner, found, stored))
    else:
        _, stored = unpack_member(found.element)
    if state is RequestState.DEAD:
        died_at = await shard.run_command("ZSCORE", "dead", found.element)
        position = QueuePosition(died_at=float(died_at or 0.0), number=shard.number_of(stored.id))
    return _known_as(state, stored, owner, position)


def _known_as(
    state: RequestState, stored: StoredRequest, owner: HostRow, place: QueuePosition
) -> KnownRequest:
    entry = stored.to_entry(owner.name)
    return KnownRequest(
        state=state,
        entry=entry,
        due_at=entry.due_at,
        attempts=stored.attempts,
        reason=stored.reason,
        host=owner.state,
        place=place,
    )


async def _count_ahead(
    shard: RedisShard, owner: HostRow, found: StoredPosition, stored: StoredRequest
) -> int:
    """Return how many requests of its host go before a pending one."""
    part = found.part
    ours = [slot for slot in owner.waiting if slot.lane == part.lane]
    better = sum(slot.listed + slot.back for slot in ours if slot.band < part.band)
    tail = text_bytes(part.key[2:])
    if part.kind == "list":
        others = await shard.run_command("ZCOUNT", b"b" + tail, "-inf", f"({stored.place}")
        return better + found.rank + int(others)
    low, high = 0, await shard.run_command("LLEN", b"q" + tail)
    while low < high:  # ids rise along the list
        middle = (low + high) // 2
        element = await shard.run_command("LINDEX", b"q" + tail, middle)
        is_before = element is not None and int.from_bytes(element[:6]) < stored.place
        low, high = (middle + 1, high) if is_before else (low, middle)
    return better + found.rank + low
