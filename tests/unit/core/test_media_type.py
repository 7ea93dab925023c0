"""The Content-Type that counts of those that a server sends, as in Fetch, "extract a MIME type"."""

from __future__ import annotations

import pytest

from gossamer.core.media_type import essence_of, extract_type


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (["text/html, text/html"], "text/html"),
        (["text/plain", "text/html"], "text/html"),
        (["text/html", "text/plain"], "text/plain"),
        (["text/html;charset=gbk, x/x", "text/html"], "text/html"),  # another type between them
        (["text/html; charset=gbk", "text/html"], "text/html; charset=gbk"),
        (["text/html; charset=gbk, text/html; charset=utf-8"], "text/html; charset=utf-8"),
        (["text/html;charset=gbk;a=b, text/html;x=y", "text/html"], "text/html; charset=gbk"),
        (["text/html", "*/*"], "text/html"),
        (["text/html", "*/*;charset=gbk"], "text/html"),
        (["text/html", "html"], "text/html"),
        (["html, text/html charset=x, "], "html, text/html charset=x, "),
        (['text/html;x=", text/plain"'], 'text/html;x=", text/plain"'),
        (['text/html;x="\\", text/plain'], 'text/html;x="\\", text/plain'),
        (["", "text/html"], "text/html"),
        ([","], ","),
        ([], ""),
    ],
)
def test_the_last_valid_type_counts(sent, expected):
    assert extract_type(tuple(sent)) == expected


@pytest.mark.parametrize(
    ("content_type", "essence"),
    [
        ("text/html", "text/html"),
        (" TEXT/Html ;charset=x", "text/html"),
        ("text/html;", "text/html"),
        ("application/vnd.a+xml; q", "application/vnd.a+xml"),
        ("text/html charset=utf-8", ""),
        ("text/ html", ""),
        ("html", ""),
        ("text/", ""),
        ("/html", ""),
        ("te(xt/html", ""),
        ("", ""),
    ],
)
def test_what_is_no_media_type_has_no_essence(content_type, essence):
    assert essence_of(content_type) == essence
