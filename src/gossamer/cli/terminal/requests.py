"""Requests as commands print them: what tells those to one URL apart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gossamer.core.text import format_count
from gossamer.observe.text import one_line

if TYPE_CHECKING:
    from gossamer.queries.dead_letters import LetterSummary


RARE = ("flags", "method", "request")
"""Columns of requests that a table has only where there is something in them."""
SHOWN = 40
"""Characters of what tells requests to one URL apart, in a table."""


def method_cell(method: str) -> str:
    """A method in a table; nothing for the usual one."""
    return method if method != "GET" else ""


def details_cell(details: str) -> str:
    """What tells a request from others to its URL, in a table."""
    return one_line(details, SHOWN)


def request_facts(letter: LetterSummary) -> list[tuple[str, str]]:
    """What there is to know of a dead letter's request besides its URL: names and values."""
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
    """A JSON value in one line."""
    return json.dumps(value, ensure_ascii=False)
