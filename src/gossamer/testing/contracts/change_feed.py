"""The contract of a feed of changes, as named checks.

Use: ``await check_change_feed(make)``, or one by one from ``CHANGE_FEED_CHECKS``; ``make(clock)`` is an async
context manager that gives a :class:`FeedSubject` with nothing in it, whose store notes changes.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from gossamer.core.changes import ChangedItem, OutputPosition
from gossamer.core.jobs import Job
from gossamer.ports.change_feed import ChangeFeed
from gossamer.ports.job_store import JobStore
from gossamer.ports.store import Store
from gossamer.testing.contracts.store_harness import make_item, make_visit_result
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["CHANGE_FEED_CHECKS", "FeedSubject", "check_change_feed"]


@dataclass
class FeedSubject:
    """The feed under test and the store whose changes it lists."""

    feed: ChangeFeed
    store: Store
    book: JobStore

    async def see(self, job: Job, at: float, **values: int) -> None:
        """Find items with these values."""
        items = [make_item(key, b'{"n":%d}' % value) for key, value in values.items()]
        await self.store.write(job, [make_visit_result(*items, at=at)])

    async def read_all(self, after: str = "", limit: int = 7) -> tuple[list[ChangedItem], str]:
        """All that is behind a place, part by part, and where it ends."""
        found: list[ChangedItem] = []
        while True:
            part = await self.feed.read_changes(after, limit)
            if part.last == after:
                return found, after
            assert_holds(part.last > after, "places sort as changes do")
            found += part.items
            after = part.last


CHANGE_FEED_CHECKS: ContractSuite[FeedSubject] = ContractSuite()
"""The checks by name."""


async def check_change_feed(make: Make[FeedSubject]) -> None:
    """Run every check against a fresh feed each. Raises ``AssertionError`` for a broken promise."""
    await CHANGE_FEED_CHECKS.run(make)


def _pairs(items: list[ChangedItem]) -> list[tuple[str, int]]:
    return [(item.key, item.data["n"]) for item in items]


@CHANGE_FEED_CHECKS.register
async def what_is_new_or_changes_is_told_once(s: FeedSubject) -> None:
    """An item found unchanged is not listed; a change by another job is."""
    jobs = [await s.book.create("shop", "shop.py") for _ in range(2)]
    assert_equal(await s.read_all(), ([], ""), "there is nothing yet")
    await s.see(jobs[0], 1.0, a=1, b=1)
    found, place = await s.read_all()
    assert_equal(sorted(_pairs(found)), [("a", 1), ("b", 1)], "two new items")
    assert_equal((found[0].spider, found[0].type), ("shop", "Product"), "what identifies them")
    for job, at in ((jobs[0], 2.0), (jobs[1], 9000.0)):
        await s.see(job, at, a=1, b=1)
    assert_equal(await s.read_all(place), ([], place), "they did not change")
    await s.see(jobs[1], 9001.0, a=2, b=1)
    found, place = await s.read_all(place)
    assert_equal(_pairs(found), [("a", 2)], "one of them changed")
    await s.see(jobs[0], 5.0, a=3)
    assert_equal(await s.read_all(place), ([], place), "older values change nothing")


@CHANGE_FEED_CHECKS.register
async def an_item_that_changed_again_is_told_there(s: FeedSubject) -> None:
    """With the value that it has; a part that is read again up to its end has the same end."""
    job = await s.book.create("shop", "shop.py")
    for at in range(1, 4):
        await s.see(job, float(at), a=at)
    await s.see(job, 4.0, b=1)
    found, end = await s.read_all(limit=1)
    assert_equal(_pairs(found), [("a", 3), ("b", 1)], "each once, the last value")
    first = await s.feed.read_changes("", 2)
    again = await s.feed.read_changes("", 100, first.last)
    assert_equal((again.items, again.last), (first.items, first.last), "the same part")
    assert_holds(await s.feed.count_changes("", 100) in (2, 4), "the waiting changes or items")
    assert_equal(await s.feed.count_changes("", 1), 1, "no more are counted than asked for")
    assert_equal(await s.feed.count_changes(end, 100), 0, "behind the last there is none")


@CHANGE_FEED_CHECKS.register
async def of_many_writers_nothing_is_missed_and_nothing_told_twice(s: FeedSubject) -> None:
    """Also while they write: nothing gets a place before one that was read."""
    jobs = [await s.book.create("shop", "shop.py") for _ in range(4)]
    found: list[ChangedItem] = []
    place = ""

    async def write(writer: int) -> None:
        for number in range(6):
            names = {f"k{writer}_{number}_{n}": 1 for n in range(3)}
            await s.see(jobs[writer % 4], 1.0 + number, **names)

    writing = asyncio.gather(*(write(writer) for writer in range(20)))
    while not writing.done():
        more, place = await s.read_all(place)
        found += more
    await writing
    for _ in range(50):  # on a shared server another process may have an open transaction
        more, place = await s.read_all(place)
        found += more
        if len(found) >= 360:
            break
    keys = [item.key for item in found]
    assert_equal((len(keys), len(set(keys))), (360, 360), "each item once")


@CHANGE_FEED_CHECKS.register
async def a_position_moves_only_from_where_it_was(s: FeedSubject) -> None:
    """If two writers share one output, one of them gets ``False``."""
    first = OutputPosition()
    planned = OutputPosition(planned="3", state=b"\x00\xff")
    assert_holds(await s.feed.save_position("a", first, None), "a new one")
    assert_equal(await s.feed.read_positions(), {"a": first}, "as it was saved")
    assert_holds(await s.feed.save_position("a", planned, first), "from where it was")
    other = OutputPosition(done="9", planned="9")
    assert_holds(not await s.feed.save_position("a", other, first), "not from elsewhere")
    assert_holds(not await s.feed.save_position("a", other, None), "nor as a new one")
    assert_equal(await s.feed.read_positions(), {"a": planned}, "it stays")
    assert_holds(await s.feed.forget_output("a"), "it is forgotten")
    assert_holds(not await s.feed.forget_output("a"), "once")
    assert_equal(await s.feed.read_positions(), {}, "it is gone")


@CHANGE_FEED_CHECKS.register
async def changes_are_dropped_when_every_output_has_them(s: FeedSubject) -> None:
    """Neither earlier, nor any later change."""
    job = await s.book.create("shop", "shop.py")
    await s.see(job, 1.0, a=1, b=1)
    _, place = await s.read_all()
    await s.see(job, 2.0, c=1)
    await s.feed.forget_changes()
    assert_equal(await s.feed.count_changes("", 9), 3, "without an output nothing is dropped")
    slow, quick = OutputPosition(), OutputPosition(done=place, planned=place)
    await s.feed.save_position("slow", slow, None)
    await s.feed.save_position("quick", quick, None)
    await s.feed.forget_changes()
    assert_equal(await s.feed.count_changes("", 9), 3, "one of them has not got them")
    await s.feed.save_position("slow", quick, slow)
    for _ in range(2):
        await s.feed.forget_changes()
    assert_equal(_pairs((await s.read_all())[0]), [("c", 1)], "what is left")
