"""Server names that are safe to show.

Guarantee: no user, password or parameter of a URL gets through, however mangled the URL is: a password with
``/``, ``?`` or ``#`` in it makes everything after it look like a path.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,31}://")
_NO_URL = re.compile(r"[\w./:+-]+")  # a slip (redis:/host, my.db): nothing in it can be a password
_USERINFO = re.compile(r"(?<=://)[^/@\s]*@")
_HIDDEN = "…"
_LONGEST = 300


def shown_server(url: str) -> str:
    """Return scheme, host, port and path of a server's URL; ``scheme://…`` if they are unclear."""
    scheme = _SCHEME.match(url)
    if scheme is None:
        return url[:_LONGEST] if _NO_URL.fullmatch(url) else _HIDDEN
    try:
        parts = urlsplit(url)
        hosts = parts.netloc.rpartition("@")[2]
        _ = [urlsplit(f"//{host}").port for host in hosts.split(",")]  # of several servers, each has its own
    except ValueError:
        return scheme[0] + _HIDDEN
    if "@" in url[scheme.end() + len(parts.netloc) :]:
        return scheme[0] + _HIDDEN
    shown = f"{scheme[0]}{hosts}{parts.path}"
    return "".join(c if c.isprintable() else "?" for c in shown[:_LONGEST])


def has_userinfo(text: str) -> bool:
    """Whether a URL in ``text`` has a user name or a password."""
    return hide_userinfo(text) != text


def hide_userinfo(text: str) -> str:
    """``text`` without the user names and passwords of the URLs in it."""
    return _USERINFO.sub("***@", text) if "://" in text else text
