"""The bytes of an answer, from what Firefox makes of them."""

from __future__ import annotations

import pytest

from gossamer.fetch.browser.firefox_bodies import is_shown_kind, restore_bytes


def told_by_firefox(sent: bytes) -> bytes:
    """What Firefox hands over of a text."""
    try:
        return sent.removeprefix(b"\xef\xbb\xbf").decode().encode()
    except UnicodeDecodeError:
        return sent.decode("latin-1").encode()


@pytest.mark.parametrize("text", ["plain", "Grüße", "5 €", "日本語", ""])
@pytest.mark.parametrize("charset", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "cp1252", "shift_jis"])
def test_with_its_length_every_text_is_what_was_sent(text: str, charset: str) -> None:
    sent = text.encode(charset, "replace")
    assert restore_bytes(told_by_firefox(sent), {"content-length": str(len(sent))}) == sent


@pytest.mark.parametrize(
    ("text", "charset", "kind"),
    [
        ("Grüße", "iso-8859-1", "text/plain; charset=iso-8859-1"),
        ("Grüße", "utf-8", "text/plain; charset=utf-8"),
        ("Grüße", "utf-8", "application/json"),
        ("日本語", "shift_jis", "text/plain"),
        ("Grüße", "utf-16", "text/plain"),
        ("“Grüße”", "cp1252", "text/plain"),
        ("<?xml version='1.0' encoding='iso-8859-1'?><a>ü</a>", "iso-8859-1", "application/xml"),
        ("<?xml version='1.0' encoding='UTF-8'?><a>ü</a>", "utf-8", "application/xml"),
    ],
)
def test_without_a_length_its_charset_tells(text: str, charset: str, kind: str) -> None:
    sent = text.encode(charset)
    headers = {"content-type": kind, "content-length": "7", "content-encoding": "gzip"}
    assert restore_bytes(told_by_firefox(sent), headers) == sent


def test_what_is_no_text_stays_as_it_is() -> None:
    data = bytes(range(256))
    assert restore_bytes(data, {"content-type": "image/png"}) == data


@pytest.mark.parametrize(
    ("kind", "disposition", "is_shown"),
    [
        ("text/plain; charset=utf-8", "", True),
        ("application/ld+json", "", True),
        ("", "", True),
        ("image/png", "inline", True),
        ("text/plain", "attachment; filename=a.txt", False),
        ("text/csv", "", False),
        ("application/octet-stream", "", False),
    ],
)
def test_what_firefox_saves(kind: str, disposition: str, is_shown: bool) -> None:
    assert is_shown_kind(kind, disposition) is is_shown
