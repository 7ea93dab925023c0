"""Whether a body is HTML or XML, by its header and by its first bytes."""

from __future__ import annotations

import pytest

from gossamer.parse.mime import is_html, is_text, is_xml

DECLARED = b"<?xml version='1.0'?>"


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("text/html", b"", True),
        ("TEXT/HTML; charset=x", b"%PDF", True),
        ("application/xhtml+xml", b"<", True),
        ("application/json", b"<html>", False),
        ("text/plain", b"<html>", False),
        ("image/png", b"<html>", False),
        ("", b"\n <!DocType HTML><p>", True),
        ("", b"<?xml version='1.0'?>\n<!-- c --><html >", True),
        ("", b"<p>hi", True),
        ("", b"<pre", False),
        ("", b"%PDF-1.4", False),
        ("", b"", False),
        ("text/xml", b"<html xmlns='http://www.w3.org/1999/xhtml'>", True),
        ("application/xml", b"<?xml version='1.0'?><urlset>", False),
        ("application/octet-stream", b"\xef\xbb\xbf<html>", True),
        ("html", b"<html>", True),
        ("html", b"%PDF-1.4", False),
        ("text", b"<a href=/x>x</a>", True),
        ("*/*", b"<!-- " + b"-" * 500 + b" --><body>", True),
        ("application/unknown; charset=x", b"<h1>", True),
        ("text/html charset=utf-8", b"<center>", True),
        ("text/html (fine)", b"", True),
        ("text/html charset=utf-8", b"<?xml version='1.0'?><rss>", False),
        ("text/htmlx", b"<html>", False),
        ("charset=utf-8", b"<html>", True),
        ("; charset=utf-8", b"<!DOCTYPE html >", True),
    ],
)
def test_what_is_html(content_type, body, expected):
    assert is_html(content_type, body) is expected


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("application/rss+xml; charset=utf-8", b"<rss>", "xml"),
        ("application/atom+xml", b"", "xml"),
        ("text/xml", DECLARED + b"<!-- <html> --><urlset>", "xml"),
        ("application/xml", b"<title>of a book</title>", "xml"),
        ("image/svg+xml", b"<svg>", "xml"),
        ("application/xhtml+xml", DECLARED + b"<html>", "html"),
        ("text/xml", DECLARED + b'<!DOCTYPE html PUBLIC "x"><html>', "html"),
        ("text/html", DECLARED + b"\n<rss version='2.0'>", "xml"),
        ("text/html", b"\xef\xbb\xbf" + DECLARED + b"<?x y?><!-- c --><!DOCTYPE rss><rss>", "xml"),
        ("text/html", b"<rss version='2.0'>", "html"),
        ("text/html", DECLARED + b'<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"><html>', "html"),
        ("text/html", DECLARED + b"<body>", "html"),
        ("text/html", DECLARED, "html"),
        ("text/plain", DECLARED + b"<feed>", "xml"),
        ("", DECLARED + b"<feed>", "xml"),
        ("", b"<feed>", ""),
        ("text/plain", b"a text", ""),
        ("application/json", DECLARED + b"<feed>", ""),
    ],
)
def test_a_body_is_html_or_xml_or_neither(content_type: str, body: bytes, expected: str) -> None:
    assert (is_html(content_type, body), is_xml(content_type, body)) == (
        expected == "html",
        expected == "xml",
    )


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("text/plain", b"\x00", True),
        ("TEXT/Plain;charset=x", b"", True),
        ("text/markdown", b"<p>", True),
        ("text/html", b"a text", False),
        ("application/json", b"{}", False),
        ("", b"a text, caf\xe9\n", True),
        ("text", b"\xff\xfea\x00", True),
        ("", b"", False),
        ("", b"%PDF-1.4", False),
        ("", b"\x89PNG\r\n\x1a\n", False),
        ("", b"a" * 1444 + b"\0", False),
        ("", b"a" * 1445 + b"\0", True),  # browsers look no further
        ("", b"<p>hi", False),
        ("", DECLARED + b"<feed>", False),
        ("application/octet-stream", b"a text", False),
    ],
)
def test_what_is_plain_text(content_type: str, body: bytes, expected: bool) -> None:
    assert is_text(content_type, body) is expected


@pytest.mark.parametrize(
    "start",
    [
        b"<?xml " + b"?" * 10_000,
        DECLARED + b"<!--" * 5_000,
        DECLARED + b"<!---->" * 5_000,  # each may be the beginning of a longer one, to who reads it twice
        DECLARED + b"<?a?>" * 5_000,
        b"\n" * 100_000,
    ],
)
def test_a_long_start_is_not_looked_at_to_its_end(start: bytes) -> None:
    assert not is_xml("", start)
