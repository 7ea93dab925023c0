"""Looking at the items of a store in memory. Guarantee: reads only."""

from __future__ import annotations

from random import Random

import msgspec

from gossamer.core.jobs import FoundItemRows, ItemFilter, ItemPlace, ItemRows, Job, StoredItem
from gossamer.policy.item_filter import fits_filter
from gossamer.store.memory.store import MemoryStore


class MemoryItemReader:
    """An ``ItemReader`` over a store in memory."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def page_items(
        self, job: Job, limit: int, which: ItemFilter, before: ItemPlace | None = None
    ) -> ItemRows:
        """See :class:`~gossamer.ports.item_reader.ItemReader`."""
        placed = sorted(
            (((now.changed_at, now.id), seen) for now, seen in self._store.seen_items(job)),
            key=lambda one: one[0],
            reverse=True,
        )
        found: list[tuple[ItemPlace, StoredItem]] = []
        for place, seen in placed:
            if (before is not None and place >= before) or not fits_filter(seen, which):
                continue
            if len(found) == limit:
                return ItemRows(items=tuple(item for _, item in found), next_before=found[-1][0])
            found.append((place, seen))
        return ItemRows(items=tuple(item for _, item in found))

    async def find_items(self, job: Job, url: str, limit: int) -> FoundItemRows:
        """See :class:`~gossamer.ports.item_reader.ItemReader`."""
        found = [seen for _, seen in self._store.seen_items(job) if seen.url == url]
        return FoundItemRows(items=tuple(found[:limit]), total=len(found))

    async def sample_items(self, job: Job, limit: int, most_bytes: int) -> list[StoredItem]:
        """See :class:`~gossamer.ports.item_reader.ItemReader`."""
        seen = [seen for _, seen in self._store.seen_items(job)]
        chosen = Random(job.id).sample(seen, min(limit, len(seen)))  # noqa: S311 - guards nothing
        found = []
        for item in chosen:
            if most_bytes <= 0:
                break
            found.append(item)
            most_bytes -= len(msgspec.json.encode(item.data))
        return found

    async def read_versions(self, spider: str, kind: str, key: str, limit: int = 100) -> list[StoredItem]:
        """See :class:`~gossamer.ports.item_reader.ItemReader`."""
        return self._store.versions_of((spider, kind, key))[:limit]

    async def list_types(self, job: Job, limit: int | None = None) -> list[str]:
        """See :class:`~gossamer.ports.item_reader.ItemReader`."""
        return self._store.types_of(job.name)[:limit]
