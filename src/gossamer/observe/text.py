"""Text from the web made fit for a terminal and a log.

URLs, titles and error messages are written by strangers. Whatever is shown passes through here: it stays on
one line, moves no cursor, changes no colour, is no longer than asked for, and carries no password.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from gossamer.core.redaction import hide_userinfo

_BREAK = re.compile(r"[^\S ]+")
"""Line breaks and tabs within a message; a space takes their place."""


def one_line(text: str, limit: int = 300) -> str:
    """Return ``text`` on one line of at most ``limit`` characters; others are escaped (``\\x1b``)."""
    shown = text[: limit + 1]  # a megabyte is cut before it is looked at
    if not shown.isprintable():
        shown = "".join(map(_escape_character, shown))
    return shown if len(shown) <= limit else shown[: max(limit - 1, 0)] + "…"


def printable_lines(text: str, limit: int = 4000) -> str:
    """Return text of several lines, such as a traceback, in the same way; line breaks stay."""
    cut = text if len(text) <= limit else text[:limit] + "…"
    return "\n".join(one_line(line, limit) for line in cut.replace("\r\n", "\n").split("\n"))


def shown_url(url: str, limit: int = 300) -> str:
    """Return a URL for people: on one line, without user name and password."""
    return one_line(hide_userinfo(url[: 4 * limit]), limit)


def json_line(value: Any) -> str:
    """Return a JSON value on one line. Control characters are escaped, so a terminal is safe."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    return text if text.isprintable() else "".join(map(_escape_in_json, text))


def error_headline(detail: str) -> str:
    """Return an error in one line; from a traceback, the line that names the exception."""
    found = [line for line in detail.rstrip().split("\n") if not line.lstrip().startswith("For further info")]
    after_frames = max((n for n, line in enumerate(found, start=1) if line.startswith("  ")), default=0)
    named = found[min(after_frames, len(found) - 1)].rstrip()
    return one_line(_BREAK.sub(" ", named.removeprefix("gossamer.core.errors.")))


def _escape_in_json(character: str) -> str:
    if character.isprintable() or character in "\u00a0\u200c\u200d":
        return character
    return json.dumps(character)[1:-1] if ord(character) > 0x7F else f"\\u{ord(character):04x}"


def _escape_character(character: str) -> str:
    if character.isprintable():
        return character
    if unicodedata.category(character) == "Zs":  # a space of another width
        return " "
    return character.encode("unicode_escape").decode("ascii")
