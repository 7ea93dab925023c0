"""Decodes XML and cuts it to a size that fits into memory, before it is parsed."""

from __future__ import annotations

import re
from itertools import islice

from gossamer.core.lazy import lazy_pattern
from gossamer.parse.encoding import declared_encoding, decode_as

_WIDE_STARTS = ((b"<\x00?\x00", "UTF-16LE"), (b"\x00<\x00?", "UTF-16BE"))
"""An XML declaration in UTF-16 without a byte-order mark (XML 1.0, appendix F)."""
_TAG = lazy_pattern(r"<!\[CDATA\[(?:.*?\]\]>|.*)|<!--(?:.*?-->|.*)|(<[^/!?])", re.DOTALL)


def decode_xml(body: bytes, content_type: str = "") -> tuple[str, str]:
    """Return the text of an XML document and the name of its encoding; never raises.

    A byte-order mark counts, then the header, then the XML declaration; without them it is UTF-8, or
    windows-1252 where it cannot be UTF-8.
    """
    encoding = next((name for start, name in _WIDE_STARTS if body.startswith(start)), None)
    encoding = encoding or declared_encoding(body.lstrip(), content_type)
    if encoding is None:
        try:
            return body.decode("utf-8"), "UTF-8"
        except UnicodeDecodeError:
            encoding = "windows-1252"
    return decode_as(body, encoding), encoding


def cut_xml(text: str, *, max_tags: int, max_chars: int) -> str:
    """Return the start of a document, up to a number of elements and characters."""
    text = text[:max_chars]
    tags = (match for match in _TAG.finditer(text) if match[1])
    next_tag = next(islice(tags, max_tags, None), None)
    return text if next_tag is None else text[: next_tag.start()]
