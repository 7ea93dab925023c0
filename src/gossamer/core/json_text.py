"""JSON as Python's own parser reads it, by a faster one where that is enough."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from gossamer.core.lazy import lazy_pattern
from gossamer.core.media_type import charset_label_of

_PARTS = lazy_pattern(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]')


def read_json(body: bytes, name: str, decode_text: Callable[[], str]) -> Any:
    """The value of a body: with or without a byte-order mark, in UTF-8, UTF-16 or UTF-32, or in a charset.

    ``decode_text`` is asked for the text if it is in none of those encodings. ``NaN``, ``Infinity``,
    ``1e400`` and lone surrogates are read as Python reads them. Raises ``ValueError`` that begins with
    ``name`` and says where the body is not JSON.
    """
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _read_exactly(_text_of(body, decode_text), name)


def decode_charset(body: bytes, content_type: str) -> str:
    """The text of a body: UTF-8 where it is, else in the charset that the header names; never raises."""
    for encoding in (json.detect_encoding(body), "utf-8", charset_label_of(content_type)):
        try:
            return body.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return body.decode("utf-8", "replace")


def _text_of(body: bytes, decode_text: Callable[[], str]) -> str:
    """The text of a body, by its first bytes: of each character of JSON's structure some bytes are zero."""
    encoding = json.detect_encoding(body)
    try:
        return body.decode(encoding, "surrogatepass")
    except UnicodeDecodeError:
        return decode_text().removeprefix("\ufeff")


def _read_exactly(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{name} is not JSON: {error}") from None
    except RecursionError:
        depth, at = _deepest_place(text)
        reason = f"it is nested {depth:,} levels deep, which is too much: {_show_place(text, at)}"
    except ValueError as error:  # a number of thousands of digits
        most = sys.get_int_max_str_digits()
        found = lazy_pattern(rf"\d{{{most + 1}}}").search(text)
        reason = f"{error}: {_show_place(text, found.start() if found else 0)}"
    raise ValueError(f"{name} cannot be read as JSON: {reason}")


def _deepest_place(text: str) -> tuple[int, int]:
    """How many lists and objects are open at most, and where."""
    depth = deepest = at = 0
    for part in _PARTS.finditer(text):
        sign = part[0]
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(sign, 0)
        if depth > deepest:
            deepest, at = depth, part.start()
    return deepest, at


def _show_place(text: str, at: int) -> str:
    """A place as :class:`json.JSONDecodeError` writes it."""
    line = text.count("\n", 0, at) + 1
    return f"line {line} column {at - text.rfind(chr(10), 0, at)} (char {at})"
