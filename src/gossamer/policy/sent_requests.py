"""Changes that hooks make to a request just before it is sent: allowed ones, and secret ones. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from gossamer.core.request_options import Cookies
from gossamer.core.requests import Request
from gossamer.policy.request_secrets import header_secrets
from gossamer.policy.urls import origin_of

FIXED = (
    "callback",
    "errback",
    "priority",
    "dont_filter",
    "lane",
    "fetch",
    "saves",
    "cb_kwargs",
    "unique_key",
    "max_retries",
    "delay",
)
"""Fields that decided something before a request was sent: to change them then has no effect."""


def explain_wrong_change(request: Request, sent: Request) -> str:
    """Why a request cannot be sent in the place of another; empty: it can."""
    if sent.url != request.url:
        origin, other = origin_of(request.url), origin_of(sent.url)
        if origin != other:
            return (
                f"it changed the URL from {origin} to {other}: scope, robots.txt and politeness were those "
                f"of {origin}. Return Replacement(request) to have another request made instead"
            )
    wrong = [name for name in FIXED if getattr(request, name) != getattr(sent, name)]
    if wrong:
        return (
            f"it changed {', '.join(wrong)}, which cannot be changed any more when a request is sent. "
            "Return Replacement(request) to have another request made instead"
        )
    return ""


def list_changed_values(request: Request, sent: Request) -> tuple[str, ...]:
    """Return the values that only the sent request has: they may be secrets under any name.

    A hook that raises may leave any value in a request: a value that is not text could not have been sent.
    """
    return tuple(dict.fromkeys(_walk_changes(request, sent)))


def _walk_changes(request: Request, sent: Request) -> Iterator[str]:
    former = {name.lower(): value for name, value in request.headers.items()}
    for name, value in sent.headers.items():
        if isinstance(name, str) and isinstance(value, str) and former.get(name.lower()) != value:
            yield from header_secrets(name, value)
    if sent.auth and sent.auth != request.auth:
        yield from header_secrets("authorization", str(sent.auth))
    if sent.cookies and sent.cookies != request.cookies:
        yield from _values_of_cookies(sent.cookies)
    if sent.url != request.url:
        yield sent.url
        yield sent.url.partition("?")[2]
    proxy = sent.meta.get("proxy")
    if isinstance(proxy, str) and proxy != request.meta.get("proxy"):
        yield proxy


def _values_of_cookies(cookies: Cookies) -> Iterator[str]:
    if isinstance(cookies, dict):
        yield from map(str, cookies.values())
    else:
        yield from (str(cookie.get("value", "")) for cookie in cookies)
