"""The headers of an answer as they may be shown, without credentials. Pure.

A cookie shows its name and attributes, without its value.
"""

from __future__ import annotations

from collections.abc import Iterable

from gossamer.core.redaction import hide_userinfo
from gossamer.policy.request_secrets import is_header_secret
from gossamer.policy.secret_names import HIDDEN

ATTRIBUTES = frozenset(
    {"domain", "path", "expires", "max-age", "secure", "httponly", "samesite", "partitioned", "priority"}
)
"""Attributes of a cookie in ``Set-Cookie``."""
OPEN = ("access-control-", "www-authenticate", "proxy-authenticate")
"""Headers that describe access without granting it."""


def shown_answer_headers(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers of an answer without the values of cookies, tokens and keys, and without passwords."""
    return [(name, _shown_value(name.lower(), value)) for name, value in headers]


def _shown_value(name: str, value: str) -> str:
    if name in ("set-cookie", "set-cookie2"):
        return _shown_cookie(value)
    if is_header_secret(name) and not name.startswith(OPEN):
        return HIDDEN
    return hide_userinfo(value)


def _shown_cookie(line: str) -> str:
    pair, *attributes = line.split(";")
    name, equals, _ = pair.partition("=")
    shown = [f"{name.strip()}={HIDDEN}" if equals else HIDDEN]
    for attribute in filter(None, map(str.strip, attributes)):
        is_known = attribute.partition("=")[0].strip().lower() in ATTRIBUTES
        shown.append(attribute if is_known else HIDDEN)
    return "; ".join(shown)
