"""The secrets that a request carries, found by their names. Pure.

Texts about the request (an error of its callback, a log line) leave these values out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

from gossamer.core.authorization import secrets_of_authorization
from gossamer.core.requests import Request
from gossamer.policy.redirects import is_credential
from gossamer.policy.request_preview import MAX_DEPTH, MAX_PARSED_BYTES, is_hidden

MOST = 200
"""Values of one request that are looked for."""


def secret_values_of(request: Request) -> tuple[str, ...]:
    """Return ``auth``, cookies, and values named like secrets in headers, ``meta``, body and so on."""
    said = request.headers or request.meta or request.cb_kwargs or request.body
    if not (said or request.auth or request.cookies):
        return ()
    found: dict[str, None] = {}
    for value in _walk_request(request):
        found[value] = None
        if len(found) == MOST:
            break
    return tuple(found)


def _walk_request(request: Request) -> Iterator[str]:
    if request.auth:
        yield from secrets_of_authorization(request.auth)
    if isinstance(request.cookies, dict):
        yield from request.cookies.values()
    elif request.cookies:
        yield from (cookie["value"] for cookie in request.cookies)
    for name, value in request.headers.items():
        if is_header_secret(name):
            yield from header_secrets(name, value)
    yield from _walk_value(request.meta, 0, is_secret=False)
    yield from _walk_value(request.cb_kwargs, 0, is_secret=False)
    if request.body:
        yield from _walk_body(request.body[:MAX_PARSED_BYTES])


def is_header_secret(name: str) -> bool:
    """Whether a header of that name carries a secret."""
    return is_credential(name) or is_hidden(name)


def header_secrets(name: str, value: str) -> Iterator[str]:
    """Yield the secrets in a header: its value, the token after ``Bearer``, the values of cookies."""
    yield value
    if name.lower() == "cookie":
        yield from (pair.partition("=")[2].strip() for pair in value.split(";"))
    else:
        yield value.partition(" ")[2].strip()


def _walk_value(value: Any, depth: int, *, is_secret: bool) -> Iterator[str]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _walk_value(inner, depth + 1, is_secret=is_secret or is_hidden(str(name)))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _walk_value(inner, depth + 1, is_secret=is_secret)
    elif is_secret and isinstance(value, str):
        yield value


def _walk_body(body: bytes) -> Iterator[str]:
    text = body.decode("utf-8", "replace")
    try:
        yield from _walk_value(json.loads(text), 0, is_secret=False)
    except (ValueError, RecursionError):
        yield from (value for name, value in parse_qsl(text, max_num_fields=1000) if is_hidden(name))
