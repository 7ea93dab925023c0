"""Workers of one crawl share: who has much leaves some to who has little."""

import pytest

from gossamer.engine.sharing import GROW_S, LONGEST_S, SMOOTH_S, ConcurrencyLimit

ALL = 16


def share_of(held):
    """The share of a worker that has had so much in hand for a while."""
    share = ConcurrencyLimit(ALL)
    share.record_load(held, 90.0)
    return share


@pytest.mark.parametrize(
    ("held", "other", "workers", "most"),
    [
        (8, 0, 2, 4),
        (8, 0.4, 2, 4),
        (8, 0, 3, 5),
        (2, 0, 2, 1),
        (8, 3, 2, 6),
        (8, 4, 2, ALL),  # an ordinary difference
        (1, 0, 2, ALL),  # nobody can have half of one
        (0, 0, 2, ALL),
        (2, 8, 2, ALL),
    ],
)
def test_a_worker_comes_down_by_its_part_of_the_difference(held, other, workers, most):
    share = share_of(held)
    assert share.limit_for(held, 99.0) == ALL
    share.make_room(other, workers, 100.0)
    assert share.limit_for(held, 100.0) == most


def test_what_is_in_hand_for_a_moment_only_counts_little():
    share = share_of(8)
    share.record_load(0, 90.0 + SMOOTH_S / 10)
    assert share.usual == pytest.approx(7.2)
    share.record_load(0, 90.0 + 2 * SMOOTH_S)
    assert share.usual == 0.0


def test_it_takes_more_again_by_and_by():
    share = share_of(8)
    share.make_room(0.0, 2, 100.0)
    assert share.limit_for(6, 103.0) == 4, "it has not come down yet"
    found = [share.limit_for(4, 104.0 + turn * GROW_S) for turn in range(10)]
    assert found == [4, 5, 6, 7, 8, 10, 12, 15, 16, 16]
    assert repr(share) == "<ConcurrencyLimit of 16 of 16>"


def test_who_comes_down_does_not_come_down_further():
    share = share_of(8)
    share.make_room(0.0, 2, 100.0)
    share.make_room(0.0, 4, 100.1)
    assert share.limit_for(7, 100.1) == 4
    assert share.limit_for(4, 101.0) == 4
    share.record_load(4, 101.0)
    share.make_room(0.0, 2, 101.1)
    assert share.limit_for(4, 101.1) == 2


def test_what_takes_very_long_to_land_ends_it():
    share = share_of(8)
    share.make_room(0.0, 2, 100.0)
    assert share.limit_for(8, 100.0 + LONGEST_S * 0.9) == 4
    assert share.limit_for(8, 100.0 + LONGEST_S) == 5
    assert share.limit_for(8, 200.0) == ALL
