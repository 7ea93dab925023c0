"""How long a job still takes: what is known of it, when it is not known, and its words."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gossamer.core.shifts import JobSample
from gossamer.policy.sentences.time_left import NOTES, SHORT_NOTES, UNTIL, describe_left, shorten_left
from gossamer.policy.time_left import (
    HostEstimate,
    LeftFacts,
    LeftLimit,
    LeftReason,
    TimeEstimate,
    estimate_time_left,
)

NOW = 10_000.0


def moments(*counts: tuple[int, int], every_s: float = 5.0, **fields: object) -> list[JobSample]:
    """Samples of a job: how many requests were settled, and how many waited."""
    first = NOW - (len(counts) - 1) * every_s
    rows = [
        JobSample(at=first + n * every_s, settled=settled, waiting=waiting, pages=settled, is_seeded=True)
        for n, (settled, waiting) in enumerate(counts)
    ]
    return [replace(row, **fields) for row in rows]


def look(samples: list[JobSample], **facts: object) -> TimeEstimate:
    """The estimate of the second of two looks."""
    before = None
    for part in (samples[:-1], samples):
        known = LeftFacts(now=part[-1].at, samples=part, pending=part[-1].waiting)
        before = estimate_time_left(replace(known, **facts), before)
    assert before is not None
    return before


LISTED = moments(*((n * 10, 300 - n * 10) for n in range(11)))
"""A list of pages, two a second: 200 wait."""
GROWING = moments(*((n * 10, 300 + n * 5) for n in range(11)))
"""It finds 1.5 pages for each one that it fetches."""


def test_what_waits_takes_as_long_as_the_pace_says() -> None:
    left = look(LISTED)
    assert (left.least_s, left.most_s, left.limit) == (100.0, 100.0, LeftLimit.WORK)
    assert left.seconds == pytest.approx(100.0)


def test_pages_that_it_may_still_find_widen_the_range() -> None:
    left = look(moments(*((n * 10, 300 - n * 7) for n in range(11))))
    assert (left.least_s, left.most_s) == (115.0, pytest.approx(115.0 / 0.7))


def test_the_slowest_host_is_not_through_before() -> None:
    left = look(LISTED, hosts=HostEstimate(least_s=400.0, most_s=400.0))
    assert (left.least_s, left.most_s, left.limit) == (400.0, 400.0, LeftLimit.HOST)
    left = look(LISTED, hosts=HostEstimate(least_s=0.0, most_s=180.0))
    assert (left.least_s, left.most_s) == (100.0, 180.0), "it may be asked faster again"


def test_the_end_of_a_hold_is_known_though_nothing_is_settled_meanwhile() -> None:
    idle = moments(*[(10, 20)] * 8)
    left = look(idle, hosts=HostEstimate(least_s=300.0, most_s=300.0))
    assert (left.least_s, left.most_s, left.limit) == (300.0, 300.0, LeftLimit.HOST)


@pytest.mark.parametrize(
    ("samples", "facts", "reason"),
    [
        (LISTED, {"is_seeded": False}, LeftReason.SEEDING),
        ([*[replace(one, is_seeded=False) for one in LISTED[:-1]], LISTED[-1]], {}, LeftReason.EARLY),
        (LISTED[:2], {}, LeftReason.EARLY),
        (GROWING, {}, LeftReason.GROWING),
        (moments(*[(10, 20)] * 8), {}, LeftReason.IDLE),
        (LISTED, {"hosts": HostEstimate(stopped_requests=7)}, LeftReason.STOPPED),
        (LISTED, {"hosts": HostEstimate(stopped_requests=7, stopped_for_s=300.0)}, LeftReason.STOPPED),
        (LISTED, {"hosts": HostEstimate(stopped_requests=7, stopped_for_s=99.0)}, LeftReason.KNOWN),
        (moments(*[(10, 20)] * 8), {"hosts": HostEstimate(stopped_requests=7)}, LeftReason.STOPPED),
        (moments(*[(10, 20)] * 8), {"delayed": 3, "pending": 0}, LeftReason.RETRIES),
        (LISTED, {"delayed": 3}, LeftReason.KNOWN),
        (LISTED, {"delayed": 3, "pending": 0}, LeftReason.RETRIES),
        (moments(*((n * 10, 150 - n * 10) for n in range(11))), {"delayed": 3}, LeftReason.RETRIES),
    ],
)
def test_why_it_is_not_known(samples: list[JobSample], facts: dict[str, object], reason: LeftReason) -> None:
    left = look(samples, **facts)
    assert left.reason is reason
    assert left.is_known == (reason is LeftReason.KNOWN)


def test_the_first_estimate_waits_for_a_second_one_that_agrees() -> None:
    facts = LeftFacts(now=NOW, samples=LISTED, pending=200)
    assert estimate_time_left(facts).reason is LeftReason.UNSTEADY
    agreeing = TimeEstimate(at=NOW - 5, recent=((NOW - 5, 150.0),))
    assert estimate_time_left(facts, agreeing).is_known
    other = TimeEstimate(at=NOW - 5, recent=((NOW - 5, 300.0),))
    assert estimate_time_left(facts, other).reason is LeftReason.UNSTEADY
    long_ago = TimeEstimate(at=NOW - 60, recent=((NOW - 60, 300.0),))
    assert estimate_time_left(facts, long_ago).reason is LeftReason.UNSTEADY


def test_a_budget_of_pages_ends_it_before() -> None:
    left = look(LISTED, max_pages=140)
    assert (left.least_s, left.most_s, left.limit) == (20.0, 20.0, LeftLimit.BUDGET)
    assert look(LISTED, max_pages=10_000) == look(LISTED)
    assert look(GROWING, max_pages=200).limit is LeftLimit.BUDGET, "enough pages wait"
    assert look(GROWING, max_pages=10_000).reason is LeftReason.GROWING, "not enough pages wait"


def test_what_the_site_announces_says_it_of_a_job_that_still_finds_pages() -> None:
    listing = [replace(one, listed=600, listed_done=n * 6) for n, one in enumerate(GROWING)]
    left = look(listing)
    assert (left.least_s, left.limit) == (pytest.approx(450.0), LeftLimit.LISTED), "540 more, 1.2 a second"
    there = [replace(one, listed=60, listed_done=60) for one in GROWING]
    assert look(there).reason is LeftReason.GROWING
    assert look([replace(one, listed=600) for one in GROWING]).reason is LeftReason.GROWING


def test_nothing_is_left_of_a_job_that_is_done() -> None:
    assert look(moments((10, 10), (20, 0), (20, 0), (20, 0))).seconds == 0.0


def test_an_estimate_grows_older_with_its_reader() -> None:
    left = look(LISTED).seen_at(NOW + 30)
    assert (left.at, left.least_s, left.most_s) == (NOW + 30, 70.0, 70.0)
    assert look(LISTED).seen_at(NOW + 300).most_s == 0.0
    assert TimeEstimate().seen_at(NOW) == TimeEstimate()


# --------------------------------------------------------------------------- words


def known(least_s: float, most_s: float, limit: LeftLimit = LeftLimit.WORK) -> TimeEstimate:
    return TimeEstimate(at=NOW, reason=LeftReason.KNOWN, least_s=least_s, most_s=most_s, limit=limit)


@pytest.mark.parametrize(
    ("left", "words", "column"),
    [
        (known(0, 0), "done in less than 10 seconds", "<10 s"),
        (known(3, 9), "done in less than 10 seconds", "<10 s"),
        (known(12, 24), "done in 10 to 25 seconds", "10-25 s"),
        (known(44, 45), "done in about 45 seconds", "45 s"),
        (known(181, 299), "done in 3 to 5 minutes", "3-5 min"),
        (known(230, 250), "done in about 4 minutes", "4 min"),
        (known(1900, 3500), "done in 30 to 60 minutes", "30-60 min"),
        (known(7000, 9000), "done in about 2 hours", "2 h"),
        (known(400_000, 700_000), "done in 4 to 9 days", "4-9 d"),
        (
            known(60, 80, LeftLimit.BUDGET),
            f"done in 60 to 80 seconds, {UNTIL[LeftLimit.BUDGET]}",
            "60-80 s",
        ),
        (TimeEstimate(reason=LeftReason.SEEDING), "", ""),
        (
            TimeEstimate(reason=LeftReason.GROWING),
            "still finding pages as fast as it fetches them",
            "finding",
        ),
        (
            TimeEstimate(reason=LeftReason.STOPPED, requests=1),
            "its end is not known: hosts with 1 request are not asked for now",
            "waiting",
        ),
    ],
)
def test_the_words_for_it(left: TimeEstimate, words: str, column: str) -> None:
    assert (describe_left(left), shorten_left(left)) == (words, column)


def test_each_reason_has_its_words() -> None:
    assert set(NOTES) == set(LeftReason)
    silent = {LeftReason.KNOWN, LeftReason.UNWATCHED, LeftReason.SEEDING}
    assert {reason for reason, note in NOTES.items() if not note} == silent
    assert set(SHORT_NOTES) == set(LeftReason) - silent
