"""By when a shift has to be over, and how it is ended when it is not."""

from math import inf

import pytest

from gossamer.policy.shift_deadlines import GRACE_S, KILL_S, MORE_S, deadline_of, must_leave


@pytest.mark.parametrize(
    ("max_s", "told_at", "over_by"),
    [
        (60.0, None, 1080.0),  # 1,000 + 60, and 20 to drain
        (60.0, 1005.0, 1025.0),
        (60.0, 1070.0, 1080.0),  # told when it was to end anyway
        (inf, None, inf),
        (inf, 5000.0, 5020.0),
    ],
)
def test_a_shift_has_its_length_or_until_it_is_told_and_the_time_to_drain(max_s, told_at, over_by):
    assert deadline_of(max_s, 20.0, began_at=1000.0, told_at=told_at) == over_by + GRACE_S


def test_a_shift_may_wait_for_its_store_as_long_as_the_settings_say():
    given = {"began_at": 1000.0, "told_at": None}
    assert deadline_of(60.0, 20.0, patience_s=600.0, **given) == 1080.0 + 600.0 + MORE_S
    assert deadline_of(60.0, 20.0, patience_s=GRACE_S - MORE_S - 1.0, **given) == 1080.0 + GRACE_S


def test_a_shift_has_time_to_end_before_its_process_does():
    assert not must_leave(0.0)
    assert not must_leave(KILL_S - 0.1)
    assert must_leave(KILL_S)
