"""Large bodies wait for each other; memory has a bound, and somebody always goes on."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from gossamer.fetch.http.memory_budget import MemoryBudget


def never() -> None:
    raise AssertionError("nobody waited")


def test_within_the_budget_nobody_waits() -> None:
    room = MemoryBudget(100)
    assert room.reserve_bytes("a", 60, never)
    assert room.reserve_bytes("b", 40, never)
    room.release_body("a")
    room.release_body("a")
    assert room.reserve_bytes("c", 60, never)


def test_beyond_it_only_the_first_goes_on() -> None:
    room, woken = MemoryBudget(100), []
    assert room.reserve_bytes("a", 90, never)
    assert not room.reserve_bytes("b", 20, lambda: woken.append("b"))
    assert room.reserve_bytes("a", 500, never), "the one that began first"
    assert not room.reserve_bytes("c", 1, lambda: woken.append("c"))
    room.release_body("a")
    assert woken == ["b", "c"]


def test_the_next_one_goes_on_although_there_is_no_room() -> None:
    room, woken = MemoryBudget(100), []
    room.reserve_bytes("a", 10, never)
    room.reserve_bytes("b", 200, lambda: woken.append("b"))
    room.reserve_bytes("c", 200, lambda: woken.append("c"))
    room.release_body("a")
    assert woken == ["b"], "the first of those that are left"
    room.release_body("c")
    room.release_body("b")
    assert woken == ["b"]
    assert repr(room) == "<MemoryBudget of 0 bytes in 0 bodies, 0 wait>"


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 50)), max_size=200))
def test_all_come_to_an_end(grows: list[tuple[int, int]]) -> None:
    """Bodies that grow when they may and leave at 100: none is left waiting, and the bound holds."""
    room, size, waiting = MemoryBudget(150), dict.fromkeys(range(6), 0), set[int]()

    def waker(body: int) -> Callable[[], None]:
        return lambda: waiting.discard(body)

    def grow(body: int, more: int) -> None:
        if body in waiting:
            return
        if size[body] >= 100:
            room.release_body(body)
            size[body] = 0
            return
        size[body] += more
        if not room.reserve_bytes(body, more, waker(body)):
            waiting.add(body)
        assert sum(size.values()) <= 150 + 150 + 6 * 50

    for body, more in grows:
        grow(body, more)
    for _ in range(100):
        for body in size:
            if size[body]:
                grow(body, 50)
    assert not waiting
