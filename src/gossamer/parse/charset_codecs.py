"""Encoders of the WHATWG Encoding standard, for the text that browsers send in a page's charset.

Python's codecs differ from the standard: some charsets are missing (windows-874, x-mac-cyrillic), others lack
characters that pages use (the circled digits of Shift_JIS and EUC-JP, the euro sign of GBK). The decoders
are the standard's, so the tables here are those decoders, reversed.

Importing this module registers the codecs ``html-gbk``, ``html-shift_jis`` and so on.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module

_PREFIX = "html_"
_WIDE = frozenset({"big5", "euc-jp", "euc-kr", "gb18030", "gbk", "iso-2022-jp", "shift_jis"})
_UNICODE = frozenset({"utf-8", "utf-16le", "utf-16be", "replacement"})
"""The standard sends text of such pages as UTF-8 ("get an output encoding")."""
_LAST_OF_BIG5 = "\u2550\u255e\u2561\u256a\u5341\u5345"
"""Characters for which the standard takes the last place in the table of Big5; else it takes the first."""
_ALIKE = {"\u2212": "\uff0d"}
"""The minus sign, which Japanese charsets have in its full width only."""
_TO_WIDE, _TO_ASCII = b"\x1b$B", b"\x1b(B"


@lru_cache(maxsize=64)
def codec_for(encoding: str) -> str:
    """Return the name of the codec that encodes as browsers do; ``encoding`` is the standard's name."""
    return "utf-8" if encoding.lower() in _UNICODE else f"html-{encoding.lower()}"


@lru_cache(maxsize=64)
def _table_of(encoding: str) -> Mapping[str, bytes]:
    """Return the bytes of every character that one or two bytes stand for."""
    table: dict[str, bytes] = {chr(code): bytes([code]) for code in range(128)}
    if encoding != "gb18030":  # which reads 80 as a euro sign and does not write it so
        for code in range(128, 256):
            _add_character(table, encoding, bytes([code]))
    if encoding in _WIDE:
        # One long text, a pair of bytes on each line: a decoder begins anew with each line end.
        pairs = [bytes([first, last]) for first in _leads_of(encoding) for last in range(0x40, 0xFF)]
        lines = b"\n".join(pairs).decode(f"whatwg-{encoding}", "replace").split("\n")
        for pair, read in zip(pairs, lines, strict=True):
            if len(read) == 1 and read != "\ufffd":
                if encoding == "big5" and read in _LAST_OF_BIG5:
                    table[read] = pair
                table.setdefault(read, pair)
    if encoding in ("shift_jis", "euc-jp"):
        table |= {"\u00a5": b"\\", "\u203e": b"~"}
        table |= {char: table[alike] for char, alike in _ALIKE.items()}
    return table


def _leads_of(encoding: str) -> list[int]:
    """Return the first bytes of pairs that the standard writes; it reads some more."""
    if encoding == "shift_jis":
        return [code for code in range(0x81, 0xFD) if code not in range(0xED, 0xEF)]
    return [*range(0xA1 if encoding == "big5" else 0x81, 0xFF)]


def _add_character(table: dict[str, bytes], encoding: str, written: bytes) -> None:
    read = written.decode(f"whatwg-{encoding}", "replace")
    if len(read) == 1 and read != "\ufffd":
        table.setdefault(read, written)


def _encode_by_table(encoding: str, text: str, errors: str) -> bytes:
    table = _table_of(encoding)
    written = []
    for place, char in enumerate(text):
        found = table.get(char)
        if found is None and encoding == "gb18030" and not "\ud800" <= char <= "\udfff":
            found = char.encode("gb18030")
        written.append(_replace_character(encoding, text, place, errors) if found is None else found)
    return b"".join(written)


def _encode_iso_2022_jp(encoding: str, text: str, errors: str) -> bytes:
    """Two bytes a character between escape sequences: those of EUC-JP without their highest bits."""
    table = _table_of("euc-jp")
    written, is_wide = [], False
    for place, char in enumerate(map(_widen_katakana, text)):
        found = None if char in "\u00a5\u203e" else table.get(char)
        if found is None or len(found) == 1:
            found = found or _replace_character(encoding, text, place, errors)
            if not found:
                continue
            shift, is_wide = (_TO_ASCII if is_wide else b""), False
        else:
            found = bytes(code & 0x7F for code in found)
            shift, is_wide = (b"" if is_wide else _TO_WIDE), True
        written.append(shift + found)
    return b"".join([*written, _TO_ASCII if is_wide else b""])


def _widen_katakana(char: str) -> str:
    """Half-width katakana are sent in their full width."""
    return unicodedata.normalize("NFKC", char)[-1] if "\uff61" <= char <= "\uff9f" else char


def _replace_character(encoding: str, text: str, place: int, errors: str) -> bytes:
    """The bytes that an error handler wants in the place of a character; a lone surrogate is U+FFFD."""
    char = "\ufffd" if "\ud800" <= text[place] <= "\udfff" else text[place]
    error = UnicodeEncodeError(encoding, char, 0, 1, "the charset has no such character")
    said, _ = codecs.lookup_error(errors)(error)
    return said.encode("ascii") if isinstance(said, str) else said


def _find_codec(name: str) -> codecs.CodecInfo | None:
    if not name.startswith(_PREFIX):
        return None
    encoding = re.sub("_(?!jis)", "-", name.removeprefix(_PREFIX))
    try:
        codecs.lookup(f"whatwg-{encoding}")
    except LookupError:
        return None
    encode_text = _encode_iso_2022_jp if encoding == "iso-2022-jp" else _encode_by_table

    def encode(text: str, errors: str = "strict") -> tuple[bytes, int]:
        return encode_text(encoding, text, errors), len(text)

    return codecs.CodecInfo(encode, codecs.lookup(f"whatwg-{encoding}").decode, name=f"html-{encoding}")


# --------------------------------------------------------------------------- queries

_URL_ERRORS = "gossamer.url"
_ESCAPED = re.compile(rb"[^!$-&(-;=?-~]")
"""The standard's "special-query percent-encode set"."""


def encode_query(text: str, encoding: str) -> str:
    """Return the query of a URL as browsers send it from a page in this encoding.

    Percent signs stay as they are; a character that the charset does not have is ``%26%23N%3B``.
    """
    written = text.encode(codec_for(encoding), _URL_ERRORS)
    return _ESCAPED.sub(lambda found: b"%%%02X" % found[0][0], written).decode("ascii")


def _escape_reference(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    codes = (ord(char) for char in error.object[error.start : error.end])
    return "".join(f"%26%23{code}%3B" for code in codes), error.end


import_module("turbohtml.detect")  # registers the decoders
codecs.register(_find_codec)
codecs.register_error(_URL_ERRORS, _escape_reference)
