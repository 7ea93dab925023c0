"""Character references, as XML and HTML write them."""

from __future__ import annotations

import re
from html.entities import html5

REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
"""A reference with its semicolon: without one, a link would lose its ``&copy=``."""


def resolve_reference(reference: str) -> str | None:
    """Return the characters that a reference stands for; ``None``: HTML knows no such name."""
    name = reference[1:]
    if name[0] != "#":
        return html5.get(name)
    number = int(name[2:-1], 16) if name[1] in "xX" else int(name[1:-1])
    return chr(number) if 0 < number < 0xD800 or 0xDFFF < number < 0x110000 else "\ufffd"


def resolve_references(text: str) -> str:
    """Return a text with the characters in the place of their references; others stay as they are."""
    return REFERENCE.sub(lambda match: resolve_reference(match[0]) or match[0], text) if "&" in text else text
