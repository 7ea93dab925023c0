"""Sets of items that do not fit into memory are compared all the same."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

import msgspec
import pytest

from gossamer.core.item_diff import DiffCounts
from gossamer.core.jobs import StoredItem
from gossamer.queries.item_diff import ItemDiff
from gossamer.runtime import record_sorter


async def items_of(numbers: list[int], price: int) -> AsyncIterator[StoredItem]:
    """Items in another order than that of their keys."""
    mixed = list(numbers)
    random.Random(7).shuffle(mixed)
    for number in mixed:
        yield StoredItem(
            type="Product",
            key=str(number),
            data={"id": number, "name": "Café\n\u2028", "price": price if number % 10 == 0 else 1},
            url=f"http://shop.test/{number}",
            first_seen=1.0,
            last_seen=2.5,
            changed_at=2.0,
            id=number,
        )


@pytest.mark.parametrize("in_memory", [1_000, 1 << 20])
async def test_what_is_spilled_is_compared_as_what_is_not(
    in_memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_sorter, "MEMORY_BYTES", in_memory)
    diff = ItemDiff()
    await diff.read_items(items_of([*range(100)], 1), items_of([*range(20, 130)], 2))
    found = list(diff.differences())
    assert diff.counts == DiffCounts(added=30, changed=8, lost=20, unchanged=72, fields={"Product.price": 8})
    assert len(found) == 58
    assert [each.item.key for each in found] == sorted(each.item.key for each in found)
    assert {each.item.id for each in found if each.fields} == {*range(20, 100, 10)}, "the items are whole"
    diff.close()


async def test_files_are_what_they_were_whatever_a_spider_makes_of_its_pages() -> None:
    def items(*fields: str) -> AsyncIterator[StoredItem]:
        async def give() -> AsyncIterator[StoredItem]:
            async for item in items_of([1], 1):
                yield msgspec.structs.replace(item, type="File", data=dict.fromkeys(fields, ""))

        return give()

    for fields, lost in ((("url", "sha256", "path"), 0), (("url",), 1)):  # somebody else's items of that name
        diff = ItemDiff()
        await diff.read_items(items(*fields), items_of([], 1))
        assert len([*diff.differences()]) == lost
        diff.close()
