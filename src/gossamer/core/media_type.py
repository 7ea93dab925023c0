"""Media types as servers send them, and the one of several that counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_ESSENCE = re.compile(rf"[\t\n\r ]*({_NAME}/{_NAME})[\t\n\r ]*(?:;|\Z)")
_CHARSET = re.compile(rf";[\t\n\r ]*charset=(\"(?:[^\"\\]|\\.)*\"|{_NAME})", re.IGNORECASE)
_LABEL = re.compile(r"charset\s*=[\s\"']*([^\s\"';,]+)", re.IGNORECASE)
"""A charset however it is written: also with blanks, or in a value that is not a media type."""
_VALUES = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*(?:"|\Z))+')
"""The values of a list; a comma within quotation marks separates nothing."""


@lru_cache(maxsize=256)
def essence_of(content_type: str) -> str:
    """Return ``type/subtype`` in lower case, or ``""`` for anything else, such as ``html``."""
    found = _ESSENCE.match(content_type)
    return found[1].lower() if found else ""


def charset_label_of(content_type: str) -> str:
    """The charset that a Content-Type names, as it is written; ``""`` if it names none."""
    found = _LABEL.search(content_type)
    return found[1] if found else ""


@lru_cache(maxsize=256)
def extract_type(sent: Sequence[str]) -> str:
    """The media type that several values of Content-Type mean (Fetch, "extract a MIME type").

    It is the last valid one. If it names no charset, it has that of the equal ones before it. Where none is
    valid, the text is returned as it was sent.
    """
    chosen = charset = ""
    for value in _VALUES.findall(",".join(sent)):
        essence, named = essence_of(value), _CHARSET.search(value)
        if not essence or essence == "*/*":
            continue
        if named:
            charset = named[1]
        elif essence != essence_of(chosen):
            charset = ""
        elif charset:
            chosen = f"{value.strip()}; charset={charset}"
            continue
        chosen = value.strip()
    return chosen or ", ".join(sent)
