"""Large bodies wait for each other; memory has a bound, and somebody always goes on."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from gossamer.fetch.http.memory_budget import Room


def never() -> None:
    raise AssertionError("nobody waited")


def test_within_the_budget_nobody_waits() -> None:
    room = Room(100)
    assert room.take("a", 60, never)
    assert room.take("b", 40, never)
    room.leave("a")
    room.leave("a")
    assert room.take("c", 60, never)


def test_beyond_it_only_the_first_goes_on() -> None:
    room, woken = Room(100), []
    assert room.take("a", 90, never)
    assert not room.take("b", 20, lambda: woken.append("b"))
    assert room.take("a", 500, never), "the one that began first"
    assert not room.take("c", 1, lambda: woken.append("c"))
    room.leave("a")
    assert woken == ["b", "c"]


def test_the_next_one_goes_on_although_there_is_no_room() -> None:
    room, woken = Room(100), []
    room.take("a", 10, never)
    room.take("b", 200, lambda: woken.append("b"))
    room.take("c", 200, lambda: woken.append("c"))
    room.leave("a")
    assert woken == ["b"], "the first of those that are left"
    room.leave("c")
    room.leave("b")
    assert woken == ["b"]
    assert repr(room) == "<Room of 0 bytes in 0 bodies, 0 wait>"


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 50)), max_size=200))
def test_all_come_to_an_end(grows: list[tuple[int, int]]) -> None:
    """Bodies that grow when they may and leave at 100: none is left waiting, and the bound holds."""
    room, size, waiting = Room(150), dict.fromkeys(range(6), 0), set[int]()

    def waker(body: int) -> Callable[[], None]:
        return lambda: waiting.discard(body)

    def grow(body: int, more: int) -> None:
        if body in waiting:
            return
        if size[body] >= 100:
            room.leave(body)
            size[body] = 0
            return
        size[body] += more
        if not room.take(body, more, waker(body)):
            waiting.add(body)
        assert sum(size.values()) <= 150 + 150 + 6 * 50

    for body, more in grows:
        grow(body, more)
    for _ in range(100):
        for body in size:
            if size[body]:
                grow(body, 50)
    assert not waiting
