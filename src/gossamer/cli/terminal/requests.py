"""Requests as commands print them: the details that distinguish those to one URL."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gossamer.core.text import format_count
from gossamer.observe.text import one_line

if TYPE_CHECKING:
    from gossamer.queries.dead_letters import LetterSummary


RARE = ("flags", "method", "request")
"""Columns of requests that a table leaves out while they are empty."""
SHOWN = 40
"""Maximum characters of these details in a table."""


def method_cell(method: str) -> str:
    """Return a method for a table; empty for the usual one."""
    return method if method != "GET" else ""


def details_cell(details: str) -> str:
    """Return the details that distinguish requests to one URL, for a table."""
    return one_line(details, SHOWN)


def request_facts(letter: LetterSummary) -> list[tuple[str, str]]:
    """Return the facts of a dead letter's request besides its URL: names and values."""
    size = f"{format_count(letter.body_bytes, 'byte')}: " if letter.body_bytes else ""
    return [
        ("method", letter.method),
        ("headers", "; ".join(f"{name}: {value}" for name, value in letter.headers.items())),
        ("body", f"{size}{letter.body}"),
        ("callback", letter.callback or ""),
        ("errback", letter.errback or ""),
        ("cb_kwargs", _compact_json(letter.cb_kwargs) if letter.cb_kwargs else ""),
        ("meta", _compact_json(letter.meta) if letter.meta else ""),
        ("options", "; ".join(letter.options)),
        ("session", letter.session),
        ("redirected by", ", ".join(letter.redirects)),
    ]


def _compact_json(value: Any) -> str:
    """Return a JSON value in one line."""
    return json.dumps(value, ensure_ascii=False)
