"""The contract of a reader of items, as named checks.

Use: ``await check_item_reader(make)``, or one by one from ``ITEM_READER_CHECKS``; ``make(clock)`` is an async
context manager that gives an :class:`ItemSubject` with nothing in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from gossamer.core.jobs import EVERY_ITEM, FoundItemRows, ItemFilter, ItemPlace, Job
from gossamer.ports.item_reader import ItemReader
from gossamer.ports.job_store import JobStore
from gossamer.ports.store import Store
from gossamer.testing.contracts.store_harness import make_item, make_visit_result
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["ITEM_READER_CHECKS", "ItemSubject", "check_item_reader"]


@dataclass
class ItemSubject:
    """The reader under test, and the store that writes its items."""

    reader: ItemReader
    store: Store
    book: JobStore

    async def read_keys(self, job: Job, which: ItemFilter = EVERY_ITEM, limit: int = 2) -> list[str]:
        """The keys of all items that fit, part by part."""
        found: list[str] = []
        before: ItemPlace | None = None
        while True:
            part = await self.reader.page_items(job, limit, which, before)
            assert_holds(len(part.items) <= limit, "a part has no more items than asked for")
            found += [item.key for item in part.items]
            before = part.next_before
            if before is None:
                return found


ITEM_READER_CHECKS: ContractSuite[ItemSubject] = ContractSuite()
"""The checks by name."""


async def check_item_reader(make: Make[ItemSubject]) -> None:
    """Run every check against fresh items each. Raises ``AssertionError`` for a broken promise."""
    await ITEM_READER_CHECKS.run(make)


@ITEM_READER_CHECKS.register
async def the_newest_change_comes_first(s: ItemSubject) -> None:
    """Each in one part, also where many changed at one time."""
    job = await s.book.create("shop", "shop")
    for number, at in enumerate((5.0, 7.0, 7.0, 7.0, 6.0)):
        await s.store.write(job, [make_visit_result(make_item(f"{number}"), at=at, number=number)])
    assert_equal(
        await s.read_keys(job), ["3", "2", "1", "4", "0"], "by their latest change, then by their id"
    )
    assert_equal(await s.read_keys(job, limit=5), ["3", "2", "1", "4", "0"], "a full part may be all")
    part = await s.reader.page_items(job, 1, ItemFilter())
    (first,) = [item async for item in s.store.read_items(job) if item.key == "3"]
    assert_equal(part.items, (first,), "an item is whole")


@ITEM_READER_CHECKS.register
async def a_sample_is_of_all_that_a_job_saw(s: ItemSubject) -> None:
    """With the values that it saw; bounded in number and bytes, and the same each time."""
    first, second = await s.book.create("shop", "shop"), await s.book.create("shop", "shop")
    for number in range(200):
        await s.store.write(first, [make_visit_result(make_item(f"{number}"), at=5.0, number=number)])
    await s.store.write(second, [make_visit_result(make_item("7", b'{"price":9}'), at=6.0, number=7)])
    some = await s.reader.sample_items(first, 60, 10**9)
    assert_equal(len({item.key for item in some}), 60, "as many as asked for, each once")
    places = sorted(int(item.key) for item in some)
    assert_holds(places[0] < 50 and places[-1] >= 150, "from everywhere among the items")
    assert_equal(await s.reader.sample_items(first, 60, 10**9), some, "the same each time")
    all_items = [item async for item in s.store.read_items(first)]
    sample = await s.reader.sample_items(first, 1000, 10**9)
    assert_equal(sorted(sample, key=lambda item: item.id), all_items, "all, as the job saw them")
    (newer,) = await s.reader.sample_items(second, 1000, 10**9)
    assert_equal((newer.key, newer.data.get("price")), ("7", 9), "the other job's values")
    assert_holds(len(await s.reader.sample_items(first, 1000, 1)) <= 100, "bytes are bounded")
    assert_equal(await s.reader.sample_items(await s.book.create("b", "b"), 10, 10**9), [], "no items")


@ITEM_READER_CHECKS.register
async def items_of_a_page_are_found(s: ItemSubject) -> None:
    """For the job that saw them, as it saw them, and no more than asked for; all of them are counted."""
    first, second = await s.book.create("a", "a"), await s.book.create("a", "a")
    other = await s.book.create("b", "b")
    none = FoundItemRows()
    assert_equal(await s.reader.find_items(first, "http://a/1", 9), none, "nothing was found yet")
    await s.store.write(first, [make_visit_result(*(make_item(key) for key in "123"), at=3)])
    moved = make_item("2", b'{"name":"y"}', url="http://a/2")
    visits = [make_visit_result(make_item("1"), at=900_000), make_visit_result(moved, at=900_001, number=2)]
    await s.store.write(second, visits)
    whole = {item.key: item async for item in s.store.read_items(first)}
    seen = tuple(whole[key] for key in "123")
    found = await s.reader.find_items(first, "http://a/1", 9)
    assert_equal(found, FoundItemRows(items=seen, total=3), "the first job's items, completely")
    found = await s.reader.find_items(first, "http://a/1", 2)
    assert_equal(
        found, FoundItemRows(items=seen[:2], total=3), "no more than asked for, and how many there are"
    )
    assert_equal(await s.reader.find_items(first, "http://a/2", 9), none, "not what became of it")
    assert_equal(await s.reader.find_items(other, "http://a/1", 9), none, "another job has not seen them")
    found = await s.reader.find_items(second, "http://a/1", 9)
    assert_equal(([one.key for one in found.items], found.total), (["1"], 1), "unchanged items")
    found = await s.reader.find_items(second, "http://a/2", 9)
    (moved_item,) = found.items
    assert_equal(
        (moved_item.key, moved_item.data, moved_item.changed_at, found.total),
        ("2", {"name": "y"}, 900_001, 1),
        "what has changed",
    )


@ITEM_READER_CHECKS.register
async def filters_have_to_fit_together(s: ItemSubject) -> None:
    """Type, missing field, time of change, text."""
    job = await s.book.create("shop", "shop")
    data = (
        b'{"name":"Lamp","price":1}',
        b'{"name":"","price":2}',
        b'{"price":null}',
        b'{"name":"\xc3\x84pfel"}',
    )
    for number, packed in enumerate(data):
        kind = "Offer" if number == 3 else "Product"
        item = make_item(f"k{number}", packed, kind, url=f"http://a/{number}")
        await s.store.write(job, [make_visit_result(item, at=10.0 * number, number=number)])
    for which, expected in (
        (ItemFilter(type="Offer"), ["k3"]),
        (ItemFilter(type="Nothing"), []),
        (ItemFilter(missing="name"), ["k2", "k1"]),
        (ItemFilter(missing="price"), ["k3", "k2"]),
        (ItemFilter(missing="price", type="Product"), ["k2"]),
        (ItemFilter(changed_since=20.0), ["k3", "k2"]),
        (ItemFilter(text="lamp"), ["k0"]),
        (ItemFilter(text="\N{LATIN CAPITAL LETTER A WITH DIAERESIS}pf"), ["k3"]),
        (ItemFilter(text="HTTP://A/1"), ["k1"]),
        (ItemFilter(text="k2"), ["k2"]),
        (ItemFilter(text="no such text"), []),
        (ItemFilter(missing='na"me'), ["k3", "k2", "k1", "k0"]),
    ):
        assert_equal(await s.read_keys(job, which), expected, f"those that fit {which}")
    many = [make_item("k", kind=f"T{number:03}") for number in range(120)]
    await s.store.write(job, [make_visit_result(*many, at=50.0, number=50)])
    types = ["Offer", "Product", *(item.type for item in many)]
    assert_equal(await s.reader.list_types(job), types, "all types of the spider's items")
    assert_equal(await s.reader.list_types(job, 2), types[:2], "no more than asked for")


@ITEM_READER_CHECKS.register
async def a_job_has_what_it_saw(s: ItemSubject) -> None:
    """Its own items, with the values that it saw."""
    first, other = await s.book.create("shop", "shop"), await s.book.create("news", "news")
    await s.store.write(first, [make_visit_result(make_item("a", b'{"n":1}'), make_item("b"), at=1.0)])
    await s.store.write(other, [make_visit_result(make_item("x"), at=2.0)])
    second = await s.book.create("shop", "shop")
    await s.store.write(second, [make_visit_result(make_item("a", b'{"n":2}'), at=3.0)])
    assert_equal(sorted(await s.read_keys(first)), ["a", "b"], "the first job's own")
    assert_equal(await s.read_keys(second), ["a"], "the second job's own")
    assert_equal(await s.read_keys(other), ["x"], "those of another spider are its own")
    values = [(await s.reader.page_items(job, 9, ItemFilter(text='"n"'))).items for job in (first, second)]
    assert_equal([item.data for items in values for item in items], [{"n": 1}, {"n": 2}], "as each saw them")
