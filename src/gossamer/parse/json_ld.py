"""JSON-LD as pages have it: also with what pages put around and between the JSON.

A block that is JSON is read as it is. Any other block is mended in one linear pass, which leaves strings
alone: it removes comments, the marks of comments and of CDATA sections, byte-order marks, and commas at an
opening or closing bracket; between two values it writes the comma that is missing. The reader then takes all
values from the start of the block to the first place that is not JSON. If it finds none, it resolves
character references (``&quot;``) and tries once more.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any

from turbohtml import Document

_TYPE = "application/ld+json"
_MAX_BLOCK = 2_000_000
"""Characters of one block that are read."""
_MAX_DEPTH = 20
"""Lists and graphs within one another that are unfolded."""

_NOISE = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*+"?)'
    r"|(?://[ \t]*+|/\*\s*+)?+(?:<!\[CDATA\[|\]\]>)(?:\s*+\*/)?+"  # marks of CDATA
    # a comment of HTML that has no JSON in it; else only its marks
    r"|<!--(?!\s*+(?:\{|\[(?!if)|/[/*]))(?:[^<-]|-(?!->)){0,1000}+-->|(?://[ \t]*+)?+(?:<!--|-->)"
    r"|//[^\n\r]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?+"  # comments
    r"|[^\x21-\x7e\t\n\r ]++",  # byte-order marks, blanks that JSON does not know
    re.DOTALL,
)
_COMMA = re.compile(
    r'(?P<value>"(?:[^"\\]|\\.)*+"?|[}\]])(?P<gap>(?=\s*+["{\[]))?+|(?P<open>[{\[])\s*+,[\s,]*+'
    r"|,[\s,]*+(?P<close>[}\]])?",
    re.DOTALL,
)
_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|(.))', re.DOTALL)
_BETWEEN = re.compile(r"[\s,;]*+")
"""Separators between the objects of one block."""
_DECODER = json.JSONDecoder(strict=False)
"""Line ends within strings are forgiven: many sites write them."""


def read_blocks(document: Document) -> list[dict[str, Any]]:
    """Return the objects of every JSON-LD block, lists and ``@graph`` unfolded, in document order."""
    found: list[dict[str, Any]] = []
    for script in document.select('script[type*="ld+json" i]'):
        if (script.attr("type") or "").partition(";")[0].strip().lower() == _TYPE:
            for value in read_values(script.text[:_MAX_BLOCK]):
                found.extend(_unfold_objects(value))
    return found


def read_values(text: str) -> list[Any]:
    """Return the JSON values of one block; none where nothing can be read."""
    try:
        return [_DECODER.decode(text)]
    except (ValueError, RecursionError):
        pass
    values = _read_mended(text)
    return values or (_read_mended(html.unescape(text)) if "&" in text else [])


def _read_mended(text: str) -> list[Any]:
    text = _COMMA.sub(_mend_comma, _NOISE.sub(_mend_string, text))
    values: list[Any] = []
    at = _skip_between(text, 0)
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        values.append(value)
        at = _skip_between(text, at)
    return values


def _skip_between(text: str, at: int) -> int:
    between = _BETWEEN.match(text, at)
    return between.end() if between else at


def _mend_comma(match: re.Match[str]) -> str:
    """Return one comma between two values, and none at a bracket."""
    if match["value"]:
        return match["value"] if match["gap"] is None else f"{match['value']},"
    return match["open"] or match["close"] or ","


def _mend_string(match: re.Match[str]) -> str:
    r"""A blank; or a string, with ``\'`` and other escapes that JSON does not know as bare characters."""
    string = match["string"]
    if string is None:
        return " "
    return _ESCAPE.sub(lambda escape: escape[0] if escape[1] else escape[2], string)


def _unfold_objects(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    if isinstance(value, list) and depth < _MAX_DEPTH:
        for entry in value:
            yield from _unfold_objects(entry, depth + 1)
    elif isinstance(value, dict):
        graph = value.get("@graph")
        if isinstance(graph, (list, dict)) and not set(value) - {"@context", "@graph", "@id"}:
            yield from _unfold_objects(graph, depth + 1)
        else:
            yield value
