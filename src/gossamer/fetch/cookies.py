"""Cookies: one jar per session and registrable domain, so that none can ever reach another site.

The jars are aiohttp's (RFC 6265, with Firefox's limits per domain and per request). What it leaves out is
added here: cookies for public suffixes, the ``__Host-`` and ``__Secure-`` prefixes (RFC 6265bis, 4.1.3),
and bounds on what one response may set. Sites without cookies cost one look-up.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice

from aiohttp import CookieJar
from yarl import URL

from gossamer.policy.urls import registrable_domain

MAX_COOKIE_BYTES = 8192
"""One Set-Cookie line; browsers stop at 4,096 for name and value plus 1,024 for each attribute."""

MAX_SET_PER_RESPONSE = 180

_Key = tuple[str, str]


class CookieBook:
    """The cookies of all sessions; the jar used least recently is forgotten when there are too many."""

    def __init__(self, max_jars: int) -> None:
        self._max_jars = max_jars
        self._jars: OrderedDict[_Key, CookieJar] = OrderedDict()

    def __len__(self) -> int:
        return len(self._jars)

    def header(self, session: str, url: URL) -> str:
        """The value of the Cookie header for a request, ``""`` for none."""
        if not self._jars:
            return ""
        key = self._key(session, url)
        jar = self._jars.get(key)
        if jar is None:
            return ""
        self._jars.move_to_end(key)
        cookies = jar.filter_cookies(url).values()
        return "; ".join(f"{cookie.key}={cookie.coded_value}" for cookie in cookies)

    def take(self, session: str, url: URL, lines: Iterable[str]) -> None:
        """Keep what a response sets, as far as it may set it."""
        key = self._key(session, url)
        secure = url.scheme == "https"
        wanted = [line for line in islice(lines, MAX_SET_PER_RESPONSE) if _acceptable(line, key[1], secure)]
        if not wanted:
            return
        jar = self._jars.get(key)
        if jar is None:
            jar = self._jars[key] = CookieJar(unsafe=True)  # addresses may have cookies, for themselves only
            if len(self._jars) > self._max_jars:
                self._jars.popitem(last=False)
        jar.update_cookies_from_headers(wanted, url)

    def _key(self, session: str, url: URL) -> _Key:
        host = url.raw_host or ""
        return session, registrable_domain(host) or host


def _acceptable(line: str, site: str, secure: bool) -> bool:
    """Whether a response of a host within ``site`` (its registrable domain) may set this cookie."""
    name, *rest = line.split(";") if len(line) <= MAX_COOKIE_BYTES else [""]
    attributes: dict[str, str] = {}
    for part in rest:
        key, _, value = part.partition("=")
        attributes[key.strip().lower()] = value.strip()
    if "secure" in attributes and not secure:
        return False
    domain = attributes.get("domain", "").lstrip(".").lower()
    if domain and domain != site and not domain.endswith("." + site):
        return False  # another site's, or a public suffix: above what anybody registered
    if name.lstrip().startswith("__Host-"):
        return "secure" in attributes and not domain and attributes.get("path") == "/"
    if name.lstrip().startswith("__Secure-"):
        return "secure" in attributes
    return "=" in name
