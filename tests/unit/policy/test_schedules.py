"""When schedules are due: across daylight-saving changes, with jitter, after downtime."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.core.errors import UsageError
from gossamer.core.schedules import Schedule
from gossamer.policy.schedules import (
    MOST_COUNTED,
    check_cron,
    check_zone,
    describe_cron,
    due_times,
    find_due,
    next_due,
    next_start,
    start_of,
)

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Asia/Kolkata",
    "Africa/Cairo",
    "Pacific/Apia",
    "America/St_Johns",
    "Europe/Dublin",
]


def at(text: str, zone: ZoneInfo = BERLIN, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).timestamp()


def plan(cron: str, zone: str = "Europe/Berlin", **more) -> Schedule:
    return Schedule(name="shop", cron=cron, zone=zone, target="shop.py", **more)


def local_due(cron: str, begin: str, count: int) -> list[str]:
    found = islice(due_times(cron, "Europe/Berlin", at(begin)), count)
    return [f"{datetime.fromtimestamp(due, BERLIN):%d %H:%M %z}" for due in found]


@pytest.mark.parametrize(
    ("text", "kept"),
    [("30 6 * * MON-FRI", "30 6 * * MON-FRI"), ("  0  0 * * * ", "0 0 * * *"), ("@daily", "0 0 * * *"),
     ("@Weekly", "0 0 * * 0")],
)  # fmt: skip
def test_expressions_are_kept_as_five_fields(text, kept):
    assert check_cron(text) == kept


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("99 * * * *", "'99' is wrong as minute"),
        ("0 25 * * *", "'25' is wrong as hour"),
        ("0 0 * * FRIDAY", "'FRIDAY' is wrong as day of week"),
        ("0 0 30 2 *", "wrong as day of month"),
        ("0 0 0 * * *", "write five fields"),
        ("every day", "write five fields"),
        ("@reboot", "write five fields"),
    ],
)
def test_what_is_wrong_with_an_expression_is_said(text, says):
    with pytest.raises(UsageError, match=says):
        check_cron(text)


def test_a_wrong_zone_names_the_nearest():
    assert check_zone("Europe/Berlin") == "Europe/Berlin"
    with pytest.raises(UsageError, match="did you mean Europe/Berlin"):
        check_zone("Europe/Berln")
    with pytest.raises(UsageError, match="did you mean America/New_York"):
        check_zone("new york")
    with pytest.raises(UsageError, match="as in Europe/Berlin"):
        check_zone("../../etc/passwd")


def test_expressions_are_told_in_words():
    assert describe_cron("50 12 * * *") == "At 12:50 every day"


# In Berlin, clocks go from 2:00 to 3:00 on 2026-03-29, and from 3:00 to 2:00 on 2026-10-25.


def test_a_time_that_does_not_exist_is_due_once_at_the_next_moment():
    assert local_due("30 2 * * *", "2026-03-28T12:00", 2) == ["29 03:00 +0200", "30 02:30 +0200"]
    assert local_due("0,30 2,3 * * *", "2026-03-29T00:00", 2) == ["29 03:00 +0200", "29 03:30 +0200"]
    assert local_due("*/15 2 * * *", "2026-03-29T00:00", 2) == ["29 03:00 +0200", "30 02:00 +0200"]
    assert local_due("0 */2 * * *", "2026-03-29T01:00", 2) == ["29 03:00 +0200", "29 04:00 +0200"]


def test_a_time_that_comes_twice_is_due_the_first_time():
    assert local_due("30 2 * * *", "2026-10-24T12:00", 2) == ["25 02:30 +0200", "26 02:30 +0100"]
    assert local_due("*/30 2 * * *", "2026-10-25T00:00", 3) == [
        "25 02:00 +0200", "25 02:30 +0200", "26 02:00 +0100",
    ]  # fmt: skip
    second = at("2026-10-25T02:10", fold=1)
    assert next_due("30 2 * * *", "Europe/Berlin", second) == at("2026-10-26T02:30")


def test_every_hour_is_every_hour_that_passes():
    spring = list(islice(due_times("0 * * * *", "Europe/Berlin", at("2026-03-29T00:30")), 4))
    autumn = list(islice(due_times("30 * * * *", "Europe/Berlin", at("2026-10-25T01:00")), 4))
    for found in (spring, autumn):
        assert {later - earlier for earlier, later in pairwise(found)} == {3600.0}


fields = st.tuples(
    st.sampled_from(["*", "*/15", "0", "30", "7,37", "10-20/5"]),
    st.sampled_from(["*", "*/2", "0", "2", "1-3", "23", "2,14"]),
    st.sampled_from(["*", "*", "1", "L", "13"]),
    st.sampled_from(["*", "*", "3,10"]),
    st.sampled_from(["*", "*", "SUN", "1-5"]),
)
moments = st.floats(
    datetime(2005, 1, 1, tzinfo=UTC).timestamp(), datetime(2036, 1, 1, tzinfo=UTC).timestamp()
)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(fields, st.sampled_from(ZONES), moments)
def test_due_times_ascend_and_do_not_depend_on_where_one_begins(parts, zone, begin):
    cron = check_cron(" ".join(parts))
    found = list(islice(due_times(cron, zone, begin), 6))
    assert all(earlier < later for earlier, later in pairwise([begin, *found]))
    for place, due in enumerate(found[:-1]):
        assert next_due(cron, zone, due) == found[place + 1]
        assert next_due(cron, zone, (due + found[place + 1]) / 2) == found[place + 1]


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ZONES), st.integers(2005, 2035), st.integers(0, 23), st.sampled_from([0, 30, 59]))
def test_a_daily_time_is_due_once_on_each_day_of_a_year(zone, year, hour, minute):
    """The reference knows nothing of cron: it asks the zone what each day's time is."""
    place = ZoneInfo(zone)
    begin = datetime(year, 1, 1, tzinfo=place).timestamp() - 1.0
    expected, day = [], datetime(year, 1, 1)  # on the clock
    while day.year == year:
        clock = day.replace(hour=hour, minute=minute)
        moment = clock.replace(tzinfo=place)
        while moment.astimezone(UTC).astimezone(place).replace(tzinfo=None) != clock:  # it does not exist
            clock += timedelta(minutes=1)
            moment = clock.replace(tzinfo=place)
        expected.append(moment.timestamp())
        day += timedelta(days=1)
    expected = sorted(set(expected))  # where a whole day is left out, two times are one
    found = list(islice(due_times(f"{minute} {hour} * * *", zone, begin), len(expected)))
    assert found == expected


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(fields, st.sampled_from(ZONES), moments, st.floats(0, 7 * 86_400.0), st.floats(0, 7200))
def test_the_latest_due_time_is_the_last_of_all(parts, zone, since, lasts, jitter):
    cron = check_cron(" ".join(parts))
    schedule = plan(cron, zone, since=since, jitter_s=jitter)
    now, begun = since + lasts, []
    for due in due_times(cron, zone, since):
        if start_of(schedule, due) > now:
            break
        begun.append(due)
    found = find_due(schedule, now)
    if not begun:
        assert found is None
    else:
        assert found is not None
        assert found.latest == begun[-1]
        assert found.total == min(len(begun), MOST_COUNTED)


def test_jitter_is_the_same_for_one_due_time_and_keeps_the_order():
    schedule = plan("*/10 * * * *", jitter_s=3600.0)
    dues = list(islice(due_times(schedule.cron, schedule.zone, at("2026-10-24T12:00")), 200))
    starts = [start_of(schedule, due) for due in dues]
    assert starts == [start_of(schedule, due) for due in dues]
    assert all(due <= start < due + 600.0 for due, start in zip(dues, starts, strict=True))
    assert len({round(start - due) for due, start in zip(dues, starts, strict=True)}) > 50
    assert start_of(plan("*/10 * * * *"), dues[0]) == dues[0]


def test_a_year_of_minutes_is_looked_through_at_once():
    schedule = plan("* * * * *", since=at("2025-01-01T00:00"))
    now = at("2026-01-01T00:00:30")
    found = find_due(schedule, now)
    assert found == (at("2026-01-01T00:00"), MOST_COUNTED)


def test_the_next_start_has_its_jitter():
    schedule = plan("0 12 * * *", jitter_s=300.0, since=at("2026-05-01T12:00"))
    begin = start_of(schedule, at("2026-05-02T12:00"))
    assert next_start(schedule, at("2026-05-02T11:00")) == begin
    assert next_start(schedule, begin - 0.001) == begin
    assert next_start(schedule, begin) == start_of(schedule, at("2026-05-03T12:00"))
    assert next_start(plan("0 12 * * *", is_on=False), 0.0) is None
