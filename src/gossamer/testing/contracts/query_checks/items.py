"""The items of a job in parts, and its new items."""

from __future__ import annotations

from gossamer.core.results import Verdict
from gossamer.export.new_items import NewItemReader
from gossamer.queries.items import list_items
from gossamer.testing.contracts.frontier_harness import make_entry
from gossamer.testing.contracts.query_harness import QueryHarness, register_check
from gossamer.testing.contracts.store_harness import make_item
from gossamer.testing.contracts.suite import assert_equal


@register_check
async def items_are_read_in_parts(s: QueryHarness) -> None:
    """In the order in which they were stored, each in one part."""
    other = await s.make_job("other", make_entry(1))
    await s.end_visits(other, {1: (Verdict.SUCCESS, "")}, items=[make_item("x")])
    job = await s.make_job("shop", make_entry(1))
    names = ["a", "b", "c", "d", "e"]
    await s.end_visits(job, {1: (Verdict.SUCCESS, "")}, items=[make_item(name) for name in names])
    found: list[list[str]] = []
    after: int | None = 0
    while after is not None:
        page = await list_items(s.backends, job, 2, after_id=after)
        found.append([item.key for item in page.items])
        after = page.next_after
    assert_equal(found, [["a", "b"], ["c", "d"], ["e"]], "every item of the job in one part")
    whole = await list_items(s.backends, job, 5)
    assert_equal((len(whole.items), whole.next_after), (5, None), "a full part may be all")


@register_check
async def new_items_are_those_that_are_not_known(s: QueryHarness) -> None:
    """And all that were seen are named by their ids, in unbroken rows."""
    job = await s.make_job("shop", make_entry(1), make_entry(2))
    await s.end_visits(job, {1: (Verdict.SUCCESS, "")}, items=[make_item("a"), make_item("b")])
    first = NewItemReader(s.backends.store.read_items(job), ())
    assert_equal([item.key async for item in first.new_items()], ["a", "b"], "all are new")
    await s.end_visits(job, {2: (Verdict.SUCCESS, "")}, items=[make_item("b"), make_item("c")])
    second = NewItemReader(s.backends.store.read_items(job), first.seen)
    assert_equal([item.key async for item in second.new_items()], ["c"], "known items are not new")
    third = NewItemReader(s.backends.store.read_items(job), second.seen)
    assert_equal([item.key async for item in third.new_items()], [], "everything was seen")
