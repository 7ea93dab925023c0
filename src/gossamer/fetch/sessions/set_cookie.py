"""Parse one ``Set-Cookie`` line as browsers do.

RFC 6265 (5.1, 5.2 and the first half of 5.3), with additions of RFC 6265bis: name prefixes, no ``Secure``
cookies in plain text, lengths, no control characters, and cookies without a name. ``SameSite`` is ignored;
``HttpOnly`` matters only for name prefixes and for keeping the cookie from scripts. Nothing raises, for any
line.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import NamedTuple

from gossamer.core.cookies import Cookie
from gossamer.core.lazy import lazy_pattern
from gossamer.policy.urls import parse_origin, registrable_domain

MAX_COOKIE_BYTES = 4096
"""Name and value together (RFC 6265bis, 5.6)."""

MAX_ATTRIBUTE_BYTES = 1024
"""The value of an attribute; one with more is ignored (RFC 6265bis, 5.6)."""

MAX_AGE_S = 400 * 86400.0
"""No cookie lives longer without being set again (RFC 6265bis, 5.5)."""

_CONTROL = lazy_pattern(r"[\x00-\x08\x0a-\x1f\x7f]")
_SECONDS = lazy_pattern(r"-?[0-9]+")


def sent_as(cookie: Cookie) -> str:
    """Return a cookie as sent in the header (RFC 6265bis, 5.8.3): one without a name is its value alone."""
    return f"{cookie.name}={cookie.value}" if cookie.name else cookie.value


class CookieOrigin(NamedTuple):
    """The place of a request or response, as far as cookies need it."""

    host: str
    site: str  # the host's registrable domain; the host itself for addresses, bare labels, public suffixes
    path: str  # without the query
    is_secure: bool


def cookie_origin_of(url: str) -> CookieOrigin:
    """Return the origin of a canonical URL; ``host`` and ``site`` are empty if it has none."""
    here = parse_origin(url)
    start = url.find("/", 8)
    path = url[start:].partition("#")[0].partition("?")[0] if start >= 0 else "/"
    return CookieOrigin(here.hostname, registrable_domain(here.hostname), path, here.scheme == "https")


def is_below(host: str, domain: str) -> bool:
    """Return whether ``host`` is ``domain`` or below it (5.1.3; addresses have no names below them)."""
    return host == domain or host.endswith("." + domain)


def read_cookie(line: str, here: CookieOrigin, now: float) -> Cookie | None:
    """Return the cookie that a response at ``here`` sets, or ``None`` if it is missing or forbidden.

    A cookie that ends no later than ``now`` is an order to delete.
    """
    if not line.isascii():
        line = line.encode("utf-8", "replace").decode("latin-1")
    pair, _, rest = line.partition(";")
    name, equals, value = pair.partition("=")
    name, value = (name.strip(" \t"), value.strip(" \t")) if equals else ("", name.strip(" \t"))
    if not 0 < len(name) + len(value) <= MAX_COOKIE_BYTES or _CONTROL.search(line):
        return None
    said = _read_attributes(rest, now)
    domain = said.domain or here.host
    is_within = is_below(here.host, domain) and is_below(domain, here.site)
    if not is_within or (said.is_secure and not here.is_secure) or not _keeps_promise(name, value, said):
        return None
    path = said.path or here.path[: here.path.rfind("/")] or "/"
    is_open = not said.domain
    return Cookie(name, value, domain, path, is_open, said.is_secure, said.expires_at, now, said.is_http_only)


class _CookieAttributes(NamedTuple):
    domain: str
    path: str
    is_secure: bool
    is_http_only: bool
    expires_at: float


def _read_attributes(text: str, now: float) -> _CookieAttributes:
    """Return the attributes; the last valid one of each name counts, and Max-Age precedes Expires."""
    domain = path = ""
    is_secure = is_http_only = False
    ends: float | None = None
    age: float | None = None
    for part in text.split(";"):
        name, _, value = part.partition("=")
        name, value = name.strip(" \t").lower(), value.strip(" \t")
        if len(value) > MAX_ATTRIBUTE_BYTES:
            continue
        if name == "path":
            path = value if value.startswith("/") else ""
        elif name == "domain" and value:  # an empty one does not cancel an earlier one
            domain = value.removeprefix(".").lower()
        elif name == "secure":
            is_secure = True
        elif name == "httponly":
            is_http_only = True
        elif name == "max-age" and _SECONDS.fullmatch(value):
            age = float(value)
        elif name == "expires":
            date = read_date(value)
            ends = ends if date is None else date
    if age is not None:
        ends = now + age if age > 0 else -math.inf
    ends_at = math.inf if ends is None else min(ends, now + MAX_AGE_S)
    return _CookieAttributes(domain, path, is_secure, is_http_only, ends_at)


_PREFIX = lazy_pattern(r"__(host-http|host|http|secure)-", re.IGNORECASE)


def _keeps_promise(name: str, value: str, said: _CookieAttributes) -> bool:
    """Return whether a cookie has the attributes that its name claims (RFC 6265bis, 4.1.3)."""
    prefix = _PREFIX.match(name)
    if prefix is None:
        return bool(name) or not _PREFIX.match(value)  # sent without a name, it would be read as one
    kind = prefix[1].lower()
    if not said.is_secure or ("http" in kind and not said.is_http_only):
        return False
    return "host" not in kind or (not said.domain and said.path == "/")


# --------------------------------------------------------------------------- dates

_TOKEN = lazy_pattern(r"[^\t\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]+")
_TIME = lazy_pattern(r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?![0-9])")
_DAY = lazy_pattern(r"[0-9]{1,2}(?![0-9])")
_YEAR = lazy_pattern(r"[0-9]{2,4}(?![0-9])")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FIRST_YEAR = 1601


def read_date(text: str) -> float | None:
    """Return the Unix seconds of a cookie's date, or ``None`` for an invalid one.

    By RFC 6265, 5.1.1: fields in any order and any punctuation, no time zone but UTC.
    """
    clock: re.Match[str] | None = None
    day = month = year = -1
    for token in _TOKEN.findall(text):
        if clock is None and (found := _TIME.match(token)):
            clock = found
        elif day < 0 and (found := _DAY.match(token)):
            day = int(found[0])
        elif month < 0 and token[:3].lower() in _MONTHS:
            month = _MONTHS.index(token[:3].lower()) + 1
        elif year < 0 and (found := _YEAR.match(token)):
            year = int(found[0])
    if 0 <= year < 100:
        year += 1900 if year >= 70 else 2000
    if clock is None or year < _FIRST_YEAR:
        return None
    try:  # a field that is missing is -1, out of range like a 30th of February
        return datetime(year, month, day, int(clock[1]), int(clock[2]), int(clock[3]), tzinfo=UTC).timestamp()
    except ValueError:
        return None
