"""Both directions of the wire: a request's header, the parser's set-up, an answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from httptools import HttpResponseParser

from gossamer.core.errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_INFORMATIONAL = 16
"""Limit of 1xx responses before the final one; more than two serve no purpose."""

FIELD_BYTES = len(b": \r\n")
"""Bytes around the name and value of a header field."""

_HEADER_END = re.compile(rb"\n\r?\n")

Headers = list[tuple[str, str]]


class WireResponse(NamedTuple):
    """A response as it came over the wire: its body still encoded."""

    status: int
    headers: Headers  # names in lower case
    body: bytes
    is_cut: bool  # a redirect whose body was not read to its end
    latency_s: float  # from the start of the exchange to the end of the header
    shortfall: BodyShortfall | None = None
    raw_header: bytes = b""  # as received, where it is kept


class BodyShortfall(NamedTuple):
    """An encoded body shorter than its Content-Length: whole all the same if that is its decoded length."""

    announced: int
    error: FetchError  # the error in all other cases


class AmbiguousHeaderError(Exception):
    """The parser takes this header, and would end its body elsewhere than others do."""


class ConnectionClosedError(FetchError):
    """The connection ended before a byte of the answer: on a used connection no fault of the host's."""


def new_parser(listener: object) -> HttpResponseParser:
    """Return a strict parser; a refused header is repaired and parsed again (``repair``)."""
    parser = HttpResponseParser(listener)
    parser.set_dangerous_leniencies(  # neither changes where a body ends
        lenient_optional_cr_before_lf=True,
        lenient_spaces_after_chunk_size=True,
    )
    return parser


def keeps_alive(version: str, headers: Headers) -> bool:
    """Return whether the server keeps the connection open (RFC 9112, 9.3)."""
    words = {
        word.strip().lower() for key, value in headers if key == "connection" for word in value.split(",")
    }
    return "close" not in words and (version == "1.1" or "keep-alive" in words)


def join_header(received: Sequence[bytes], informational: int) -> bytes:
    """Return the header in the received bytes, after ``informational`` responses."""
    data = b"".join(received)
    found = _HEADER_END.search(data)
    while informational and found:
        found = _HEADER_END.search(data, found.end())
        informational -= 1
    return data[: found.end()] if found else data


_COMMON_NAMES = """accept-ranges age alt-svc cache-control cf-ray connection content-disposition
content-encoding content-language content-length content-security-policy content-type date etag expires
keep-alive last-modified link location p3p permissions-policy pragma referrer-policy server server-timing
set-cookie strict-transport-security transfer-encoding vary via x-cache x-content-type-options
x-frame-options x-powered-by x-request-id x-xss-protection"""
KNOWN_NAMES = {
    written.encode(): name for name in _COMMON_NAMES.split() for written in (name, name.title())
} | {b"ETag": "etag", b"X-XSS-Protection": "x-xss-protection", b"CF-RAY": "cf-ray"}
"""The names of fields that most answers have, as servers write them; it is quicker to look than to decode."""


def decode_header_value(value: bytes, name: str = "") -> str:
    """UTF-8 where it is, else Latin-1 (RFC 9110, 5.5).

    A ``Location`` that is not UTF-8 has its bytes escaped, as in browsers: its server can read them.
    """
    try:
        return value.decode()
    except UnicodeDecodeError:
        text = value.decode("latin-1")
    if name == "location":
        return "".join(char if char.isascii() else f"%{ord(char):02X}" for char in text)
    return text


def request_head(method: str, path: str, fields: Sequence[tuple[str, str]]) -> bytes:
    """Return the header of a request. Raises ``ValueError`` for a value that would break a line."""
    text = f"{method} {path} HTTP/1.1\r\n" + "".join([f"{name}: {value}\r\n" for name, value in fields])
    if text.count("\n") != len(fields) + 1 or text.count("\r") != len(fields) + 1 or "\0" in text:
        raise ValueError("a line break within a header")
    return (text + "\r\n").encode("latin-1")
