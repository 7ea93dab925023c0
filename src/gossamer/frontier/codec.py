"""A request as text, short enough that millions of them wait on disk.

Guarantee: whatever ``Request`` accepts comes back equal. A request is a line of parts separated by tabs;
empty parts at its end are left out. The parts: the URL below its host, the length that it shares with the URL
of the page that led here and the rest of that URL, callback, depth, priority, and all unusual values as JSON.
Text that a line cannot carry (control characters, lone surrogates) is part of that JSON. Never pickle:
another program may have written the text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from gossamer.core.errors import StorageError, UsageError
from gossamer.core.requests import Entry, Request

_SCHEMES = {"s": "https://", "p": "http://"}  # by the first letter of a URL part; "=": the URL as it is
_PARTS = 6  # before the JSON
_IN_PARTS = frozenset(("url", "callback", "depth", "via", "priority"))

_UNREADABLE = (ValueError, LookupError, TypeError, RecursionError, UsageError, msgspec.MsgspecError)


def pack_request(request: Request, host: str) -> str:
    """Return the stored form of a request to ``host``: printable but for its tabs."""
    url, via, callback = request.url, request.via, request.callback
    shared = _shared_length(url, via) if via else 0
    texts = (_strip_host(host, url), via[shared:], callback or "")
    if not "".join(texts).isprintable() or callback == "":
        return "\t" * _PARTS + json.dumps(msgspec.to_builtins(request))
    place, tail, name = texts
    line = f"{place}\t{shared or ''}\t{tail}\t{name}\t{request.depth or ''}\t{request.priority or ''}"
    if _is_usual(request):
        return line.rstrip("\t")
    others = {name: value for name, value in msgspec.to_builtins(request).items() if name not in _IN_PARTS}
    return f"{line}\t{json.dumps(others, separators=(',', ':'))}"


def read_entry(record: str | Sequence[str], fingerprint: int, host: str, due_at: float) -> Entry:
    """Decode a stored form, or its parts; for a damaged one, return its host and the reason."""
    try:
        request = unpack_request(record, host) if isinstance(record, str) else unpack_parts(record, host)
    except StorageError as error:
        stand_in = Request(f"http://{host}/")
        return Entry(
            request=stand_in, fingerprint=fingerprint, host=host, due_at=due_at, unreadable=str(error)
        )
    return Entry(request=request, fingerprint=fingerprint, host=host, due_at=due_at)


def unpack_request(record: str, host: str) -> Request:
    """Return the request of a stored form. Raises :class:`StorageError` for text that is none."""
    try:
        parts = record.split("\t")
    except TypeError:
        raise StorageError("a stored request cannot be read: it is not text") from None
    return unpack_parts(parts, host)


def unpack_parts(parts: Sequence[str], host: str) -> Request:
    """Return the same for a record that was split at its tabs."""
    try:
        if len(parts) > _PARTS:
            return _unpack_unusual(parts, host)
        url = _restore_url(host, parts[0])
        if len(parts) == 1:
            return Request(url)
        shared, tail, name, depth, priority = (*parts[1:], *("",) * (_PARTS - len(parts)))
        via = url[: int(shared)] + tail if shared else tail
        return Request(url, name or None, priority=int(priority or 0), depth=int(depth or 0), via=via)
    except _UNREADABLE as error:
        raise StorageError(f"a stored request cannot be read: {error}") from error


def _unpack_unusual(parts: Sequence[str], host: str) -> Request:
    fields: dict[str, Any] = json.loads("\t".join(parts[_PARTS:]))
    if "url" in fields:
        return msgspec.convert(fields, Request)
    usual = msgspec.to_builtins(unpack_parts(parts[:_PARTS], host))
    return msgspec.convert(usual | fields, Request)


def _is_usual(request: Request) -> bool:
    """Whether the parts say all."""
    return not (
        request.method != "GET"
        or request.lane != "http"
        or request.errback is not None
        or request.headers
        or request.body
        or request.meta
        or request.cb_kwargs
        or request.dont_filter
        or request.session
        or request.fetch
        or request.browser is not None
        or request.redirects
        or request.trace
        or request.archived
        or request.is_trap_probe
        or request.saves is not None
        or request.lastmod
        or request.follow_rules
        or request.unique_key
        or request.is_anywhere
        or request.cookies is not None
        or request.auth is not None
        or request.omit_headers is not None
        or request.timeout is not None
        or request.max_size is not None
        or request.max_retries is not None
        or request.delay is not None
        or request.keep_fragment is not None
    )


def _strip_host(host: str, url: str) -> str:
    if url.startswith("https://") and url.startswith(host, 8):
        return "s" + url[8 + len(host) :]
    if url.startswith("http://") and url.startswith(host, 7):
        return "p" + url[7 + len(host) :]
    return "=" + url


def _restore_url(host: str, place: str) -> str:
    if place[0] == "=":
        return place[1:]
    return f"{_SCHEMES[place[0]]}{host}{place[1:]}"


def _shared_length(url: str, via: str) -> int:
    """Return how many characters both have in common, up to a slash."""
    end = via.rfind("/") + 1
    while end and not url.startswith(via[:end]):
        end = via.rfind("/", 0, end - 1) + 1
    return end
