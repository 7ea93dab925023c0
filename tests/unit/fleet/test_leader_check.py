"""A worker's log says that no supervisor leads, since nobody else can: once, and once when it is over."""

from __future__ import annotations

import pytest

from gossamer.fleet.leader_check import EVERY_S, LeaderCheck


def test_a_missing_leader_is_told_once_when_it_has_lasted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "gossamer.worker")
    check, now, told = LeaderCheck(60.0), 1000.0, []
    for is_there in (True, *[False] * 8, True, False, True):
        assert check.is_due(now)
        check.note_leader(now, is_there=is_there)
        assert not check.is_due(now + EVERY_S - 1)
        told.append(len(caplog.records))
        now += EVERY_S
    assert told == [0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2]
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "`gossamer supervisor` starts one" in caplog.text


def test_who_wants_no_such_alert_has_no_such_line() -> None:
    assert not LeaderCheck(0.0).is_due(1000.0)
