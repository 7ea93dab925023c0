"""XML 1.0: ``<items>``, an ``<item>`` each, an element per field; elements of a list are ``<value>``.

A field whose name is not an XML name gets a similar one, and keeps its own in the attribute ``name``.
Text with characters that XML cannot carry has them as JSON writes them (``\\u000b``), and backslashes
doubled; its element then says ``escapes="json"``. The same holds for such names, with ``name-escapes``.
"""

from __future__ import annotations

import re
from typing import Any, BinaryIO
from xml.sax.saxutils import escape, quoteattr

import msgspec

from gossamer.core.errors import UsageError
from gossamer.export.files import copy_bytes, read_tail

# A part of https://www.w3.org/TR/xml/#NT-Name that parsers of every edition take: ASCII and Latin-1 letters.
_START = "A-Z_a-z\xc0-\xd6\xd8-\xf6\xf8-\xff"
NAME = re.compile(f"(?!(?i:xml))[{_START}][{_START}\\-.0-9]*")
_NOT_NAME = re.compile(f"[^{_START}\\-.0-9]")
_NOT_CHAR = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

HEAD = b'<?xml version="1.0" encoding="utf-8"?>\n<items>\n'
TAIL = b"</items>"


class XmlWriter:
    """Writes ``.xml``. Appending continues the ``<items>`` that the file holds."""

    def __init__(self, out: BinaryIO, old: BinaryIO | None, place: str) -> None:
        self._write = out.write
        if old is None:
            out.write(HEAD)
            return
        copy_bytes(old, out, find_end(old, place))

    def write_item(self, data: dict[str, Any]) -> None:
        """Add one item."""
        self._write(f"<item>{_render_content(data)}</item>\n".encode())

    def write_end(self) -> None:
        """Close the root element."""
        self._write(TAIL + b"\n")

    def close(self) -> None:
        """Nothing is held."""


def find_end(old: BinaryIO, place: str) -> int:
    """Return the end of the last item in a file. Raises :class:`UsageError` for an end unlike ours."""
    end, begin = read_tail(old)
    end = end.rstrip()
    if not end.endswith(TAIL):
        raise UsageError(f"{place} does not end with </items>; overwrite it or choose another file")
    return begin + len(end) - len(TAIL)


def _render_content(value: Any) -> str:
    if isinstance(value, dict):
        return "".join(_render_element(name, inner) for name, inner in value.items())
    if isinstance(value, list):
        return "".join(f"<value{_mark_of(inner)}>{_render_content(inner)}</value>" for inner in value)
    if value is None:
        return ""
    if isinstance(value, str):
        # A bare carriage return would be read back as a line feed.
        return escape(_escape_controls(value), {"\r": "&#13;"})
    return msgspec.json.encode(value).decode()


def _render_element(name: str, value: Any) -> str:
    if NAME.fullmatch(name):
        return f"<{name}{_mark_of(value)}>{_render_content(value)}</{name}>"
    tag = _NOT_NAME.sub("_", name)
    if not NAME.fullmatch(tag):
        tag = f"_{tag}"
    own = quoteattr(_escape_controls(name), {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"})
    marks = (' name-escapes="json"' if _NOT_CHAR.search(name) else "") + _mark_of(value)
    return f"<{tag} name={own}{marks}>{_render_content(value)}</{tag}>"


def _mark_of(value: Any) -> str:
    """Return the attribute of an element whose text is escaped."""
    return ' escapes="json"' if isinstance(value, str) and _NOT_CHAR.search(value) else ""


def _escape_controls(text: str) -> str:
    """Return the text as XML can carry it."""
    if not _NOT_CHAR.search(text):
        return text
    return _NOT_CHAR.sub(lambda found: f"\\u{ord(found[0]):04x}", text.replace("\\", "\\\\"))
