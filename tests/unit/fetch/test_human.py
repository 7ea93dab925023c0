"""How a person's hand moves, types and scrolls."""

import math
from itertools import pairwise
from random import Random
from typing import ClassVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.fetch.browser.hand import Hand
from gossamer.fetch.browser.human import (
    MAX_KEY_S,
    MAX_PATH_S,
    MIN_KEY_S,
    WHEEL_NOTCH,
    choose_point,
    plan_keys,
    plan_path,
    plan_scroll,
    plan_typing,
)

seeds = st.integers(0, 2**32)
coordinates, sizes = st.floats(0, 999), st.floats(1, 500)
points = st.tuples(st.floats(0, 4000), st.floats(0, 4000))


@given(start=points, end=points, seed=seeds)
def test_a_path_ends_at_its_target_in_bounded_time(start, end, seed):
    path = plan_path(start, end, Random(seed))
    assert (path[-1].x, path[-1].y) == end
    assert 0 < sum(step.pause_s for step in path) <= 1.3 * MAX_PATH_S
    assert all(step.x >= 0 and step.y >= 0 and step.pause_s > 0 for step in path)
    way = math.dist(start, end)
    assert all(math.dist((step.x, step.y), start) <= 1.5 * way + 1 for step in path)
    assert path == plan_path(start, end, Random(seed))


@given(seed=seeds)
@example(seed=257645)  # both bends are all but nothing
def test_a_path_is_bent_and_begins_and_ends_slowly(seed):
    path = plan_path((100, 100), (900, 500), Random(seed))
    lengths = [math.dist(a[:2], b[:2]) for a, b in pairwise(path)]
    assert max(lengths) > 3 * lengths[-1], "it brakes"
    assert max(lengths) > 3 * lengths[0], "it speeds up"
    assert any(abs((step.y - 100) - (step.x - 100) / 2) > 0.5 for step in path), (
        "no hand draws a straight line"
    )


def test_some_long_ways_lead_beyond_the_target_first_and_short_ones_never():
    def overshoots(end, seed):
        return any(step.x > end[0] + 1 for step in plan_path((0, 50), end, Random(seed)))

    assert 0.15 < sum(overshoots((1000, 60), seed) for seed in range(200)) / 200 < 0.6
    assert not any(overshoots((150, 50), seed) for seed in range(200))


@given(text=st.text(max_size=80), seed=seeds)
def test_every_key_of_a_text_is_typed_with_its_own_rhythm(text, seed):
    steps = plan_typing(text, Random(seed))
    assert "".join(step.key for step in steps) == text
    assert all(MIN_KEY_S <= time_s <= MAX_KEY_S for step in steps for time_s in (step.hold_s, step.pause_s))
    assert steps == plan_typing(text, Random(seed))


def test_typing_is_as_fast_as_people_are():
    steps = plan_typing("the quick brown fox jumps over the lazy dog " * 20, Random(3))
    per_key = sum(step.hold_s + step.pause_s for step in steps) / len(steps)
    assert 0.12 < per_key < 0.3
    pauses = [step.pause_s for step in steps]
    assert len(set(pauses)) > len(pauses) / 2


@given(distance=st.floats(0, 50_000), seed=seeds)
def test_strokes_add_up(distance, seed):
    steps = plan_scroll(distance, Random(seed))
    assert distance - 1e-6 <= sum(step.distance for step in steps) <= distance + WHEEL_NOTCH
    assert all(step.distance == WHEEL_NOTCH and 0.03 <= step.pause_s <= 0.7 for step in steps)


@given(seed=seeds)
def test_keys_of_a_combination_go_down_in_their_order_and_up_in_the_other(seed):
    def order(keys):
        return [(step.key, step.is_down) for step in plan_keys(keys, Random(seed))]

    assert order("Control+a") == [("Control", True), ("a", True), ("a", False), ("Control", False)]
    for key in ("Enter", "+", "a"):
        assert order(key) == [(key, True), (key, False)]
    assert all(step.pause_s > 0 for step in plan_keys("Control+Shift+a", Random(seed)))


@given(
    x=st.floats(0, 999), y=st.floats(0, 999), width=st.floats(1, 500), height=st.floats(1, 500), seed=seeds
)
def test_a_click_is_within_its_element_and_not_at_its_edge(x, y, width, height, seed):
    at = choose_point(x, y, width, height, Random(seed))
    assert x + 0.15 * width < at[0] < x + 0.85 * width
    assert y + 0.15 * height < at[1] < y + 0.85 * height


class Window:
    """A page of 300 by 200 pixels that notes where the pointer goes."""

    viewport_size: ClassVar = {"width": 300, "height": 200}

    def __init__(self) -> None:
        self.mouse = self
        self.seen: list[tuple[float, float]] = []

    async def move(self, x: float, y: float) -> None:
        self.seen.append((x, y))


async def test_no_hand_leaves_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    async def wait(_seconds: float) -> None:
        pass

    monkeypatch.setattr("gossamer.fetch.browser.hand.asyncio.sleep", wait)
    window = Window()
    for seed in range(60):
        hand = Hand(window, Random(seed))
        for corner in ((299, 199), (2, 2), (299, 2)):
            await hand._move_to(corner)
            assert window.seen[-1] == corner
    assert all(0 <= x < 300 and 0 <= y < 200 for x, y in window.seen)
