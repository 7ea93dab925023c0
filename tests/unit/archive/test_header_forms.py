"""Headers whose form is known: whatever is believed without being read says just that."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.archive import header_forms
from gossamer.archive.header_forms import has_known_form, learn_form
from gossamer.archive.http_block import read_header

FIRST = "HTTP/1.1 200 OK"
ODD = [
    "",
    " ",
    "\t",
    "\r",
    "\n",
    "\r\n",
    "%",
    "%s",
    "%%",
    ":",
    ": ",
    "a: b",
    "\r\nx-c: 1",
    "\u00e9",
    " \r\n ",
]
value = st.lists(st.sampled_from([*ODD, "a", "OK", "text/html; q=1"]), max_size=3).map("".join)
name = st.sampled_from(["x-a", "X-B", "Content-Type", "%s", "x%", " x-c", "x-d "])
margin = st.sampled_from([": ", ": ", ": ", ":", ":  ", ":\t"])
end = st.sampled_from(["\r\n", "\r\n", "\r\n", " \r\n", "\n"])
field = st.tuples(name, margin, value, end)

ONE = [("x-a", ": ", "a", "\r\n")]


def read(text: str) -> tuple[int, tuple[tuple[str, str], ...]] | None:
    try:
        return read_header(text.encode("latin-1"))
    except ValueError:
        return None


def write(fields, values) -> str:
    lines = [f"{n}{m}{v}{e}" for (n, m, _, e), v in zip(fields, values, strict=True)]
    return "".join((FIRST, "\r\n", *lines, "\r\n"))


@pytest.mark.long
@settings(max_examples=1500, deadline=None)
@given(st.lists(field, min_size=1, max_size=4), st.lists(value, min_size=4, max_size=4), st.booleans())
@example(ONE, ["b\r", "", "", ""], True)
@example(ONE, ["b\nx-c: 1", "", "", ""], True)
@example(ONE, ["b\r\nx-c: 1", "", "", ""], True)
@example(ONE, [" b", "", "", ""], True)
@example(ONE, ["\tb", "", "", ""], True)
@example(ONE, ["b ", "", "", ""], True)
@example(ONE, ["b\t", "", "", ""], True)
@example(ONE, ["\u00c3\u00a9", "", "", ""], True)
def test_what_has_a_known_form_reads_as_what_was_asked_about(fields, others, is_own):
    """A form is learned from one header, and another one with other values is asked about."""
    header_forms._forms.clear()
    learned = write(fields, [v for _, _, v, _ in fields])
    said = read(learned)
    if said is None or not said[1]:
        return
    names, values = zip(*said[1], strict=True)
    learn_form(learned, said[0], names, values)
    asked = write(fields, others[: len(fields)])
    claimed = tuple(others[: len(names)]) if is_own else values
    if len(claimed) == len(names) and has_known_form(asked, said[0], names, claimed):
        assert read(asked) == (said[0], tuple(zip(names, claimed, strict=True)))


def test_a_form_is_known_by_its_status_and_its_names_and_whatever_the_values_are():
    header_forms._forms.clear()
    header = "HTTP/1.1 200 100% OK\r\nDate: {}\r\nX-100%: {}\r\n\r\n"
    names = ("date", "x-100%")
    assert not has_known_form(header.format("a", "b"), 200, names, ("a", "b"))
    learn_form(header.format("a", "b"), 200, names, ("a", "b"))
    assert has_known_form(header.format("c", "50% d"), 200, names, ("c", "50% d"))
    assert not has_known_form(header.format("c", "d"), 200, names, ("c", "D"))
    assert not has_known_form(header.format("c", "d"), 404, names, ("c", "d"))
    assert not has_known_form(header.format("c", "d").lower(), 200, names, ("c", "d"))
    assert has_known_form(header.format("", "d"), 200, names, ("", "d"))
    learn_form("HTTP/1.1 200 \r\nx-a: b\r\n\r\n", 200, ("x-a",), ("b",))
    assert has_known_form("HTTP/1.1 200 \r\nx-a: \r\n\r\n", 200, ("x-a",), ("",))


def test_forms_take_no_more_memory_than_they_may(monkeypatch):
    monkeypatch.setattr(header_forms, "MAX_FORMS", 10)
    for number in range(35):
        learn_form(f"{FIRST}\r\nx-{number}: a\r\n\r\n", 200, (f"x-{number}",), ("a",))
        assert has_known_form(f"{FIRST}\r\nx-{number}: b\r\n\r\n", 200, (f"x-{number}",), ("b",))
    assert len(header_forms._forms) <= 10


def test_of_a_header_that_is_written_oddly_no_form_is_learned():
    header_forms._forms.clear()
    for odd in (" x-c: a", "x-c : a", "x-c:a", "x-c:  a"):
        learn_form(f"{FIRST}\r\n{odd}\r\n\r\n", 200, ("x-c",), ("a",))
    assert not header_forms._forms
