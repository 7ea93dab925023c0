"""The key of a URL in an index: its SURT, as pywb makes it, so that both can read an index. Pure.

The labels of the host are reversed. User, default port and ``www`` are left out, and so are the session ids
of four kinds of server. Escapes are resolved repeatedly, and only necessary ones are written again.
Parameters are sorted, and all is lower case. Beyond RFC 3986, these are rules of the Wayback Machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from gossamer.policy.urls import parse_origin

_DEFAULT_PORTS = {"http": "80", "https": "443"}
_REST = re.compile(r"[/?]")
_PLAIN_PATH = re.compile(r"(?:/[a-z0-9_~,;=@:!$&'*+-][a-z0-9_~,;=@:!$&'*+.-]*+)*+/?")
"""A path that is its own key, but for its capitals and a slash at its end."""
_WWW = re.compile(r"\Awww\d*\.")
_SLASHES = re.compile(rb"/{2,}")
_ESCAPED = re.compile(rb"[\x00-\x20#%\x7f-\xff]")
_IN_PATHS = tuple(
    re.compile(rb"(.*/)" + session + rb"/([^?]+\.aspx.*)", re.IGNORECASE | re.DOTALL)
    for session in (rb"\((?:[a-z]\([0-9a-z]{24}\))+\)", rb"\([0-9a-z]{24}\)")
)
_IN_QUERIES = tuple(
    re.compile(rb"(.*)" + session + rb"(?:&(.*))?", re.DOTALL)
    for session in (
        rb"jsessionid=[0-9a-z$]{32}",
        rb"phpsessid=[0-9a-z]{32}",
        rb"sid=[0-9a-z]{32}",
        rb"aspsessionid[a-z]{8}=[a-z]{24}",
        rb"cfid=[^&]+&cftoken=[^&]+",
    )
)


def key_of(url: str) -> str:
    """Return the key under which a URL is found."""
    rest = _REST.search(url, url.find("//") + 2)
    cut = len(url) if rest is None else rest.start()
    path, _, query = url[cut:].partition("?")
    lowered = path.lower()
    if _PLAIN_PATH.fullmatch(lowered):
        lowered = lowered.rstrip("/") or "/"
    else:
        lowered = _key_of_path(path.encode("utf-8", "surrogatepass"))
    key = f"{_key_of_host(url[:cut])}){lowered}"
    found = _key_of_query(query.encode("utf-8", "surrogatepass")) if query else ""
    return f"{key}?{found}" if found else key


@lru_cache(1000)
def _key_of_host(head: str) -> str:
    origin = parse_origin(head)
    if origin.hostname.startswith("["):
        turned = origin.hostname[1:-1]
    else:
        turned = ",".join(reversed(_WWW.sub("", origin.hostname.strip("."), count=1).split(".")))
    is_usual = origin.port in ("", "0", _DEFAULT_PORTS.get(origin.scheme))
    return turned if is_usual else f"{turned}:{origin.port}"


def _key_of_path(path: bytes) -> str:
    path = _unescape(path)
    if b"/." in path:
        path = b"/" + b"/".join(_resolve_dots(path.split(b"/")[1:]))
    path = _strip_sessions(_escape(_SLASHES.sub(b"/", path)), _IN_PATHS)
    return path.lower().rstrip(b"/").decode() or "/"


def _resolve_dots(segments: Iterable[bytes]) -> list[bytes]:
    kept: list[bytes] = []
    for segment in segments:
        if segment == b".." and kept:
            kept.pop()
        elif segment != b".":
            kept.append(segment)
    return kept


def _key_of_query(query: bytes) -> str:
    query = _escape(_unescape(query)).lower()
    if query.find(b"id") >= 0:  # as in the name of each session id
        query = _strip_sessions(query, _IN_QUERIES)
    parameters = sorted(query.split(b"&"), key=lambda pair: pair.split(b"=", 1))
    return b"&".join(parameters).decode()


def _strip_sessions(text: bytes, patterns: Iterable[re.Pattern[bytes]]) -> bytes:
    for pattern in patterns:
        if match := pattern.fullmatch(text):
            text = match[1] + (match[2] or b"")
    return text


def _unescape(text: bytes) -> bytes:
    while b"%" in text and (resolved := unquote_to_bytes(text)) != text:
        text = resolved
    return text


def _escape(text: bytes) -> bytes:
    return _ESCAPED.sub(lambda match: b"%%%02X" % match[0][0], text)
