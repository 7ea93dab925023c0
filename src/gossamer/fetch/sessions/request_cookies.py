"""The cookies that a request brings along: they go into the jar of its session, as if its host had set them.

So they are sent with it and with what comes after it, whichever way it is fetched, and never to another
host: the jar's own rules say to whom. What the host sets later replaces them.
"""

from __future__ import annotations

from typing import Any

from gossamer.core.request_options import Cookies
from gossamer.core.requests import Request
from gossamer.ports.cookie_store import CookieStore


def put_cookies(cookies: CookieStore, session: str, request: Request, now: float) -> None:
    """Do so, if it has any. Those of a domain that is not the host's are left out, as anybody's would be."""
    if request.cookies:
        cookies.store_cookies(session, request.url, _lines_of(request.cookies), now)


def _lines_of(cookies: Cookies) -> list[str]:
    """What a host would say in Set-Cookie."""
    if isinstance(cookies, dict):
        return [f"{name}={value}; Path=/" for name, value in cookies.items()]
    return list(map(_line_of, cookies))


def _line_of(cookie: dict[str, Any]) -> str:
    parts = [f"{cookie['name']}={cookie['value']}", f"Path={cookie.get('path', '/')}"]
    if "domain" in cookie:
        parts.append(f"Domain={cookie['domain']}")
    return "; ".join((*parts, "Secure") if cookie.get("secure") else parts)
