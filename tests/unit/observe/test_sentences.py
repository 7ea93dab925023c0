"""Times in sentences say in which zone they are: whoever reads them may be in another."""

from __future__ import annotations

import time

import pytest

from gossamer.observe.sentences import formatter_at
from gossamer.observe.units import format_duration

NOON = 1_800_014_400.0  # 2027-01-15, 12:00 UTC


@pytest.mark.parametrize(
    ("zone", "at", "shown"),
    [
        ("UTC0", NOON, "12:00 UTC"),
        ("IST-5:30", NOON, "17:30 IST"),
        ("UTC0", NOON - 86_400, "01-14 12:00 UTC"),
    ],
)
def test_a_time_has_its_zone(zone: str, at: float, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert formatter_at(NOON).time(at) == shown
    finally:
        monkeypatch.undo()
        time.tzset()


def test_no_duration_has_sixty_seconds() -> None:
    assert [format_duration(seconds) for seconds in (59.4, 59.7, 60.2)] == ["59 s", "1m 00s", "1m 00s"]
