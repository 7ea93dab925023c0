"""Numbers with their nouns."""

from __future__ import annotations

import pytest

from gossamer.core.text import format_count


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
