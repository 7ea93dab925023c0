"""The headers of an answer as they may be shown: what they let one in with is left out. Pure.

A cookie shows its name and what it is good for, without its value.
"""

from __future__ import annotations

from collections.abc import Iterable

from gossamer.core.redaction import hide_userinfo
from gossamer.policy.request_secrets import is_header_secret
from gossamer.policy.secret_names import HIDDEN

ATTRIBUTES = frozenset(
    {"domain", "path", "expires", "max-age", "secure", "httponly", "samesite", "partitioned", "priority"}
)
"""What a line of ``Set-Cookie`` says about its cookie."""
OPEN = ("access-control-", "www-authenticate", "proxy-authenticate")
"""Headers that say how one is let in, and let nobody in."""


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
