"""Numbers with their nouns, errors on one line, and times for programs."""

from __future__ import annotations

import pytest

from gossamer.core.text import describe_error, format_count, iso_time


def test_an_error_is_one_line_and_without_a_message_its_name() -> None:
    assert describe_error(ValueError("bad\r\n  line\t2\r")) == "ValueError: bad line 2"
    assert describe_error(TimeoutError()) == "TimeoutError"


@pytest.mark.parametrize(
    ("count", "words", "text"),
    [
        (0, ("request",), "0 requests"),
        (1, ("request",), "1 request"),
        (2000, ("request",), "2,000 requests"),
        (1, ("retry", "retries"), "1 retry"),
        (2, ("retry", "retries"), "2 retries"),
    ],
)
def test_a_quantity_is_in_the_right_number(count: int, words: tuple[str, ...], text: str) -> None:
    assert format_count(count, *words) == text


def test_times_for_programs() -> None:
    assert iso_time(0.9) == "1970-01-01T00:00:00Z"
    assert iso_time(None) is None
