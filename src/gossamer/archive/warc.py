"""Records of WARC 1.1 (ISO 28500:2017), and what they say, read again: pure.

Written by us, since what a record says is little, and a library's general writer costs more than an archive
may cost a crawl. Fields of our own begin with ``Gossamer-``; other readers pass over them.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha1
from itertools import count
from typing import NamedTuple
from urllib.parse import quote

from gossamer.archive.http_block import (
    HttpBlock,
    block_of,
    decode_body,
    read_header,
    request_header_of,
    split_block,
)
from gossamer.core.archive import ARCHIVE_RUNG, ArchiveEntry, ArchiveLocation
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult

SAME_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_GZIP = zlib.MAX_WBITS | 16
_END = b"\r\n\r\n"
_UNSAFE = re.compile(r"[^\x21-\x7e]")
_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"  # RFC 4648, 6
_DIGIT_PAIRS = [first + second for first in _DIGITS for second in _DIGITS]
_PAIR_SHIFTS = range(150, -1, -10)
_SECOND = 1_000_000  # in microseconds


class FormerRecord(NamedTuple):
    """Where a body was written before."""

    place: str
    url: str
    at: float


class ResponseParts(NamedTuple):
    """An answer on its way into the archive."""

    request: Request
    fetched: FetchResult
    fingerprint: int
    at: float  # when the fetch began, in whole microseconds
    block: HttpBlock
    digest: str  # of the body


class WarcRecord(NamedTuple):
    """A record as it was read."""

    fields: Mapping[str, str]  # names in lower case
    block: bytes


def digest_of(data: bytes) -> str:
    """``sha1:BASE32``, as archives write it; in half the time of the library's encoder."""
    number = int.from_bytes(sha1(data, usedforsecurity=False).digest())
    return "sha1:" + "".join([_DIGIT_PAIRS[number >> shift & 1023] for shift in _PAIR_SHIFTS])


def request_digest_of(body: bytes) -> str:
    """What stands for the body of a request, which is not kept; empty for none."""
    return digest_of(body) if body else ""


def parts_of(
    request: Request, fetched: FetchResult, fingerprint: int, *, keeps_credentials: bool
) -> ResponseParts:
    """An answer on its way into the archive."""
    block = block_of(fetched, keeps_credentials=keeps_credentials)
    at = round(fetched.started_at, 6)
    return ResponseParts(request, fetched, fingerprint, at, block, digest_of(block.body))


class RecordCounter:
    """Numbers records, behind what is random for each writer."""

    def __init__(self) -> None:
        digits = os.urandom(10).hex()
        self._start = f"<urn:uuid:{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-"
        self._numbers = count()

    def make_id(self) -> str:
        """Another one."""
        return f"{self._start}{next(self._numbers):012x}>"


def info_record(name: str, software: str, job: str, record_id: str) -> bytes:
    """The first record of a file: who wrote it."""
    said = f"software: {software}\r\nformat: WARC File Format 1.1\r\nisPartOf: {job}\r\n".encode()
    date = _date_of(datetime.now(UTC).timestamp())
    fields = (
        f"WARC-Date: {date}\r\nWARC-Filename: {name.rpartition('/')[2]}\r\n"
        "Content-Type: application/warc-fields\r\n"
    )
    return _record("warcinfo", record_id, fields, said)


def exchange_records(
    parts: ResponseParts, former: FormerRecord | None, ids: RecordCounter, *, keeps_credentials: bool
) -> tuple[bytes, bytes]:
    """The records of a request and of its answer; of a body that was written before only the header."""
    request, fetched, block = parts.request, parts.fetched, parts.block
    response_id = ids.make_id()
    about = f"WARC-Date: {_date_of(parts.at)}\r\nWARC-Target-URI: {_UNSAFE.sub(_quote_sign, fetched.url)}\r\n"
    if fetched.address:
        about += f"WARC-IP-Address: {fetched.address}\r\n"
    asked = request_header_of(request, fetched, keeps_credentials=keeps_credentials)
    more = f"{about}WARC-Concurrent-To: {response_id}\r\nContent-Type: application/http;msgtype=request\r\n"
    if request.body:
        more += "WARC-Truncated: unspecified\r\n"  # the body of a log-in has a password
    sent = _record("request", ids.make_id(), more, asked)
    about += (
        f"Content-Type: application/http;msgtype=response\r\nWARC-Payload-Digest: {parts.digest}\r\n"
        f"{_own_fields(parts)}"
    )
    if former is None:
        if "truncated" in fetched.flags:
            about += "WARC-Truncated: length\r\n"
        return sent, _record("response", response_id, about, block.header, block.body)
    about += (
        f"WARC-Profile: {SAME_PAYLOAD}\r\nWARC-Refers-To-Target-URI: {former.url}\r\n"
        f"WARC-Refers-To-Date: {_date_of(former.at)}\r\nGossamer-Refers-To: {former.place}\r\n"
    )
    return sent, _record("revisit", response_id, about, block.header)


def _quote_sign(found: re.Match[str]) -> str:
    return quote(found[0])


def _own_fields(parts: ResponseParts) -> str:
    request, fetched, block = parts.request, parts.fetched, parts.block
    own = f"Gossamer-Rung: {fetched.rung}\r\nGossamer-Fingerprint: {parts.fingerprint}\r\n"
    if block.body is not fetched.body:  # as it was sent; so much of it was taken when it was decoded
        own += f"Gossamer-Body-Length: {len(fetched.body)}\r\n"
    if request.method != "GET":
        own += f"Gossamer-Method: {request.method}\r\n"
    if request.body:
        own += f"Gossamer-Request-Digest: {request_digest_of(request.body)}\r\n"
    if fetched.flags:
        own += f"Gossamer-Flags: {' '.join(fetched.flags)}\r\n"
    if block.is_remade:
        own += "Gossamer-Header: remade\r\n"
    if block.headers:
        own += f"Gossamer-Headers: {block.headers}\r\n"
    return own


def _record(kind: str, record_id: str, fields: str, block: bytes, rest: bytes = b"") -> bytes:
    head = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {record_id}\r\n{fields}"
        f"Content-Length: {len(block) + len(rest)}\r\n\r\n"
    )
    return b"".join((head.encode("utf-8", "replace"), block, rest, _END))


def read_member(data: bytes) -> WarcRecord:
    """The record of a gzip member. Raises ``ValueError`` for one that is broken."""
    expand = zlib.decompressobj(_GZIP)
    try:
        whole = expand.decompress(data)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if not expand.eof:
        raise ValueError("it ends in the middle")
    return read_record(whole)


def read_record(whole: bytes) -> WarcRecord:
    """The record of these bytes. Raises ``ValueError`` for what is none."""
    head, end, rest = whole.partition(_END)
    first, *lines = head.split(b"\r\n")
    if not end or not first.startswith(b"WARC/1."):
        raise ValueError("it is no record of WARC 1.x")
    pairs = (line.decode("utf-8", "replace").partition(":") for line in lines)
    fields = {name.strip().lower(): value.strip() for name, _, value in pairs}
    length = fields.get("content-length", "")
    if not length.isdigit() or len(rest) != int(length) + len(_END):
        raise ValueError("its length is wrong")
    return WarcRecord(fields, rest[: int(length)])


def entry_of(record: WarcRecord, location: ArchiveLocation) -> ArchiveEntry | None:
    """What an index says of a record; ``None`` for one that is no answer. Raises ``ValueError``."""
    fields = record.fields
    if fields.get("warc-type") not in ("response", "revisit") or "gossamer-rung" not in fields:
        return None
    header, _ = split_block(record.block)
    status, headers = read_header(header, is_remade="gossamer-header" in fields)
    return ArchiveEntry(
        url=fields["warc-target-uri"],
        method=fields.get("gossamer-method", "GET"),
        at=datetime.fromisoformat(fields["warc-date"]).timestamp(),
        status=status,
        content_type=media_type_of(headers),
        digest=fields["warc-payload-digest"],
        location=location,
        is_revisit=fields["warc-type"] == "revisit",
        rung=fields["gossamer-rung"],
        fingerprint=int(fields["gossamer-fingerprint"]),
        flags=tuple(fields.get("gossamer-flags", "").split()),
    )


def new_entry(parts: ResponseParts, location: ArchiveLocation, *, is_revisit: bool) -> ArchiveEntry:
    """The same of an answer that is being written."""
    request, fetched = parts.request, parts.fetched
    return ArchiveEntry(
        url=fetched.url,
        method=request.method,
        at=parts.at,
        status=fetched.status,
        content_type=media_type_of(fetched.headers),
        digest=parts.digest,
        location=location,
        is_revisit=is_revisit,
        rung=fetched.rung,
        fingerprint=parts.fingerprint,
        flags=fetched.flags,
    )


def media_type_of(headers: tuple[tuple[str, str], ...]) -> str:
    """The media type of an answer, without its parameters."""
    for name, value in headers:
        if name == "content-type":
            return value.partition(";")[0].strip().lower()
    return ""


def fetched_of(entry: ArchiveEntry, record: WarcRecord, body: bytes) -> FetchResult:
    """The answer as it was fetched, from its record and its body as it was sent."""
    fields = record.fields
    header, _ = split_block(record.block)
    status, headers = read_header(header, is_remade="gossamer-header" in fields)
    if "gossamer-headers" in fields:
        headers = tuple((name, value) for name, value in json.loads(fields["gossamer-headers"]))
    taken = fields.get("gossamer-body-length")
    return FetchResult(
        url=entry.url,
        status=status,
        headers=headers,
        body=body if taken is None else decode_body(headers, body, int(taken)),
        started_at=entry.at,
        latency_s=0.0,
        elapsed_s=0.0,
        rung=ARCHIVE_RUNG,
        wire_bytes=len(body),
        flags=entry.flags,
        address=fields.get("warc-ip-address", ""),
        archived=entry.location.text,
    )


def _date_of(at: float) -> str:
    """A time in whole microseconds, as records write it."""
    second, rest = divmod(int(at * _SECOND + 0.5), _SECOND)
    return f"{_describe_second(second)}.{rest:06}Z"


@lru_cache(60)
def _describe_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat()[:19]
