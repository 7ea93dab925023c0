"""Compare the items of two jobs of any size: sort them into files, and read these side by side."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from gossamer.core.files import is_file_item
from gossamer.core.item_diff import DiffCounts, ItemDifference
from gossamer.core.jobs import StoredItem
from gossamer.policy.item_diff import DiffCounter, diff_items, place_of
from gossamer.runtime.record_sorter import RecordSorter


class ItemDiff:
    """The differences from one set of items to another. Close it, for its temporary files."""

    def __init__(self) -> None:
        self._sorters = [RecordSorter(StoredItem, place_of) for _ in range(2)]
        self._counter = DiffCounter()
        self._before: Iterator[StoredItem] = iter(())
        self._after: Iterator[StoredItem] = iter(())

    async def read_items(self, before: AsyncIterator[StoredItem], after: AsyncIterator[StoredItem]) -> None:
        """Take in both sides, in any order. Raises what reading them raises."""
        self._before, self._after = [
            await _sort_items(*side) for side in zip((before, after), self._sorters, strict=True)
        ]

    def differences(self) -> Iterator[ItemDifference]:
        """The differences in the order of type and key, once."""
        return self._counter.count_differences(diff_items(self._before, self._after))

    @property
    def counts(self) -> DiffCounts:
        """Counts of the differences read so far."""
        return self._counter.counts

    def close(self) -> None:
        """Delete the temporary files."""
        for sorter in self._sorters:
            sorter.close()


async def _sort_items(
    items: AsyncIterator[StoredItem], sorter: RecordSorter[StoredItem]
) -> Iterator[StoredItem]:
    async for item in items:
        if not is_file_item(item.type, item.data):  # they are the same, whatever a spider makes of pages
            sorter.add_record(item)
    return sorter.read_records()
