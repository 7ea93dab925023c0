"""Recorded crawls, replayed: the time left that is shown is true, steady and worth having."""

from __future__ import annotations

from itertools import combinations

import pytest

from gossamer.policy.time_left import FIRM_S, SOON_S, LeftLimit, LeftReason
from kit.recorded_crawls import Estimate, Recording, load_recordings, replay

RECORDINGS = {recording.name: recording for recording in load_recordings()}
SHOWN = {
    "asked_for_time": 0.15,
    "back_again": 0.05,
    "docs": 0.25,
    "held": 0.8,
    "hosts200": 0.5,
    "list": 0.8,
    "shop": 0.95,
    "silent": 0.04,
    "slow_seeds": 0.3,
    "some_errors": 0.6,
    "throttled": 0.25,
}
"""In so large a share of its time the end of a crawl is known. An outage has no foreseeable end."""


def shown(recording: Recording, **options: int) -> list[Estimate]:
    """The estimates that are shown."""
    return [one for one in replay(recording, **options) if one.left.is_known]


def seconds_of(one: Estimate) -> float:
    """The middle of the range; times that are shorter than a look count as equal."""
    return max(one.left.seconds or 0.0, SOON_S)


def share_of_true(estimates: list[Estimate]) -> float:
    """The share of those that are within a factor of 1.5 of the truth."""
    factors = [seconds_of(one) / max(one.truth_s, SOON_S) for one in estimates]
    return sum(1 / 1.5 <= factor <= 1.5 for factor in factors) / len(factors)


def test_there_is_a_recording_of_each_kind_of_crawl() -> None:
    assert set(RECORDINGS) == set(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_nine_of_ten_estimates_are_within_a_factor_of_one_and_a_half(name: str) -> None:
    """Those from before a trouble that was not to be foreseen are of another crawl."""
    recording = RECORDINGS[name]
    later = [one for one in shown(recording) if one.moment.at > recording.happened_s]
    assert not later or share_of_true(later) >= 0.9


@pytest.mark.parametrize("name", SHOWN)
def test_no_estimate_changes_by_more_than_a_factor_of_two_within_ten_seconds(name: str) -> None:
    for earlier, later in combinations(shown(RECORDINGS[name]), 2):
        gone_s = later.moment.at - earlier.moment.at
        if gone_s <= FIRM_S:
            expected_s = max(seconds_of(earlier) - gone_s, SOON_S)
            assert 0.5 <= seconds_of(later) / expected_s <= 2.0, (earlier, later)


@pytest.mark.parametrize("name", SHOWN)
def test_it_is_known_for_a_share_of_the_time_that_is_worth_having(name: str) -> None:
    recording = RECORDINGS[name]
    assert len(shown(recording)) / len(recording.moments) >= SHOWN[name]


@pytest.mark.parametrize("name", SHOWN)
def test_nothing_is_known_before_the_seeds_are_in(name: str) -> None:
    for one in replay(RECORDINGS[name]):
        assert one.moment.is_seeded or one.left.reason is LeftReason.SEEDING


@pytest.mark.parametrize("name", ["asked_for_time", "back_again", "silent"])
def test_no_end_is_announced_while_a_host_is_in_trouble(name: str) -> None:
    recording = RECORDINGS[name]
    troubled = [one for one in replay(recording) if one.moment.stopped_requests]
    assert len(troubled) > 10
    assert not any(one.left.is_known for one in troubled)
    assert all(one.left.reason is LeftReason.STOPPED for one in troubled[:-5]), "until they are given up"


def test_a_total_that_the_site_announces_tells_the_end_of_a_crawl_that_still_finds_pages() -> None:
    """Without it, the same crawl has no foreseeable end for most of its time, and what is said is true."""
    shop = RECORDINGS["shop"]
    silent = shop._replace(moments=tuple(one._replace(listed=0, listed_done=0) for one in shop.moments))
    assert len(shown(silent)) < len(shown(shop)) / 2
    assert not shown(silent) or share_of_true(shown(silent)) >= 0.9


@pytest.mark.parametrize(("name", "pages"), [("docs", 300), ("list", 500)])
def test_a_budget_of_pages_tells_the_end(name: str, pages: int) -> None:
    whole = RECORDINGS[name]
    moments = tuple(one._replace(listed=0) for one in whole.moments if one.pages < pages)
    recording = whole._replace(end_s=moments[-1].at + 2.5, moments=moments)
    by_budget = [one for one in shown(recording, max_pages=pages) if one.left.limit is LeftLimit.BUDGET]
    assert len(by_budget) > 3
    assert share_of_true(by_budget) >= 0.9
