"""The items of a job, part by part or all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from gossamer.core.jobs import Job, StoredItem
from gossamer.core.record import Record
from gossamer.ports.store import Store
from gossamer.wiring.backends import Backends

IdRanges = Sequence[tuple[int, int]]
"""Ids of items in ascending order, as first and last of each unbroken row of them."""
NO_RANGE = (1 << 63, 1 << 63)
"""Behind every id."""


class ItemPage(Record, frozen=True, kw_only=True):
    """A part of a job's items, in the order in which they were first stored."""

    items: tuple[StoredItem, ...] = ()
    next_after: int | None = None  # the id after which the next part begins; None: there is no more


async def list_items(backends: Backends, job: Job, limit: int, *, after_id: int = 0) -> ItemPage:
    """Items of a job behind an id, no more than ``limit``."""
    found: list[StoredItem] = []
    async for item in backends.store.read_items(job, after_id):
        if len(found) == limit:
            return ItemPage(items=tuple(found), next_after=found[-1].id if found else after_id)
        found.append(item)
    return ItemPage(items=tuple(found))


class NewItemReader:
    """Items of a job that are not among the known ones; ``seen`` are all of them."""

    def __init__(self, store: Store, job: Job, known: IdRanges) -> None:
        self._store = store
        self._job = job
        self._known = iter(known)
        self.seen: list[tuple[int, int]] = []

    async def new_items(self) -> AsyncIterator[StoredItem]:
        """Those that are not known, in the order in which they were first stored."""
        first, last = next(self._known, NO_RANGE)
        async for item in self._store.read_items(self._job):
            self._note_seen(item.id)
            while last < item.id:
                first, last = next(self._known, NO_RANGE)
            if item.id < first:
                yield item

    def _note_seen(self, number: int) -> None:
        if self.seen and self.seen[-1][1] == number - 1:
            self.seen[-1] = (self.seen[-1][0], number)
        else:
            self.seen.append((number, number))
