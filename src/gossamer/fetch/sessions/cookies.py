"""Cookies: one jar per session and registrable domain, so that none can ever reach another site.

RFC 6265 (5.3 and 5.4), with browsers' limits on how many there are, and with limits on bytes that keep
a site from filling the memory or outgrowing what servers take as a request. Sites without cookies cost
one look-up. Jars are plain data and can be kept elsewhere: see ``shared_cookies``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from gossamer.core.cookies import Cookie
from gossamer.fetch.sessions.set_cookie import (
    MAX_AGE_S,
    CookieOrigin,
    cookie_origin_of,
    is_below,
    read_cookie,
    sent_as,
)
from gossamer.policy.urls import hostname_of, origin_of, registrable_domain

MAX_COOKIES = 180
"""Cookies per jar, and per response: the limit of Chromium for a registrable domain."""

MAX_JAR_BYTES = 65_536
"""Names and values of one jar; common servers refuse requests whose header is longer than half of this."""

MAX_ENTRY_BYTES = 262_144
"""Keys and values of all web storage that is kept in one jar; the longest entries are dropped first."""

MAX_KEPT = 1000
"""Cookies or entries that are taken from a browser at once."""

MAX_LINE_LENGTH = 8192
"""Characters of a ``Set-Cookie`` line; one with more is not looked at."""

MAX_TAKEN_LENGTH = 65_536
"""Characters of all ``Set-Cookie`` lines of one response; later lines are ignored."""

WORTH_SAVING = 0.1
"""The part of a cookie's remaining life by which its end must move for the jar to be saved for that alone."""

_Jar = dict[tuple[str, str, str], Cookie]  # by name, domain and path; oldest first
_as_jar = msgspec.msgpack.Decoder(list[Cookie]).decode


class CookieJar:
    """The cookies of all sessions; the jar used least recently is forgotten when there are too many.

    URLs are canonical; ``now`` is in Unix seconds.
    """

    def __init__(self, max_jars: int) -> None:
        self._max_jars = max_jars
        self._jars: OrderedDict[tuple[str, str], _Jar] = OrderedDict()

    def __len__(self) -> int:
        return len(self._jars)

    def cookie_header(self, session: str, url: str, now: float) -> str:
        """Return the value of the Cookie header for a request, in Latin-1 characters; ``""`` without
        cookies."""
        if not self._jars:
            return ""
        key = (session, registrable_domain(hostname_of(url)))
        jar = self._jars.get(key)
        if jar is None:
            return ""
        self._jars.move_to_end(key)
        here = cookie_origin_of(url)
        sent = [cookie for cookie in jar.values() if _is_for(cookie, here, now)]
        sent.sort(key=_longest_path_first)
        return "; ".join(map(sent_as, sent))

    def store_cookies(self, session: str, url: str, lines: Iterable[str], now: float) -> list[Cookie]:
        """Store a response's cookies, if it may set them; return those set or deleted."""
        here = cookie_origin_of(url)
        if not here.host:
            return []
        taken = [cookie for line in _limit_lines(lines) if (cookie := read_cookie(line, here, now))]
        if not taken:
            return []
        key = (session, here.site)
        jar = {name: cookie for name, cookie in self._jars.get(key, {}).items() if cookie.expires_at > now}
        taken = [cookie for cookie in taken if _put_cookie(jar, cookie, here, now)]
        self._keep_jar(key, jar)
        return taken

    def list_cookies(self, session: str, url: str, now: float) -> list[Cookie]:
        """Return all cookies of the registrable domain of ``url``, of any path and host."""
        jar = self._jars.get((session, cookie_origin_of(url).site), {})
        return [cookie for cookie in jar.values() if cookie.expires_at > now and not cookie.is_entry]

    def list_entries(self, session: str, url: str, now: float) -> list[Cookie]:
        """Return the entries of web storage of the origin of ``url``."""
        jar = self._jars.get((session, cookie_origin_of(url).site), {})
        place = f" {origin_of(url)}"
        return [one for one in jar.values() if one.is_entry and one.path.endswith(place)]

    def keep_cookies(self, session: str, url: str, cookies: Iterable[Cookie], now: float) -> list[Cookie]:
        """Store a browser's cookies of that domain; return those stored or deleted."""
        site = cookie_origin_of(url).site
        taken = [cookie for cookie in islice(cookies, MAX_KEPT) if is_below(cookie.domain, site)]
        if site and taken:
            self.apply_changes(session, site, taken, now)
        return taken if site else []

    def apply_changes(self, session: str, site: str, changes: Iterable[Cookie], now: float) -> None:
        """Set or delete cookies that were taken before."""
        jar = dict(self._jars.get((session, site), {}))
        _apply_changes(jar, changes, now)
        self._keep_jar((session, site), jar)

    def forget_jar(self, session: str, site: str) -> None:
        """Let go of a jar."""
        self._jars.pop((session, site), None)

    def dump_jar(self, session: str, site: str) -> bytes | None:
        """Return the cookies of a session at a registrable domain, for :meth:`load_jar`, or ``None``."""
        jar = self._jars.get((session, site))
        return None if jar is None else msgspec.msgpack.encode(list(jar.values()))

    def load_jar(self, session: str, site: str, record: bytes) -> None:
        """Replace a jar by a dumped one; an unreadable dump gives an empty jar."""
        self._keep_jar((session, site), _read_jar(record, site))

    def _keep_jar(self, key: tuple[str, str], jar: _Jar) -> None:
        _trim_jar(jar)
        if not jar:
            self._jars.pop(key, None)
            return
        self._jars[key] = jar
        self._jars.move_to_end(key)
        if len(self._jars) > self._max_jars:
            self._jars.popitem(last=False)


def record_with(
    record: bytes, site: str, changes: Iterable[Cookie], now: float
) -> tuple[bytes, float] | None:
    """Return a dumped jar with another's changes, and its useful life in seconds.

    Of two cookies with the same name the newer one counts. ``None``: nothing changes except a slightly
    later end.
    """
    before = _read_jar(record, site)
    after = {name: cookie for name, cookie in before.items() if cookie.expires_at > now}
    _apply_changes(after, changes, now)
    _trim_jar(after)
    if before.keys() == after.keys() and all(_is_like(before[name], after[name], now) for name in after):
        return None
    lasts_s = max([min(cookie.expires_at - now, MAX_AGE_S) for cookie in after.values()], default=0.0)
    return msgspec.msgpack.encode(list(after.values())), lasts_s


def _read_jar(record: bytes, site: str) -> _Jar:
    """Return the valid cookies of a record, or none if it cannot be read."""
    try:
        cookies = _as_jar(record)
    except ValueError:  # msgspec.DecodeError, or no UTF-8
        return {}
    return {_cookie_key(one): one for one in cookies if is_below(one.domain, site)}


def _apply_changes(jar: _Jar, changes: Iterable[Cookie], now: float) -> None:
    for cookie in changes:
        name = _cookie_key(cookie)
        known = jar.get(name)
        if known is not None and known.set_at > cookie.set_at:
            continue
        if cookie.expires_at > now:
            jar[name] = cookie
        else:
            jar.pop(name, None)


def _is_like(one: Cookie, other: Cookie, now: float) -> bool:
    """Return whether two cookies of one name are equal, up to an end that need not be saved."""
    if (one.value, one.is_host_only, one.is_secure) != (other.value, other.is_host_only, other.is_secure):
        return False
    if one.expires_at == other.expires_at:
        return True
    return abs(other.expires_at - one.expires_at) <= WORTH_SAVING * (other.expires_at - now)


def _limit_lines(lines: Iterable[str]) -> Iterator[str]:
    left = MAX_TAKEN_LENGTH
    for line in islice(lines, MAX_COOKIES):
        if len(line) > MAX_LINE_LENGTH:
            continue
        left -= len(line)
        if left < 0:
            return
        yield line


def _cookie_key(cookie: Cookie) -> tuple[str, str, str]:
    return cookie.name, cookie.domain, cookie.path


def _longest_path_first(cookie: Cookie) -> int:
    return -len(cookie.path)


def _is_for(cookie: Cookie, here: CookieOrigin, now: float) -> bool:
    is_at_host = here.host == cookie.domain if cookie.is_host_only else is_below(here.host, cookie.domain)
    return (
        is_at_host
        and cookie.expires_at > now
        and (here.is_secure or not cookie.is_secure)
        and _is_under(here.path, cookie.path)
    )


def _is_under(path: str, parent: str) -> bool:
    """Path-match (5.1.4): ``/a/b`` is under ``/a`` and ``/a/``, ``/ab`` is not."""
    if not path.startswith(parent):
        return False
    return len(path) == len(parent) or parent.endswith("/") or path[len(parent)] == "/"


def _put_cookie(jar: _Jar, cookie: Cookie, here: CookieOrigin, now: float) -> bool:
    """Add, replace (the place in the order stays) or delete. ``False``: it may not."""
    if not here.is_secure and any(_is_shadowing(cookie, other) for other in jar.values()):
        return False
    name = _cookie_key(cookie)
    if cookie.expires_at > now:
        jar[name] = cookie
    else:
        jar.pop(name, None)
    return True


def _is_shadowing(cookie: Cookie, other: Cookie) -> bool:
    """Return whether a cookie set in plain text would replace or hide a Secure one (RFC 6265bis, 5.7)."""
    return (
        other.is_secure
        and cookie.name == other.name
        and (is_below(cookie.domain, other.domain) or is_below(other.domain, cookie.domain))
        and _is_under(cookie.path, other.path)
    )


def _trim_jar(jar: _Jar) -> None:
    """Drop cookies over the limits: insecure ones first (RFC 6265bis, 5.7), then the oldest."""
    size = sum([len(cookie.name) + len(cookie.value) for cookie in jar.values()])
    if len(jar) <= MAX_COOKIES and size <= MAX_JAR_BYTES:
        return
    cookies = [cookie for cookie in jar.values() if not cookie.is_entry]
    entries = [cookie for cookie in jar.values() if cookie.is_entry]
    _drop(jar, sorted(cookies, key=_is_secure), MAX_COOKIES, MAX_JAR_BYTES)
    _drop(jar, sorted(entries, key=_length_of, reverse=True), MAX_KEPT, MAX_ENTRY_BYTES)


def _drop(jar: _Jar, ordered: list[Cookie], most: int, most_bytes: int) -> None:
    """Drop cookies over these limits from the front of ``ordered``."""
    count, size = len(ordered), sum(map(_length_of, ordered))
    for cookie in ordered:
        if count <= most and size <= most_bytes:
            return
        del jar[_cookie_key(cookie)]
        count -= 1
        size -= _length_of(cookie)


def _length_of(cookie: Cookie) -> int:
    return len(cookie.name) + len(cookie.value)


def _is_secure(cookie: Cookie) -> bool:
    return cookie.is_secure
