"""Plan the movements, key strokes and scrolling of a person's hand, as points and pauses. Pure.

Chance is a parameter. The shapes follow studies of pointing: the time obeys Fitts' law, the speed is that
of a movement of least jerk, the path is slightly bent, and a long one may overshoot the target.
"""

from __future__ import annotations

import math
from random import Random
from typing import NamedTuple

Point = tuple[float, float]

FRAME_S = 0.018
"""Between two points of a path: about the rate at which a mouse reports."""
MAX_PATH_S = 1.6
MIN_KEY_S, MAX_KEY_S = 0.03, 1.2
OVERSHOT_FROM = 200.0
"""Pixels: shorter ways end at once where they are meant to."""
WHEEL_NOTCH = 120
"""Pixels that one notch of a wheel scrolls: each the same, as a wheel has no others."""
SHIFTED = frozenset('ABCDEFGHIJKLMNOPQRSTUVWXYZ~!@#$%^&*()_+{}|:"<>?')
"""Characters for which Shift is held."""


class PointerStep(NamedTuple):
    """One point of the pointer's path."""

    x: float
    y: float
    pause_s: float  # before it


class KeyStep(NamedTuple):
    """One key of a text."""

    key: str
    hold_s: float
    pause_s: float  # after it


class HoldStep(NamedTuple):
    """A key of a combination that goes down or up."""

    key: str
    is_down: bool
    pause_s: float  # after it


class WheelStep(NamedTuple):
    """One stroke of the wheel."""

    distance: int
    pause_s: float  # after it


def plan_path(start: Point, end: Point, random: Random, *, width: float = 40.0) -> list[PointerStep]:
    """Plan a path from ``start`` to exactly ``end``, a target ``width`` pixels wide."""
    way = math.dist(start, end)
    if way >= OVERSHOT_FROM and random.random() < 0.35:
        beyond = random.uniform(0.02, 0.06)
        x, y = _shift(end, start, -beyond, random.gauss(0, 0.01))
        turn = max(x, 0.0), max(y, 0.0)
        return [*_plan_sweep(start, turn, random, width), *_plan_sweep(turn, end, random, width)]
    return _plan_sweep(start, end, random, width)


def _plan_sweep(start: Point, end: Point, random: Random, width: float) -> list[PointerStep]:
    way = math.dist(start, end)
    time_s = 0.1 + 0.09 * math.log2(way / max(width, 1.0) + 1) * random.lognormvariate(0, 0.15)
    time_s = min(time_s, MAX_PATH_S / 2)
    count = max(2, round(time_s / FRAME_S))
    bends = [_choose_bend(random) for _ in range(2)]
    first, second = _shift(start, end, 0.3, bends[0]), _shift(start, end, 0.7, bends[1])
    skew = random.uniform(0.8, 1.05)  # hands are faster in the first half
    steps = []
    for index in range(1, count + 1):
        share = _ease((index / count) ** skew)
        x, y = (_bezier(share, *axis) for axis in zip(start, first, second, end, strict=True))
        steps.append(PointerStep(max(x, 0.0), max(y, 0.0), time_s / count * random.uniform(0.75, 1.25)))
    return [*steps[:-1], PointerStep(*end, steps[-1].pause_s)]


def _choose_bend(random: Random) -> float:
    """Choose the sideways bend of a path, as a share of its length; never zero."""
    bend = random.gauss(0, 0.06)
    return math.copysign(max(0.01, min(abs(bend), 0.2)), bend)


def _shift(start: Point, end: Point, along: float, aside: float) -> Point:
    """Return a point of the path, given its shares along the way and to the side."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    return start[0] + dx * along - dy * aside, start[1] + dy * along + dx * aside


def _ease(share: float) -> float:
    """Return the share of the way after a share of the time, by a movement of least jerk."""
    return share**3 * (10 - 15 * share + 6 * share**2)


def _bezier(share: float, start: float, first: float, second: float, end: float) -> float:
    rest = 1 - share
    return rest**3 * start + 3 * rest**2 * share * first + 3 * rest * share**2 * second + share**3 * end


def choose_point(x: float, y: float, width: float, height: float, random: Random) -> Point:
    """Choose the point in a box that a person clicks: near its middle, never at its edge."""
    shares = [max(0.2, min(random.gauss(0.5, 0.12), 0.8)) for _ in range(2)]
    return x + width * shares[0], y + height * shares[1]


def plan_typing(text: str, random: Random) -> list[KeyStep]:
    """Plan the keys of a text, each with its time held and the pause after it."""
    steps = []
    for key in text:
        pause_s = random.lognormvariate(math.log(0.09), 0.4)
        if key in " .,;:!?\n":
            pause_s *= random.uniform(1.2, 2.0)
        if random.random() < 0.02:
            pause_s += random.uniform(0.2, 0.6)
        hold_s = random.lognormvariate(math.log(0.07), 0.25)
        steps.append(KeyStep(key, _clip_key(hold_s), _clip_key(pause_s)))
    return steps


def plan_keys(keys: str, random: Random) -> list[HoldStep]:
    """Plan a key or a combination (``Control+a``): pressed in order, released in reverse."""
    names = keys.split("+") if len(keys) > 1 and not keys.endswith("+") else [keys]
    down = [HoldStep(name, True, random.uniform(0.04, 0.11)) for name in names]
    return down + [HoldStep(name, False, random.uniform(0.03, 0.08)) for name in reversed(names)]


def _clip_key(seconds: float) -> float:
    return min(max(seconds, MIN_KEY_S), MAX_KEY_S)


def plan_scroll(distance: float, random: Random) -> list[WheelStep]:
    """Return wheel strokes that scroll as far, with the pauses of a person who looks meanwhile."""
    steps, until_pause = [], random.randint(3, 7)
    for _ in range(math.ceil(distance / WHEEL_NOTCH)):
        until_pause -= 1
        pause_s = random.uniform(0.03, 0.14)
        if until_pause == 0:
            pause_s, until_pause = random.uniform(0.25, 0.7), random.randint(3, 7)
        steps.append(WheelStep(WHEEL_NOTCH, pause_s))
    return steps
