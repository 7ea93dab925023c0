"""The contract of an output of items, as named checks.

Use: ``await check_item_output(make)``, or one by one from ``ITEM_OUTPUT_CHECKS``; ``make(clock)`` is an async
context manager that gives an :class:`OutputSubject` with nothing in it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from gossamer.core.changes import ChangedItem
from gossamer.ports.item_output import ItemOutput
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal

__all__ = ["ITEM_OUTPUT_CHECKS", "OutputSubject", "check_item_output"]


@dataclass
class OutputSubject:
    """The output under test: the same destination may be opened several times, as after a kill."""

    open: Callable[[], ItemOutput]
    read: Callable[[], Awaitable[list[tuple[str, dict[str, Any]]]]]
    """All that is there now: keys and fields, in the order of writing, or for a table of keys."""

    async def write(self, name: str, items: list[ChangedItem], state: bytes) -> bytes:
        """Write a batch as a process of its own would."""
        output = self.open()
        try:
            return await output.write_batch(name, items, state)
        finally:
            await output.close()

    async def read_state(self, items: list[ChangedItem], former: bytes = b"") -> bytes:
        """Return the state needed before a batch."""
        output = self.open()
        try:
            return await output.read_state(former, items)
        finally:
            await output.close()


ITEM_OUTPUT_CHECKS: ContractSuite[OutputSubject] = ContractSuite()
"""The checks by name."""
ONE = ChangedItem(
    spider="shop",
    type="Product",
    key="1",
    data={"n": 1},
    url="http://a/1",
    first_seen=1,
    last_seen=2,
    changed_at=1,
)
TWO, THREE, FOUR = (
    replace(ONE, key=str(n), data={"n": n, "b": [{"x": None}], "a": "\u2028é"}) for n in (2, 3, 4)
)
NAMES = [f"{number:020d}" for number in range(1, 9)]


async def check_item_output(make: Make[OutputSubject]) -> None:
    """Run every check against a fresh place each. Raises ``AssertionError`` for a broken promise."""
    await ITEM_OUTPUT_CHECKS.run(make)


def _seen(*items: ChangedItem) -> list[tuple[str, dict[str, Any]]]:
    return [(item.key, item.data) for item in items]


@ITEM_OUTPUT_CHECKS.register
async def batches_are_there_one_after_the_other(s: OutputSubject) -> None:
    """With every field."""
    state = await s.write(NAMES[0], [ONE, TWO], await s.read_state([ONE, TWO]))
    await s.write(NAMES[1], [THREE], await s.read_state([THREE], state))
    assert_equal(await s.read(), _seen(ONE, TWO, THREE), "all of them")


@ITEM_OUTPUT_CHECKS.register
async def a_batch_that_is_written_again_is_there_once(s: OutputSubject) -> None:
    """By another process; also without the items that have changed since."""
    first = await s.read_state([ONE, TWO])
    for _ in range(2):
        state = await s.write(NAMES[0], [ONE, TWO], first)
    before = await s.read_state([THREE], state)
    await s.write(NAMES[1], [THREE], before)
    await s.write(NAMES[1], [THREE], before)
    assert_equal(await s.read(), _seen(ONE, TWO, THREE), "each once")


@ITEM_OUTPUT_CHECKS.register
async def two_stores_have_one_place(s: OutputSubject) -> None:
    """Each knows only of its own batches, and gives them the same names: nothing of the other is lost."""
    mine, theirs = await s.read_state([ONE, TWO]), await s.read_state([THREE])
    await s.write(NAMES[0], [THREE], theirs)
    mine = await s.write(NAMES[0], [ONE, TWO], mine)
    await s.write(NAMES[0], [THREE], theirs)  # whose process was killed before it was noted
    await s.write(NAMES[1], [FOUR], await s.read_state([FOUR], mine))
    found = sorted(await s.read(), key=lambda pair: pair[0])
    assert_equal(found, _seen(ONE, TWO, THREE, FOUR), "all of both, each once")


@ITEM_OUTPUT_CHECKS.register
async def a_strange_item_holds_up_no_other(s: OutputSubject) -> None:
    """Text that a place cannot hold is mended, or the item is left out."""
    strange = replace(ONE, key="1\0", data={"n\0": "\0\ufffe"}, url="http://a/\0")
    long = replace(TWO, data={"text": "x" * 200_000})
    items = [strange, long, THREE]
    await s.write(NAMES[0], items, await s.read_state(items))
    found = await s.read()
    assert_equal([pair for pair in found if pair[0] in ("2", "3")], _seen(long, THREE), "the others")
