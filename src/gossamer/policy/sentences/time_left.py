"""The words for the time that a job still takes; every display takes them from here."""

from __future__ import annotations

from math import ceil, floor
from typing import NamedTuple

from gossamer.core.text import format_count
from gossamer.policy.time_left import LeftLimit, LeftReason, TimeEstimate


class _Unit(NamedTuple):
    name: str
    short: str
    seconds: float
    most: float  # the largest number of this unit; longer times use the next unit


UNITS = (
    _Unit("second", "s", 1.0, 90.0),
    _Unit("minute", "min", 60.0, 100.0),
    _Unit("hour", "h", 3600.0, 48.0),
    _Unit("day", "d", 86_400.0, float("inf")),
)
SOON_S = 10.0
"""A range that ends within so long is written without its beginning."""
UNTIL = {
    LeftLimit.WORK: "",
    LeftLimit.HOST: "",
    LeftLimit.BUDGET: "when the budget of pages is spent",
    LeftLimit.LISTED: "when everything is there that the site announces",
}
"""The end that is foreseen, where it is another than that nothing waits."""
NOTES = {
    LeftReason.KNOWN: "",
    LeftReason.UNWATCHED: "",
    LeftReason.SEEDING: "",
    LeftReason.EARLY: "too early to say when it is done",
    LeftReason.GROWING: "still finding pages as fast as it fetches them",
    LeftReason.STOPPED: "its end is not known: hosts with {requests} are not asked for now",
    LeftReason.RETRIES: "its end is not known, with {requests} to be tried again",
    LeftReason.IDLE: "its end is not known: no request was completed lately",
    LeftReason.UNSTEADY: "its pace changes too much to say when it is done",
}
"""Why the time left is unknown. Nothing is shown before the seeds are queued."""
SHORT_NOTES = {
    LeftReason.EARLY: "too early",
    LeftReason.GROWING: "finding",
    LeftReason.STOPPED: "waiting",
    LeftReason.RETRIES: "retrying",
    LeftReason.IDLE: "idle",
    LeftReason.UNSTEADY: "unsteady",
}
"""The same for a column."""


def describe_left(left: TimeEstimate) -> str:
    """``done in 3 to 5 minutes``, or why that is not known; empty while there is nothing to say."""
    if left.least_s is None or left.most_s is None:
        return NOTES[left.reason].format(requests=format_count(left.requests, "request"))
    until = UNTIL[left.limit]
    return f"done in {_in_words(left.least_s, left.most_s)}{f', {until}' if until else ''}"


def shorten_left(left: TimeEstimate) -> str:
    """``3-5 min``, or a word that says why that is not known; empty while there is nothing to say."""
    if left.least_s is None or left.most_s is None:
        return SHORT_NOTES.get(left.reason, "")
    low, high, unit = _round_range(left.least_s, left.most_s)
    if not low:
        return f"<{high:.0f} {unit.short}"
    return f"{low:.0f} {unit.short}" if low == high else f"{low:.0f}-{high:.0f} {unit.short}"


def _in_words(least_s: float, most_s: float) -> str:
    low, high, unit = _round_range(least_s, most_s)
    if not low:
        return f"less than {format_count(int(high), unit.name)}"
    if low == high:
        return f"about {format_count(int(low), unit.name)}"
    return f"{low:,.0f} to {format_count(int(high), unit.name)}"


def _round_range(least_s: float, most_s: float) -> tuple[float, float, _Unit]:
    """The range in whole steps of the unit that fits its end; it begins with 0 where it is soon over."""
    if most_s <= SOON_S:
        return 0.0, SOON_S, UNITS[0]
    unit = next(unit for unit in UNITS if most_s < unit.most * unit.seconds)
    low, high = least_s / unit.seconds, most_s / unit.seconds
    step = 5.0 if unit.seconds == 1.0 or high > 20 else 1.0
    if high - low < step:  # nearer to each other than a step: one number says it
        middle = max(round((low + high) / 2 / step) * step, step)
        return middle, middle, unit
    return floor(low / step) * step, ceil(high / step) * step, unit
