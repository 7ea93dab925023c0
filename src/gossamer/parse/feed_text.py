"""The text of a feed, read in slices: it is as long as it likes, and only a slice of it is held as text."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable
from typing import TextIO

from gossamer.parse.encoding import declared_encoding, decode_as

SLICE = 64 * 1024
"""Bytes looked at, or characters read, at once."""
_MARKS = {"UTF-8": codecs.BOM_UTF8, "UTF-16LE": codecs.BOM_UTF16_LE, "UTF-16BE": codecs.BOM_UTF16_BE}
"""Encodings that can be decoded in slices, with their byte-order marks."""
_WIDE_STARTS = ((b"<\x00", "UTF-16LE"), (b"\x00<", "UTF-16BE"))
"""XML in UTF-16 that does not say so."""


def open_text(body: bytes, content_type: str = "", guess: Callable[[], str] | None = None) -> TextIO:
    """Return the text of a body as a file to read from, its line ends as they are; nothing raises.

    The encoding is that of a byte-order mark, of the header or of an XML declaration; without them it is
    UTF-8; where it cannot be UTF-8 it is what ``guess`` says, or windows-1252.
    """
    encoding = next((name for start, name in _WIDE_STARTS if body.startswith(start)), None)
    encoding = encoding or declared_encoding(body, content_type)
    if encoding is None:
        encoding = "UTF-8" if _is_utf8(body) else guess() if guess else "windows-1252"
    mark = _MARKS.get(encoding)
    if mark is None:
        return io.StringIO(decode_as(body, encoding), newline="")
    source = io.BytesIO(body)
    source.seek(len(mark) if body.startswith(mark) else 0)
    return io.TextIOWrapper(source, encoding=encoding, errors="replace", newline="")


def _is_utf8(body: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(body), SLICE):
            decoder.decode(body[start : start + SLICE])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
