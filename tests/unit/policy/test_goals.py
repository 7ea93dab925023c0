"""How far a crawl is on its way to what a site announces."""

import pytest
from msgspec.structs import replace

from gossamer.core.errors import UsageError
from gossamer.core.jobs import JobTotals
from gossamer.policy.counter_rules import merge_counts
from gossamer.policy.goals import expectation_key, keep_largest, read_goals, sum_goals


def test_parts_are_added_up_and_each_word_counts_what_it_is_about() -> None:
    totals = JobTotals(
        items=12,
        callback_pages={"parse_product": 7},
        expected={
            expectation_key("products", "parse_product"): 4213,
            expectation_key("offers", part="lamps/old"): 20,
            expectation_key("offers", part="chairs"): 5,
        },
    )
    assert [goal.to_text() for goal in read_goals(totals)] == ["12 of 25 offers", "7 of 4,213 products"]
    assert read_goals(JobTotals(items=3)) == ()


def test_a_crawl_that_comes_back_does_not_wait_for_what_has_not_changed() -> None:
    """A bug it would catch: its time left is that of a crawl that finds everything anew, and never ends."""
    totals = JobTotals(items=42, expected={expectation_key("products"): 4213})
    assert sum_goals(totals) == (4213, 42)
    for left_out in ({"unchanged": 4000}, {"dropped": {"link:not_due": 4000}}):
        assert sum_goals(replace(totals, **left_out)) == (0, 0)


def test_long_parts_stay_apart() -> None:
    keys = {expectation_key("offers", part="x" * 200 + end) for end in "ab"}
    assert len(keys) == 2
    assert all(len(key) < 80 for key in keys)


@pytest.mark.parametrize("word", ["", " ", "a/b", "x" * 41, "a\nb"])
def test_what_is_no_word_is_refused(word: str) -> None:
    with pytest.raises(UsageError):
        expectation_key(word)


def test_numbers_that_cannot_be_are_passed_over() -> None:
    known: dict[str, int] = {}
    for number in (5, 3, 0, -1, 10**30):
        keep_largest(known, "a", number)
    assert known == {"a": 5}
    merge_counts(known, {"a": 2, "expected:b": 4})
    merge_counts(known, {"expected:b": 3})
    assert known == {"a": 7, "expected:b": 4}
