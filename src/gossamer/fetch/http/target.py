"""The meaning of a URL on the wire: the address to connect to, and the request line.

A URL is sent byte for byte if nothing in it can break a request line, otherwise in its canonical form
(WHATWG). Authorities repeat, so each is parsed once.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from gossamer.core.errors import Fault, FetchError
from gossamer.policy.credentials import basic_authorization
from gossamer.policy.url_parser import normalise_url

_SPLIT = re.compile(r"(https?)://([^/?#]*)([^#]*)", re.ASCII)
_DIGITS = re.compile(r"0*\d{1,5}", re.ASCII)
_PORTS = {"http": 80, "https": 443}


class Origin(NamedTuple):
    """A place to connect to, and how to name it there."""

    is_tls: bool
    host: str  # without brackets; "" never
    port: int
    host_header: str
    credentials: str  # the value of Authorization for the user:password of the URL, "" without


class RequestTarget(NamedTuple):
    """One request's address."""

    origin: Origin
    path: str  # with the query, at least "/": for the request line


def parse_target(url: str) -> RequestTarget:
    """Parse a URL. Raises :class:`FetchError` (``BAD_URL``) for anything but a usable http(s) URL."""
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        url = _to_canonical(url)
    match = _SPLIT.match(url)
    # An encoded host is another one to others.
    if "%" in url and match is not None and "%" in match[2].rpartition("@")[2]:
        match = _SPLIT.match(_to_canonical(url))
    if match is None:
        scheme = url.partition(":")[0][:20]
        raise FetchError(Fault.BAD_URL, f"unsupported URL scheme {scheme!r} (only http and https)")
    scheme, authority, path = match.groups()
    origin = _parse_origin(scheme, authority)
    if origin is None:
        raise FetchError(Fault.BAD_URL, "a URL without a usable host or port")
    return RequestTarget(origin, path if path[:1] == "/" else "/" + path)


def _to_canonical(url: str) -> str:
    normal = normalise_url(url)
    if normal is None:
        raise FetchError(Fault.BAD_URL, "not a URL by the WHATWG standard")
    return normal


@lru_cache(maxsize=4096)
def _parse_origin(scheme: str, authority: str) -> Origin | None:
    user_info, _, place = authority.rpartition("@")
    host, colon, port_text = place.rpartition(":")
    if not colon or place.endswith("]"):
        host, port_text = place, ""
    if port_text and not (_DIGITS.fullmatch(port_text) and int(port_text) < 65536):
        return None
    port = int(port_text) if port_text else _PORTS[scheme]
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not bare or "[" in bare or "]" in bare or (":" in bare and bare == host):
        return None
    host_header = host if port == _PORTS[scheme] else f"{host}:{port}"
    return Origin(scheme == "https", bare, port, host_header, basic_authorization(user_info))
