"""Differences of requests to one URL besides method and body, for an archive. Pure."""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from gossamer.core.requests import Request
from gossamer.policy.redirects import is_credential
from gossamer.policy.secret_names import is_secret
from gossamer.policy.validators import is_question


def variant_of(request: Request) -> str:
    """A digest of a request's session, headers and cookies, without secrets; empty: it has none of its own.

    Servers answer by them (RFC 9110, 12.5.5), so the answer to one is none to the other.
    """
    if not (request.session or request.headers or request.cookies):
        return ""
    headers = sorted(
        (name.lower(), value)
        for name, value in request.headers.items()
        if not (is_question((name,)) or is_credential(name) or is_secret(name))  # pages are the same without
    )
    cookies = sorted(filter(None, map(_named_value, _cookies_of(request))))
    if not (request.session or headers or cookies):
        return ""
    return blake2b(msgspec.json.encode([request.session, headers, cookies]), digest_size=9).hexdigest()


def _cookies_of(request: Request) -> list[tuple[str, str]]:
    given = request.cookies or {}
    if isinstance(given, dict):
        return list(given.items())
    return [(str(cookie["name"]), str(cookie["value"])) for cookie in given]


def _named_value(cookie: tuple[str, str]) -> tuple[str, str] | None:
    return None if is_secret(cookie[0]) else cookie
