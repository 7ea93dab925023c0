"""What sitemaps and feeds say of their entries: a time stands for its end, a priority for a request's."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.policy.lastmod import read_lastmod, read_priority


def at(*parts):
    return datetime(*parts, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-23T10:30:05Z", at(2026, 11, 23, 10, 30, 6)),
        (" 2026-11-23T10:30:05.25+02:00 ", at(2026, 11, 23, 8, 30, 6)),
        ("2026-11-23 10:30:05", at(2026, 11, 23, 10, 30, 6)),
        ("2026-11-23T10:30-0500", at(2026, 11, 23, 15, 31)),
        ("2026-11-23", at(2026, 11, 24)),
        ("2026-12", at(2027, 1, 1)),
        ("2026-02", at(2026, 3, 1)),
        ("2025", at(2026, 1, 1)),
        ("Mon, 23 Nov 2026 10:30:05 GMT", at(2026, 11, 23, 10, 30, 6)),
        ("23 Nov 2026 10:30:05 +0100", at(2026, 11, 23, 9, 30, 6)),
        ("1890-01-01", 0.0),
        ("2026-02-31", 0.0),
        ("2026-13", 0.0),
        ("yesterday", 0.0),
        ("", 0.0),
        ("0000", 0.0),
        ("9999", 0.0),
    ],
)
def test_times_are_read_and_stand_for_their_ends(text, expected):
    assert read_lastmod(text) == expected


@given(st.text(max_size=64) | st.from_regex(r"[0-9TZ:+ -]{0,30}", fullmatch=True))
def test_no_text_raises(text):
    assert read_lastmod(text) >= 0.0
    assert -2 <= read_priority(text) <= 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1.0", 2), ("0.8", 1), ("0.5", 0), ("0.6", 0), ("0.0", -2), ("7", 0), ("high", 0), ("", 0), ("nan", 0)],
)
def test_priorities(text, expected):
    assert read_priority(text) == expected
