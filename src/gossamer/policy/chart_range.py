"""Which part of a job's past a chart shows, in which steps. Pure.

A job that is over is shown as it was up to its end.
"""

from __future__ import annotations

from gossamer.core.record import Record
from gossamer.core.series import BUCKET_S, FINE_S, HOUR_S, NAMED_S, ChartRange

MOST_POINTS = 180
"""Points of a line."""
YOUNG_S = 5.0
"""A bucket that has just begun says nothing of the pace yet."""


class ChartPlan(Record, frozen=True, kw_only=True):
    """The steps of a chart, and when the job was there at all."""

    since: int  # when the first step begins
    until: int  # when the last step ends
    step_s: int
    began_at: float
    ended_at: float  # now, while the job is not over

    def overlap_s(self, at: float) -> float:
        """How much of the step that begins then the job was there."""
        return min(at + self.step_s, self.ended_at) - max(at, self.began_at)


def plan_chart(range_: ChartRange, began_at: float, over_at: float | None, now: float) -> ChartPlan:
    """The steps for a job that began, and was over, at these times: at most ``MOST_POINTS``.

    Times that may have been merged into hours are read in whole hours.
    """
    ended_at = now if over_at is None else min(over_at, now)
    began_at = min(began_at, ended_at)
    first = max(began_at, ended_at - range_.seconds)
    unit = BUCKET_S if first >= fold_limits(now)[0] else HOUR_S
    points = (
        MOST_POINTS - 1 if range_ is ChartRange.ALL else MOST_POINTS
    )  # the whole job may begin within a step
    step_s = unit * max(1, int(-(-(ended_at - first) // (unit * points))))
    until = int(-(-ended_at // step_s)) * step_s
    if over_at is None and ended_at - (until - step_s) < YOUNG_S < ended_at - first:
        until -= step_s
    since = max(int(first // step_s) * step_s, until - MOST_POINTS * step_s)
    return ChartPlan(
        since=since, until=max(until, since + step_s), step_s=step_s, began_at=began_at, ended_at=ended_at
    )


def plan_hours(range_: ChartRange, began_at: float, over_at: float | None, now: float) -> tuple[int, int]:
    """The hours that a range touches: when the first begins and the last one ends."""
    ended_at = now if over_at is None else min(over_at, now)
    first = max(min(began_at, ended_at), ended_at - range_.seconds)
    return int(first // HOUR_S) * HOUR_S, int(ended_at // HOUR_S + 1) * HOUR_S


def fold_limits(now: float) -> tuple[int, int]:
    """Before which time buckets are folded, and single hosts forgotten: whole hours."""
    return int((now - FINE_S) // HOUR_S) * HOUR_S, int((now - NAMED_S) // HOUR_S) * HOUR_S
