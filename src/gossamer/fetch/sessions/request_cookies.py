"""Put the cookies of a request into the jar of its session, as if its host had set them.

So they are sent with it and with later requests, by every way to fetch, and never to another host: the
jar's rules decide. Later values of the host replace them.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Any

from gossamer.core.request_options import Cookies
from gossamer.core.requests import Request
from gossamer.fetch.sessions.set_cookie import cookie_origin_of, read_cookie
from gossamer.ports.cookie_store import CookieStore

log = logging.getLogger("gossamer.crawl")


def put_cookies(cookies: CookieStore, session: str, request: Request, now: float) -> None:
    """Store a request's cookies. Cookies that its host could not set are skipped, and reported once per
    host."""
    if request.cookies:
        lines = _lines_of(request.cookies)
        cookies.store_cookies(session, request.url, lines, now)
        here = cookie_origin_of(request.url)
        for line in lines:
            if read_cookie(line, here, now) is None:
                _tell_left_out(line.partition("=")[0], here.host)


@lru_cache(maxsize=1000)
def _tell_left_out(name: str, host: str) -> None:
    """Once for each: most spiders send the same cookies with all of their requests."""
    log.warning(
        "the cookie %r of a request is not sent to %s: its domain is not that host or above it, it is for "
        "https alone, or it is too long",
        name,
        host,
    )


def _lines_of(cookies: Cookies) -> list[str]:
    """Return the cookies as a host would write them in Set-Cookie."""
    if isinstance(cookies, dict):
        return [f"{name}={value}; Path=/" for name, value in cookies.items()]
    return list(map(_line_of, cookies))


def _line_of(cookie: dict[str, Any]) -> str:
    parts = [f"{cookie['name']}={cookie['value']}", f"Path={cookie.get('path', '/')}"]
    if "domain" in cookie:
        parts.append(f"Domain={cookie['domain']}")
    return "; ".join((*parts, "Secure") if cookie.get("secure") else parts)
