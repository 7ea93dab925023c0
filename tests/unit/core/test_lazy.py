"""Attributes that are worked out once."""

import re

import pytest

from gossamer.core.lazy import lazy_pattern, lazy_property


class Sum:
    def __init__(self, *values: int | str) -> None:
        self.values = values
        self.asked = 0

    @lazy_property
    def total(self) -> int:
        """What the values come to."""
        self.asked += 1
        return sum(map(int, self.values))


def test_it_is_worked_out_when_it_is_first_asked_for_and_kept_by_each_object() -> None:
    one, other = Sum(1, 2), Sum(5)
    assert one.asked == 0
    assert (one.total, one.total, other.total) == (3, 3, 5)
    assert (one.asked, other.asked) == (1, 1)


def test_what_fails_is_tried_again() -> None:
    wrong = Sum("x")
    for _ in range(2):
        with pytest.raises(ValueError, match="x"):
            _ = wrong.total
    assert wrong.asked == 2
    wrong.values = ("7",)
    assert wrong.total == 7


def test_its_class_tells_what_it_is() -> None:
    assert isinstance(Sum.total, lazy_property)
    assert Sum.total.__doc__ == "What the values come to."


def test_a_pattern_is_compiled_when_it_is_first_used() -> None:
    wrong = lazy_pattern("(")
    with pytest.raises(re.error):
        wrong.search("a")
    found = lazy_pattern(rb"([a-z])\d", re.IGNORECASE)
    match = found.fullmatch(b"A1")
    assert match is not None
    assert match[1] == b"A"
    assert found.sub(b"-", b"a1 b2 c") == b"- - c"
    assert found.pattern == rb"([a-z])\d"
