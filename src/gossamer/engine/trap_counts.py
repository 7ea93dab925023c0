"""Where the counts of a job's URL patterns are: in shared state, spread over a few values.

Values are read and written as a whole, so a worker saves only groups that matter by their number of pages, at
most once a second; of more than a few thousand of them those with the fewest pages are forgotten.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from zlib import crc32

import msgspec

from gossamer.policy.trap_budgets import WITNESS_EVERY, TrapCounts, add_counts
from gossamer.ports.shared_state import SharedState

SPACE = "traps"
KEPT_S = 400 * 86_400.0
"""Seconds for which the counts are kept after the last page of a job."""
SHARDS = 16
"""Values in which the counts of a job are kept, each of at most some ten kilobytes."""
MAX_GROUPS = 120
"""Groups in each of them."""
MAX_CLOSED = 300
"""Groups of which all workers hear at once that they are closed; the others hear when they count a page."""
MAX_WITNESSES = 400
"""Pages in each of the values by which mirrors are known."""
CLOSED = "closed"

GroupCounts = dict[str, TrapCounts]
"""Counts by group."""


class CountedGroup(msgspec.Struct, eq=False):
    """A group of URLs as one worker knows it: by ``known`` less ``saved`` it is ahead of the others."""

    name: str
    known: TrapCounts
    saved: TrapCounts

    def has_news(self, least: int) -> bool:
        """Whether at least ``least`` of its pages are unsaved, or other workers need its news."""
        known, saved = self.known, self.saved
        pages = known.pages - saved.pages + (known.foreign - saved.foreign) * WITNESS_EVERY
        is_told = known.refused > saved.refused or known.probes > saved.probes or known.rule != saved.rule
        return pages >= least or is_told or (known.foreign > 0 and known.seeds > saved.seeds)


def state_of(counts: TrapCounts) -> tuple[int, str]:
    """Return the state of a group that all workers need: how often it was reopened, and its rule."""
    return counts.opened, counts.rule


async def read_counts(shared: SharedState, job: str) -> GroupCounts:
    """Read the counts of all groups of a job (its tag). Raises ``StorageError``."""
    values = await asyncio.gather(*(shared.get(SPACE, f"{job} {shard}") for shard in range(SHARDS)))
    return {group: counts for value in values for group, counts in _decode(value).items()}


class TrapCountStore:
    """The counts of one job (its tag), as its workers share them. All methods raise ``StorageError``."""

    def __init__(self, shared: SharedState, job: str) -> None:
        self._shared = shared
        self._job = job

    def __repr__(self) -> str:
        return f"<TrapCountStore of {self._job}>"

    async def read_counts(self) -> GroupCounts:
        """Read the counts that all workers have saved."""
        return await read_counts(self._shared, self._job)

    async def read_closed(self) -> GroupCounts:
        """Return the closed groups, as they were saved."""
        return _decode(await self._shared.get(SPACE, f"{self._job} {CLOSED}"))

    async def add_counts(self, more: GroupCounts) -> GroupCounts:
        """Save counts; return the totals of these groups."""
        shards: dict[int, GroupCounts] = {}
        for group, counts in more.items():
            shards.setdefault(crc32(group.encode()) % SHARDS, {})[group] = counts
        known: GroupCounts = {}
        for shard, part in shards.items():
            add = partial(_add_to, part)
            value = await self._shared.update(SPACE, f"{self._job} {shard}", add, KEPT_S)
            saved = _decode(value)
            known.update({group: saved[group] for group in part if group in saved})
        return known

    async def add_closed(self, closed: GroupCounts) -> GroupCounts:
        """Tell all workers that groups are closed; all that are."""
        add = partial(_close_in, closed)
        return _decode(await self._shared.update(SPACE, f"{self._job} {CLOSED}", add, KEPT_S))

    async def add_witnesses(self, witnesses: Mapping[str, str]) -> dict[str, str]:
        """Save on which host pages were seen; on which host each of them was seen first."""
        shards: dict[str, dict[str, str]] = {}
        for page, host in witnesses.items():
            shards.setdefault(page[0], {})[page] = host
        first: dict[str, str] = {}
        for shard, part in shards.items():
            add = partial(_keep_first, part)
            value = await self._shared.update(SPACE, f"{self._job} page {shard}", add, KEPT_S)
            known = _decode_witnesses(value)
            first.update({page: known.get(page, host) for page, host in part.items()})
        return first


def _add_to(more: GroupCounts, value: bytes | None) -> bytes:
    known = _decode(value)
    for group, counts in more.items():
        saved = known.get(group)
        known[group] = counts if saved is None else add_counts(saved, counts)
    return _encode(known, MAX_GROUPS)


def _close_in(closed: GroupCounts, value: bytes | None) -> bytes:
    known = _decode(value)
    for group, counts in closed.items():
        saved = known.get(group)
        if saved is None or state_of(counts) >= state_of(saved):
            known[group] = counts
    return _encode(known, MAX_CLOSED)


def _encode(known: GroupCounts, most: int) -> bytes:
    if len(known) > most:
        by_weight = sorted(known, key=lambda group: (known[group].rule != "", known[group].pages))
        for group in by_weight[: len(known) - most]:
            del known[group]
    return msgspec.msgpack.encode(known)


def _decode(value: bytes | None) -> GroupCounts:
    """Decode saved counts; counts of another version that cannot be read are empty."""
    try:
        known = msgspec.msgpack.decode(value, type=GroupCounts) if value else {}
    except msgspec.DecodeError:
        return {}
    for counts in known.values():
        counts.mend_probes()
    return known


def _keep_first(part: Mapping[str, str], value: bytes | None) -> bytes:
    known = _decode_witnesses(value)
    for page, host in part.items():
        if len(known) < MAX_WITNESSES:
            known.setdefault(page, host)
    return msgspec.msgpack.encode(known)


def _decode_witnesses(value: bytes | None) -> dict[str, str]:
    try:
        return msgspec.msgpack.decode(value, type=dict[str, str]) if value else {}
    except msgspec.DecodeError:
        return {}
