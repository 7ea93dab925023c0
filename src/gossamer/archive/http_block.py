"""HTTP messages as blocks of archive records, and back. Pure.

A header is kept as received, except that credentials are masked. Chunked framing is not kept:
Transfer-Encoding is renamed, and a Content-Length is added. A page that was not fetched by plain HTTP gets a
header made from its fields. Lines that do not describe the kept body are renamed to ``X-Archive-Orig-...``,
as other archives do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlsplit

from gossamer.archive.header_forms import has_known_form, learn_form
from gossamer.core.record import Record
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.fetch.http.decode import BodyDecoder
from gossamer.fetch.http.wire import decode_header_value
from gossamer.policy.request_secrets import is_header_secret

Headers = tuple[tuple[str, str], ...]

HIDDEN = "-"
"""Stands for the value of a credential."""
NO_SECRETS = ("www-authenticate", "proxy-authenticate", "access-control-", "public-key-pins", "surrogate-key")
"""Begin names of headers that sound like secrets and are none."""
PACKED_TYPES = ("image/", "video/", "audio/", "application/zip", "application/gzip", "font/woff")
"""Media types whose format is compressed, most of them at least."""
RENAMED = "x-archive-orig-"
SLICE_BYTES = 8 * 1024  # as fetching decodes: a damaged body then ends at the same place
NO_LIMIT = 2**62

_LINE_END = re.compile(r"\r?\n")
_HEADER_END = re.compile(rb"\r?\n\r?\n")
_FIELD = re.compile(rb"^([^\s:]+)(?=[ \t]*:)[^\r\n]*(?:\r?\n[ \t][^\r\n]*)*", re.MULTILINE)
_TRANSFER_LINE = re.compile(rb"^transfer-encoding(?=[ \t]*:)", re.IGNORECASE | re.MULTILINE)
_OLD_LENGTH_LINE = re.compile(rb"^content-length(?=[ \t]*:)", re.IGNORECASE | re.MULTILINE)


class HttpBlock(Record, frozen=True, kw_only=True, gc=False):
    """An answer as it is kept."""

    header: bytes  # with the empty line at its end
    body: bytes
    is_remade: bool = False  # lines were renamed, and the last one is our own Content-Length
    headers: str = ""  # the fields as JSON, where the header cannot say them


class BodyContent(NamedTuple):
    """The body's type, encoding and length according to the header."""

    media_type: str  # without its parameters
    is_compressed: bool  # as it was sent it is not worth compressing once more


class _Traits(NamedTuple):
    """Properties that follow from the names of the header's fields."""

    has_credentials: bool
    is_chunked: bool


def block_of(fetched: FetchResult, *, keeps_credentials: bool) -> HttpBlock:
    """Return an answer as it is kept."""
    headers, raw = fetched.headers, fetched.raw
    names, values = zip(*headers, strict=True) if headers else ((), ())
    has_credentials, is_chunked = _traits_of(names)
    hides = has_credentials and not keeps_credentials
    if raw is None or hides or is_chunked:
        return _read_block(fetched, hides=hides, is_chunked=is_chunked)
    if has_known_form(raw.response_header.decode("latin-1"), fetched.status, names, values):
        return HttpBlock(header=raw.response_header, body=raw.body)
    block = _read_block(fetched, hides=False, is_chunked=False)
    if not block.is_remade:
        learn_form(block.header.decode("latin-1"), fetched.status, names, values)
    return block


def _read_block(fetched: FetchResult, *, hides: bool, is_chunked: bool) -> HttpBlock:
    headers, raw = fetched.headers, fetched.raw
    if hides:
        headers = tuple([(name, HIDDEN if _is_secret_answer(name) else value) for name, value in headers])
    said = fetched.status, headers
    if raw is not None:
        header = _last_header(raw.response_header)
        if hides:
            header = _FIELD.sub(_hide_field, header)
        if is_chunked:
            header = _rename_lines(header, len(raw.body))
        if _says(header, said, is_remade=is_chunked):
            return HttpBlock(header=header, body=raw.body, is_remade=is_chunked)
    body = fetched.body if raw is None else raw.body
    stale = {"transfer-encoding", "content-length"} | ({"content-encoding"} if raw is None else set())
    header = _make_header(fetched.status, headers, stale, len(body))
    if _says(header, said, is_remade=True):
        return HttpBlock(header=header, body=body, is_remade=True)
    header = _make_header(fetched.status, (), stale, len(body))
    return HttpBlock(header=header, body=body, is_remade=True, headers=json.dumps(headers))


@lru_cache(1000)
def _traits_of(names: tuple[str, ...]) -> _Traits:
    """Return the traits of these names. They are cached: the answers of a site share few sets of names."""
    return _Traits(any(map(_is_secret_answer, names)), "transfer-encoding" in names)


def _says(header: bytes, said: tuple[int, Headers], *, is_remade: bool) -> bool:
    """Whether a header gives back the fetched status and fields."""
    try:
        return read_header(header, is_remade=is_remade) == said
    except ValueError:
        return False


@lru_cache(1000)
def _is_secret_answer(name: str) -> bool:
    name = name.lower()
    return is_header_secret(name) and not name.startswith(NO_SECRETS)


def _hide_field(found: re.Match[bytes]) -> bytes:
    hides = _is_secret_answer(found[1].decode("latin-1"))
    return found[1] + b": " + HIDDEN.encode() if hides else found[0]


def request_header_of(request: Request, fetched: FetchResult, *, keeps_credentials: bool) -> bytes:
    """Return the header of a request, as it was sent, or as far as it is known."""
    if fetched.raw is not None and fetched.raw.request_header:
        header = fetched.raw.request_header
        return header if keeps_credentials else _hide_request_secrets(header)
    url = urlsplit(request.url)
    lines = [f"{request.method} {url.path or '/'}{'?' if url.query else ''}{url.query} HTTP/1.1"]
    if not any(name.lower() == "host" for name in request.headers):
        lines.append(f"Host: {url.netloc.rpartition('@')[2]}")
    for name, value in request.headers.items():
        hides = not keeps_credentials and is_header_secret(name)
        lines.append(f"{name}: {HIDDEN if hides else ' '.join(value.split())}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "replace")


def _hide_request_secrets(header: bytes) -> bytes:
    first, end, fields = header.partition(b"\r\n")
    return first + end + _hide_secrets(fields)


@lru_cache(100)
def _hide_secrets(fields: bytes) -> bytes:
    """Return the same lines without secrets; most requests to a host have the same ones."""
    shown = []
    for line in fields.split(b"\r\n"):
        name, colon, _ = line.partition(b":")
        hides = colon and _is_secret(name)
        shown.append(name + b": " + HIDDEN.encode() if hides else line)
    return b"\r\n".join(shown)


@lru_cache(1000)
def _is_secret(name: bytes) -> bool:
    return is_header_secret(name.decode("latin-1").strip())


def read_header(header: bytes, *, is_remade: bool = False) -> tuple[int, Headers]:
    """Return the status and the fields, names in lower case. Raises ``ValueError`` for an invalid header."""
    text = header.decode("latin-1").rstrip("\r\n")
    first, *lines = _LINE_END.split(text) if text.count("\n") != text.count("\r\n") else text.split("\r\n")
    parts = first.split(None, 2)
    if len(parts) < 2 or not parts[0].startswith("HTTP/") or not (parts[1].isascii() and parts[1].isdigit()):
        raise ValueError(f"{first[:40]!r} is not the first line of an answer")
    split = [line.partition(":") for line in lines]
    fields = [(name.strip().lower(), value.strip(" \t")) for name, _, value in split]
    if not text.isascii():
        fields = [(name, decode_header_value(value.encode("latin-1"), name)) for name, value in fields]
    if is_remade:
        fields = [(name.removeprefix(RENAMED), value) for name, value in fields[:-1]]
    return int(parts[1]), tuple(fields)


def content_of(headers: Headers) -> BodyContent:
    """Return the header's facts about its body."""
    fields = dict(reversed(headers))  # the first of several counts, as in a page that is read
    return _content_of(fields.get("content-type", ""), fields.get("content-encoding", ""))


@lru_cache(1000)
def _content_of(kind: str, encoding: str) -> BodyContent:
    is_packed = kind.startswith(PACKED_TYPES) and not kind.startswith("image/svg")
    is_encoded = encoding.strip().lower() not in ("", "identity")
    media_type = kind.partition(";")[0].strip().lower()
    return BodyContent(media_type.encode("utf-8", "replace").decode(), is_packed or is_encoded)


def split_block(block: bytes) -> tuple[bytes, bytes]:
    """Return the header with its empty line, and the body. Raises ``ValueError`` if the header has no end."""
    found = _HEADER_END.search(block)
    if found is None:
        raise ValueError("a header without an end")
    return block[: found.end()], block[found.end() :]


def decode_body(headers: Headers, body: bytes, length: int) -> bytes:
    """Return a body without its Content-Encoding, of which ``length`` bytes were taken."""
    encoding = ", ".join(value for name, value in headers if name == "content-encoding")
    if not encoding or not body or not length:
        return body[:length]
    decoder = BodyDecoder(encoding, NO_LIMIT)
    for start in range(0, len(body), SLICE_BYTES):
        for _ in decoder.feed_in_steps(body[start : start + SLICE_BYTES]):
            if decoder.decoded_bytes >= length:
                break
        if decoder.decoded_bytes >= length:
            break
    return decoder.finish_body()[0][:length]


def _last_header(received: bytes) -> bytes:
    """Return the header without the informational ones before it, and with one empty line at its end."""
    if received.find(b"\r\n\r\n") == len(received) - 4:
        return received
    headers = [part for part in _HEADER_END.split(received) if part.strip()]
    return (headers[-1].lstrip(b"\r\n") if headers else b"") + b"\r\n\r\n"


def _rename_lines(header: bytes, length: int) -> bytes:
    header = _TRANSFER_LINE.sub(rb"X-Archive-Orig-\g<0>", header)
    header = _OLD_LENGTH_LINE.sub(rb"X-Archive-Orig-\g<0>", header)
    return header[:-2] + b"Content-Length: %d\r\n\r\n" % length


def _make_header(status: int, headers: Sequence[tuple[str, str]], stale: set[str], length: int) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    lines = [f"HTTP/1.1 {status} {phrase}"]
    lines += [f"{RENAMED if name in stale else ''}{name}: {value}" for name, value in headers]
    lines.append(f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "replace")
