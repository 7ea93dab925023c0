"""Requests as commands print them: what tells those to one URL apart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gossamer.core.text import format_count
from gossamer.observe.text import one_line

if TYPE_CHECKING:
    from gossamer.core.requests import Request, RequestPreview


RARE = ("flags", "method", "request")
"""Columns of requests that a table has only where there is something in them."""
SHOWN = 40
"""Characters of what tells requests to one URL apart, in a table."""


def method_cell(method: str) -> str:
    """A method in a table; nothing for the usual one."""
    return method if method != "GET" else ""


def preview_cell(preview: RequestPreview | None) -> str:
    """What tells a request from others to its URL, in a table."""
    from gossamer.policy.request_preview import describe_preview

    return one_line(describe_preview(preview), SHOWN)


def request_cell(request: Request) -> str:
    """The same of a whole request."""
    from gossamer.policy.request_preview import preview_of

    return preview_cell(preview_of(request))


def fingerprint_text(fingerprint: int) -> str:
    """What tells requests apart, in 16 hexadecimal digits."""
    return f"{fingerprint & (1 << 64) - 1:016x}"


def preview_json(preview: RequestPreview | None) -> dict[str, Any] | None:
    """What the ledger has of a request besides its URL; ``None``: its URL and method say all about it."""
    from msgspec.structs import asdict

    return None if preview is None else asdict(preview)


def request_json(request: Request) -> dict[str, Any]:
    """A whole request, without secrets."""
    from gossamer.policy.request_preview import shown_body, shown_headers, shown_values

    return {
        "method": request.method,
        "headers": shown_headers(request.headers),
        "body": shown_body(request.body),
        "body_bytes": len(request.body),
        "callback": request.callback,
        "errback": request.errback,
        "cb_kwargs": shown_values(request.cb_kwargs),
        "meta": shown_values(request.meta),
        "priority": request.priority,
        "dont_filter": request.dont_filter,
        "lane": request.lane,
        "session": request.session,
        "depth": request.depth,
        "via": request.via,
        "redirects": list(request.redirects),
    }


def request_facts(request: Request) -> list[tuple[str, str]]:
    """What there is to know of a request besides its URL: names and values."""
    told = request_json(request)
    size = f"{format_count(told['body_bytes'], 'byte')}: " if told["body_bytes"] else ""
    return [
        ("method", request.method),
        ("headers", "; ".join(f"{name}: {value}" for name, value in told["headers"].items())),
        ("body", f"{size}{told['body']}"),
        ("callback", request.callback or ""),
        ("errback", request.errback or ""),
        ("cb_kwargs", compact_json(told["cb_kwargs"]) if request.cb_kwargs else ""),
        ("meta", compact_json(told["meta"]) if request.meta else ""),
        ("session", request.session),
        ("redirected by", ", ".join(request.redirects)),
    ]


def compact_json(value: Any) -> str:
    """A JSON value in one line."""
    return json.dumps(value, ensure_ascii=False)
