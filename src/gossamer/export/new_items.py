"""The items of a job that a file does not have yet."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Sequence

from gossamer.core.jobs import StoredItem

IdRanges = Sequence[tuple[int, int]]
"""Ids of items in ascending order, as first and last of each unbroken row of them."""
NO_RANGE = (1 << 63, 1 << 63)
"""Behind every id."""


class NewItemReader:
    """Items of a job that are not among the known ones; ``seen`` are all of them."""

    def __init__(self, items: AsyncIterable[StoredItem], known: IdRanges) -> None:
        """``items`` are all of them, in the order of their ids."""
        self._items = items
        self._known = iter(known)
        self.seen: list[tuple[int, int]] = []

    async def new_items(self) -> AsyncIterator[StoredItem]:
        """Yield those that are not known, in the order in which they were first stored."""
        first, last = next(self._known, NO_RANGE)
        async for item in self._items:
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
