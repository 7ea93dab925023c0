"""User names and passwords in URLs (``http://user:password@host/``): their header and its origin.

They are sent to the origin of their URL only, as Basic credentials (RFC 7617). The canonical form of a URL
omits them, so they reach no ledger, log or listing. Credentials of start URLs are kept in memory only; those
of a spider's other requests become ``auth``. Links with credentials on pages are not followed: a page must
not decide which user a request is sent as.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from urllib.parse import unquote, unquote_to_bytes

from gossamer.core.authorization import encode_basic
from gossamer.core.requests import Request
from gossamer.policy.url_parser import parse_url
from gossamer.policy.urls import origin_of


def basic_authorization(user_info: str) -> str:
    """The value of Authorization for ``user:password`` as written in a URL, ``""`` for nothing."""
    if not user_info:
        return ""
    user, _, password = user_info.partition(":")
    return encode_basic(unquote_to_bytes(user), unquote_to_bytes(password))


def passwords_in(urls: Iterable[str]) -> Iterator[str]:
    """The passwords in some URLs, as they are and as they are sent."""
    for url in urls:
        parsed = parse_url(url) if "@" in url else None
        if parsed is not None and parsed.password:
            yield unquote(parsed.password)
            yield basic_authorization(f"{parsed.username}:{parsed.password}").removeprefix("Basic ")


def has_credentials(url: str) -> bool:
    """Whether a URL has a user or a password in it."""
    parsed = parse_url(url) if "@" in url else None
    return parsed is not None and bool(parsed.username or parsed.password)


def claim_credentials(request: Request, known: Collection[str]) -> Request:
    """The request with the user and the password of its URL as its ``auth``, unless it says who asks.

    For the origins in ``known`` they are sent anyway, and nothing has to be kept with the request.
    """
    if request.auth is not None:
        return request
    for origin, value in authorizations_for([request.url]).items():
        if origin not in known:
            return request.replace(auth=value)
    return request


def authorizations_for(urls: Iterable[str]) -> dict[str, str]:
    """The values of Authorization that some URLs ask for, by origin."""
    found: dict[str, str] = {}
    for url in urls:
        parsed = parse_url(url) if "@" in url else None
        if parsed is not None and (parsed.username or parsed.password):
            found[origin_of(url)] = basic_authorization(f"{parsed.username}:{parsed.password}")
    return found
