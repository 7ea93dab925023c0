"""Which steps a chart has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.series import BUCKET_S, HOUR_S, ChartRange
from gossamer.policy.chart_range import MOST_POINTS, fold_limits, plan_chart, plan_hours

NOW = 500_000 * HOUR_S + 1234.5
times = st.floats(0, 400 * 24 * HOUR_S)


@given(st.sampled_from(ChartRange), times, st.none() | times)
def test_a_chart_has_few_steps_that_cover_the_range_and_can_be_read(range_, age_s, over_for_s):
    began = NOW - age_s
    over = None if over_for_s is None else NOW - min(over_for_s, age_s)
    plan = plan_chart(range_, began, over, NOW)
    assert 1 <= (plan.until - plan.since) / plan.step_s <= MOST_POINTS
    assert plan.since % plan.step_s == plan.until % plan.step_s == plan.step_s % BUCKET_S == 0
    ended = NOW if over is None else over
    first = max(began, ended - range_.seconds)
    assert plan.since <= (first if range_ is ChartRange.ALL else first + plan.step_s)
    assert plan.until > ended - plan.step_s
    assert plan.until <= ended + plan.step_s
    if plan.since < fold_limits(NOW)[0]:
        assert plan.step_s % HOUR_S == 0, "what is folded is read in hours"


@pytest.mark.parametrize(
    ("range_", "step_s"), [("15m", 20), ("1h", 20), ("6h", 120), ("24h", 480), ("all", HOUR_S)]
)
def test_steps_of_the_ranges(range_, step_s):
    assert plan_chart(ChartRange(range_), NOW - 30 * HOUR_S, None, NOW).step_s == step_s


def test_a_young_job_has_a_short_axis():
    plan = plan_chart(ChartRange.HOUR, NOW - 60, None, NOW)
    assert (plan.until - plan.since) // plan.step_s in (3, 4)
    assert plan_chart(ChartRange.HOUR, NOW, None, NOW).overlap_s(plan.until) <= 0


def test_a_bucket_that_has_just_begun_is_not_shown():
    full = NOW // 20 * 20
    assert plan_chart(ChartRange.HOUR, NOW - 600, None, full + 4.9).until == full
    assert plan_chart(ChartRange.HOUR, NOW - 600, None, full + 5.0).until == full + 20
    over = plan_chart(ChartRange.HOUR, NOW - 600, full + 1.0, NOW)
    assert over.until == full + 20, "of a job that is over it is all there is"
    assert over.overlap_s(full) == 1.0


def test_hours_are_those_that_a_range_touches():
    hour = int(NOW // HOUR_S) * HOUR_S
    assert plan_hours(ChartRange.QUARTER, 0, None, NOW) == (hour, hour + HOUR_S)
    assert plan_hours(ChartRange.HOUR, 0, None, NOW) == (hour - HOUR_S, hour + HOUR_S)
    assert plan_hours(ChartRange.ALL, hour - 5 * HOUR_S - 1.0, hour - 1.0, NOW) == (hour - 6 * HOUR_S, hour)
