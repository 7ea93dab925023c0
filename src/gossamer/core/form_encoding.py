"""Forms as ``application/x-www-form-urlencoded``, as browsers write it."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote_plus

FORM_TYPE = "application/x-www-form-urlencoded"


def encode_fields(fields: Iterable[tuple[str, str]], encoding: str = "utf-8") -> str:
    """Names and values in a charset; what the charset has no character for is a reference, as in HTML."""
    try:
        "".encode(encoding)
    except LookupError:
        encoding = "utf-8"
    return "&".join(f"{_encode(name, encoding)}={_encode(value, encoding)}" for name, value in fields)


def _encode(text: str, encoding: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")
    return quote_plus(lines.encode(encoding, "xmlcharrefreplace"), safe="*")
