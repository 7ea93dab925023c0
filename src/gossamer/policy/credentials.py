"""User names and passwords in URLs (``http://user:password@host/``): what is sent for them, and where to.

They go to the origin that they were written for, as Basic credentials (RFC 7617), and are kept in memory
only: the canonical form of a URL is without them, so that they reach no queue, ledger, log or listing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import unquote, unquote_to_bytes

from gossamer.core.authorization import encode_basic
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


def authorizations_for(urls: Iterable[str]) -> dict[str, str]:
    """The values of Authorization that some URLs ask for, by origin."""
    found: dict[str, str] = {}
    for url in urls:
        parsed = parse_url(url) if "@" in url else None
        if parsed is not None and (parsed.username or parsed.password):
            found[origin_of(url)] = basic_authorization(f"{parsed.username}:{parsed.password}")
    return found
