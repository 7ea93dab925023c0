"""Text of strangers on a terminal."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.observe.text import error_headline, one_line, printable_lines, shown_url


def test_control_characters_are_shown_and_not_obeyed():
    assert one_line("a\x1b[31mb\r\nc\x07\x9b2J\u202ed\u2028e\x7f") == (
        "a\\x1b[31mb\\r\\nc\\x07\\x9b2J\\u202ed\\u2028e\\x7f"
    )


def test_people_text_is_left_alone():
    assert one_line("Café 日本語 — “ok” 100 %s {}") == "Café 日本語 — “ok” 100 %s {}"
    assert one_line("a\u00a0b\u3000c") == "a b c"


def test_a_megabyte_is_cut():
    assert one_line("x" * 1_000_000, 10) == "xxxxxxxxx…"
    assert one_line("x" * 10, 10) == "x" * 10
    assert len(one_line("\x1b" * 1_000_000, 100)) == 100


@given(st.text(alphabet=st.characters()), st.integers(1, 50))
def test_one_line_is_printable_and_bounded(text, limit):
    shown = one_line(text, limit)
    assert shown.isprintable()
    assert len(shown) <= limit
    assert len(shown.splitlines()) <= 1
    shown.encode()  # surrogates are gone


@given(st.text(alphabet=st.characters()))
def test_lines_keeps_line_breaks_and_nothing_else(text):
    assert printable_lines(text).replace("\n", "").isprintable()
    assert printable_lines(text).count("\n") == text.count("\n")


def test_the_line_break_of_windows_is_one_and_does_not_show():
    assert printable_lines("bad\r\nmore\r") == "bad\nmore\\r"


def test_a_url_is_shown_without_its_password():
    assert shown_url("http://me:secret@host/a\nb") == "http://***@host/a\\nb"
    assert "secret" not in shown_url("http://me:secret@" + "h" * 5000, 40)
    assert "p1" not in shown_url("socks5://u:p1@a,http://x:p1@b")


def test_the_headline_of_a_traceback_names_the_exception():
    detail = "Traceback (most recent call last):\n  File \"x.py\", line 3, in parse\n    f()\nKeyError: 'a'\n"
    assert error_headline(detail) == "KeyError: 'a'"
    assert error_headline(detail.replace("'a'", "'a'\nmore\n")) == "KeyError: 'a'"
    assert error_headline(detail.replace("'a'", "bad\r\nmore\r\n")) == "KeyError: bad"
    assert error_headline("ValueError: 10 %\r20 %\tdone\r") == "ValueError: 10 % 20 % done"
    assert error_headline("connection refused") == "connection refused"
    assert error_headline("") == ""
    assert error_headline("  only indented") == "  only indented"
