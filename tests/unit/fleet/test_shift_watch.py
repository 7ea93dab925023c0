"""Shifts that are past their deadlines are found, and only those."""

import pytest

from gossamer.fleet.shift_watch import ShiftWatch, WatchedShift
from gossamer.policy import shift_deadlines

SHIFT = WatchedShift(name="a shift of shop-1 on http", max_s=10.0, drain_s=5.0)
TOLD = WatchedShift(name="a shift of shop-1 on http", max_s=10.0, drain_s=5.0, is_told=True)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(shift_deadlines, "GRACE_S", 2.0)
    monkeypatch.setattr(shift_deadlines, "MORE_S", 1.0)
    monkeypatch.setattr(shift_deadlines, "KILL_S", 3.0)


def look_for(watch, begin, seconds, shifts):
    """What is found at the end, looked for once a second."""
    found = []
    for second in range(seconds + 1):
        found = watch.look(begin + second, shifts)
    return found


def test_a_shift_is_past_its_deadline_after_its_length_the_drain_and_the_grace():
    watch = ShiftWatch()
    assert not look_for(watch, 100.0, 16, {"a": SHIFT})
    (found,) = watch.look(117.0, {"a": SHIFT, "b": SHIFT})
    assert (found.id, found.name, found.overdue_s, found.must_leave) == ("a", SHIFT.name, 0.0, False)
    (found,) = look_for(watch, 118.0, 2, {"a": SHIFT, "b": SHIFT})
    assert found.must_leave


def test_a_shift_that_is_told_to_end_has_the_drain_and_the_grace_from_then_on():
    watch = ShiftWatch()
    look_for(watch, 100.0, 3, {"a": SHIFT})
    assert not look_for(watch, 104.0, 6, {"a": TOLD})
    assert watch.look(111.0, {"a": TOLD})


def test_a_process_that_was_stopped_does_not_lose_its_shifts():
    watch = ShiftWatch()
    look_for(watch, 100.0, 3, {"a": SHIFT})
    assert not watch.look(10_000.0, {"a": SHIFT})
    assert look_for(watch, 10_001.0, 9, {"a": SHIFT})


def test_another_shift_of_the_same_job_begins_anew():
    watch = ShiftWatch()
    look_for(watch, 100.0, 16, {"a": SHIFT})
    assert not look_for(watch, 117.0, 16, {"b": SHIFT})
