"""A process is well when each of its parts did its work lately; what fails is named with since when."""

import pytest

from gossamer.core.health import PartHealth
from gossamer.policy.health import ANSWER_S, describe_failures
from gossamer.wiring.backend_check import ASK_EVERY_S, PATIENCE_S

NOW, WALL = 1_000.0, 1_795_802_400.0
LOOP = PartHealth(failure="the event loop has not run", seen_at=NOW, within_s=60.0)
REDIS = PartHealth(
    failure="Redis has not answered", seen_at=NOW - 75.4, within_s=15.0, detail="no answer within 5 s"
)
SHIFT = PartHealth(
    failure="a shift of shop-1 on http has been past its deadline", seen_at=NOW - 3.0, within_s=0.0
)


def test_nothing_is_said_of_a_process_that_is_well():
    assert describe_failures([LOOP], NOW, WALL) == []
    assert describe_failures([], NOW, WALL) == []


def test_one_question_without_an_answer_does_not_make_a_server_fail():
    """After an answer comes a pause, a question until its time is up, a pause, and the next answer."""
    assert 2 * ASK_EVERY_S + 2 * PATIENCE_S <= ANSWER_S


def test_each_part_that_fails_has_its_line():
    assert describe_failures([LOOP, REDIS, SHIFT], NOW, WALL) == [
        "Redis has not answered for 75 s, since 2026-11-27T17:58:44Z: no answer within 5 s",
        "a shift of shop-1 on http has been past its deadline for 3 s, since 2026-11-27T17:59:57Z",
    ]


@pytest.mark.parametrize(("later_s", "failures"), [(0.0, 0), (60.0, 0), (60.1, 1), (10_000.0, 1)])
def test_a_part_has_its_own_bound(later_s, failures):
    assert len(describe_failures([LOOP], NOW + later_s, WALL + later_s)) == failures
