"""How any store reads the items of a job in parts: in slices by their latest change."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from math import inf
from typing import Any

from gossamer.core.jobs import ItemPlace, ItemRows, StoredItem

SLICES = (500, 5_000, 20_000, 20_000, 20_000)
"""Items that are looked at by one statement after the other, for one part: what fits a filter may be rare."""
NEWEST: ItemPlace = (inf, 0)

ReadSlice = Callable[[ItemPlace, int, int], Awaitable[Sequence[tuple[StoredItem, float]]]]
"""Reads the matches among a number of items before a place, up to a limit, with their latest change."""
ReadValues = Callable[[Sequence[int]], Awaitable[Sequence[tuple[StoredItem, int]]]]
"""Items by their ids, with the bytes that their values have as JSON."""
SAMPLED_AT_ONCE = 50
"""Items of a sample that are read first; then as many as their size allows."""
MOST_SAMPLED = 450
FindEdge = Callable[[ItemPlace, int], Awaitable[ItemPlace | None]]
"""Returns the last of a number of items before a place; ``None`` if there are fewer."""


async def sample_items(numbers: Sequence[int], read_values: ReadValues, most_bytes: int) -> list[StoredItem]:
    """Return the items of these ids, up to about ``most_bytes``."""
    found: list[StoredItem] = []
    read, some, left = 0, SAMPLED_AT_ONCE, most_bytes
    while read < len(numbers) and left > 0:
        for item, size in await read_values(numbers[read : read + some]):
            found.append(item)
            left -= size
        read += some
        mean = (most_bytes - left) / max(1, len(found))
        some = min(MOST_SAMPLED, 1 + int(left / mean)) if mean else MOST_SAMPLED
    return found


async def page_items(
    read_slice: ReadSlice, find_edge: FindEdge, limit: int, before: ItemPlace | None
) -> ItemRows:
    """Return a part of a job's items."""
    place = before or NEWEST
    found: list[tuple[StoredItem, float]] = []
    for size in SLICES:
        found += await read_slice(place, size, limit + 1 - len(found))
        if len(found) > limit:
            last, changed_at = found[limit - 1]
            items = tuple(item for item, _ in found[:limit])
            return ItemRows(items=items, next_before=(changed_at, last.id))
        edge = await find_edge(place, size)
        if edge is None:
            return ItemRows(items=tuple(item for item, _ in found))
        place = edge
    return ItemRows(items=tuple(item for item, _ in found), next_before=place)


def item_of(row: Sequence[Any], data: dict[str, Any]) -> StoredItem:
    """Return the record of a row: ``id, type, key, url, first_seen, last_seen, changed_at``."""
    number, kind, key, url, first_seen, last_seen, changed_at = row
    return StoredItem(
        id=number,
        type=kind,
        key=key,
        data=data,
        url=url,
        first_seen=first_seen,
        last_seen=last_seen,
        changed_at=changed_at,
    )
