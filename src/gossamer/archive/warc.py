"""Writes and reads records of WARC 1.1 (ISO 28500:2017). Pure.

The project has its own writer: records are simple, and a general library costs more time than an archive may
take from a crawl. The project's own fields begin with ``Gossamer-``; other readers ignore them.
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
    BodyContent,
    HttpBlock,
    block_of,
    content_of,
    decode_body,
    read_header,
    request_header_of,
    split_block,
)
from gossamer.core.archive import ARCHIVE_RUNG, ArchiveEntry, ArchiveLocation
from gossamer.core.record import Record
from gossamer.core.requests import Request
from gossamer.core.results import TRUNCATED, FetchResult
from gossamer.policy.request_variants import variant_of

SAME_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_GZIP = zlib.MAX_WBITS | 16
_END = b"\r\n\r\n"
_UNSAFE = re.compile(r"[^\x21-\x7e]")
_DIGITS = bytes.maketrans(bytes(range(32)), b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")  # RFC 4648, 6
_SECOND = 1_000_000  # in microseconds


class ResponseParts(Record, frozen=True, kw_only=True, gc=False):
    """An answer on its way into the archive."""

    request: Request
    fetched: FetchResult
    at: float  # when the fetch began, in whole microseconds
    block: HttpBlock
    digest: str  # of the body
    content: BodyContent


class WarcRecord(NamedTuple):
    """A record as it was read."""

    fields: Mapping[str, str]  # names in lower case
    block: bytes


def _lower_half(bits: int, lane: int) -> int:
    """Return a mask of the lowest bits of each lane, of 256 bits together."""
    return sum(((1 << bits) - 1) << start for start in range(0, 256, lane))


_LOWER_80, _UPPER_80 = _lower_half(80, 256), _lower_half(80, 256) << 80
_LOWER_40, _UPPER_40 = _lower_half(40, 128), _lower_half(40, 128) << 40
_LOWER_20, _UPPER_20 = _lower_half(20, 64), _lower_half(20, 64) << 20
_LOWER_10, _UPPER_10 = _lower_half(10, 32), _lower_half(10, 32) << 10
_LOWER_5, _UPPER_5 = _lower_half(5, 16), _lower_half(5, 16) << 5


def digest_of(*parts: bytes) -> str:
    """``sha1:BASE32``, as archives write it; in a third of the time of the library's encoder."""
    digest = sha1(parts[0], usedforsecurity=False)
    for part in parts[1:]:
        digest.update(part)
    n = int.from_bytes(digest.digest())
    # 160 bits become 32 bytes of five bits each, without a loop over them: of each lane, the upper
    # half goes to the upper half of the lane; of 256 bits first, then of 128 and so on.
    n = n & _LOWER_80 | (n & _UPPER_80) << 48
    n = n & _LOWER_40 | (n & _UPPER_40) << 24
    n = n & _LOWER_20 | (n & _UPPER_20) << 12
    n = n & _LOWER_10 | (n & _UPPER_10) << 6
    n = n & _LOWER_5 | (n & _UPPER_5) << 3
    return "sha1:" + n.to_bytes(32).translate(_DIGITS).decode()


def request_digest_of(body: bytes) -> str:
    """Return the digest that replaces a request's body, which is not kept; empty without a body."""
    return digest_of(body) if body else ""


def parts_of(request: Request, fetched: FetchResult, *, keeps_credentials: bool) -> ResponseParts:
    """Return an answer on its way into the archive."""
    block = block_of(fetched, keeps_credentials=keeps_credentials)
    return ResponseParts(
        request=request,
        fetched=fetched,
        at=round(fetched.started_at, 6),
        block=block,
        digest=digest_of(block.body),
        content=content_of(fetched.headers),
    )


class RecordCounter:
    """Numbers records, after a random prefix for each writer."""

    def __init__(self) -> None:
        digits = os.urandom(10).hex()
        start = f"<urn:uuid:{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-"
        self._ids = map((start + "%012x>").__mod__, count())

    def make_id(self) -> str:
        """Another one."""
        return next(self._ids)


def info_record(name: str, software: str, job: str, record_id: str) -> bytes:
    """Return the first record of a file: who wrote it."""
    said = f"software: {software}\r\nformat: WARC File Format 1.1\r\nisPartOf: {job}\r\n".encode()
    date = _date_of(datetime.now(UTC).timestamp())
    head = (
        f"WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: {record_id}\r\nWARC-Date: {date}\r\n"
        f"WARC-Filename: {name.rpartition('/')[2]}\r\nContent-Type: application/warc-fields\r\n"
        f"WARC-Block-Digest: {digest_of(said)}\r\n"
        f"Content-Length: {len(said)}\r\n\r\n"
    )
    return b"".join((head.encode(), said, _END))


def exchange_records(
    parts: ResponseParts, former: ArchiveEntry | None, ids: RecordCounter, *, keeps_credentials: bool
) -> tuple[bytes, bytes]:
    """Return the records of a request and its answer; the body is left out if an earlier record has it."""
    request, fetched, block = parts.request, parts.fetched, parts.block
    response_id = ids.make_id()
    address = f"WARC-IP-Address: {fetched.address}\r\n" if fetched.address else ""
    url = _UNSAFE.sub(_quote_sign, fetched.url)
    about = f"WARC-Date: {_date_of(parts.at)}\r\nWARC-Target-URI: {url}\r\n{address}"
    asked = request_header_of(request, fetched, keeps_credentials=keeps_credentials)
    cut = "WARC-Truncated: unspecified\r\n" if request.body else ""  # the body of a log-in has a password
    sent = (
        f"WARC/1.1\r\nWARC-Type: request\r\nWARC-Record-ID: {ids.make_id()}\r\n{about}"
        f"WARC-Concurrent-To: {response_id}\r\nContent-Type: application/http;msgtype=request\r\n{cut}"
        f"WARC-Block-Digest: {digest_of(asked)}\r\nContent-Length: {len(asked)}\r\n\r\n"
    )
    if former is None:
        kind, body = "response", block.body
        more = "WARC-Truncated: length\r\n" if TRUNCATED in fetched.flags else ""
    else:
        kind, body = "revisit", b""
        more = (
            f"WARC-Profile: {SAME_PAYLOAD}\r\nWARC-Refers-To-Target-URI: {former.url}\r\n"
            f"WARC-Refers-To-Date: {_date_of(former.at)}\r\nGossamer-Refers-To: {former.location.text}\r\n"
        )
    said = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {response_id}\r\n{about}"
        f"Content-Type: application/http;msgtype=response\r\nWARC-Payload-Digest: {parts.digest}\r\n"
        f"WARC-Block-Digest: {digest_of(block.header, body)}\r\n"
        f"{_own_fields(parts)}{more}Content-Length: {len(block.header) + len(body)}\r\n\r\n"
    )
    return (
        b"".join((sent.encode(), asked, _END)),
        b"".join((said.encode("utf-8", "replace"), block.header, body, _END)),
    )


def _quote_sign(found: re.Match[str]) -> str:
    return quote(found[0])


def _own_fields(parts: ResponseParts) -> str:
    request, fetched, block = parts.request, parts.fetched, parts.block
    own = f"Gossamer-Rung: {fetched.rung}\r\n"
    if block.body is not fetched.body:  # as sent; decoding used only this part
        own += f"Gossamer-Body-Length: {len(fetched.body)}\r\n"
    if request.method != "GET":
        own += f"Gossamer-Method: {request.method}\r\n"
    if request.body:
        own += f"Gossamer-Request-Digest: {request_digest_of(request.body)}\r\n"
    if variant := variant_of(request):
        own += f"Gossamer-Variant: {variant}\r\n"
    if fetched.flags:
        own += f"Gossamer-Flags: {' '.join(fetched.flags)}\r\n"
    if block.is_remade:
        own += "Gossamer-Header: remade\r\n"
    if block.headers:
        own += f"Gossamer-Headers: {block.headers}\r\n"
    return own


def read_member(data: bytes) -> WarcRecord:
    """Return the record of a gzip member. Raises ``ValueError`` for one that is broken."""
    expand = zlib.decompressobj(_GZIP)
    try:
        whole = expand.decompress(data)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if not expand.eof:
        raise ValueError("it ends in the middle")
    return read_record(whole)


def read_record(whole: bytes) -> WarcRecord:
    """Parse a record. Raises ``ValueError`` for invalid bytes."""
    head, end, rest = whole.partition(_END)
    first, *lines = head.split(b"\r\n")
    if not end or not first.startswith(b"WARC/1."):
        raise ValueError("it is not a record of WARC 1.x")
    pairs = (line.decode("utf-8", "replace").partition(":") for line in lines)
    fields = {name.strip().lower(): value.strip() for name, _, value in pairs}
    length = fields.get("content-length", "")
    if not length.isdigit() or len(rest) != int(length) + len(_END):
        raise ValueError("its length is wrong")
    return WarcRecord(fields, rest[: int(length)])


def entry_of(record: WarcRecord, location: ArchiveLocation) -> ArchiveEntry | None:
    """Return the index entry of a record; ``None`` unless it is an answer. Raises ``ValueError``."""
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
        content_type=content_of(headers).media_type,
        digest=fields["warc-payload-digest"],
        location=location,
        is_revisit=fields["warc-type"] == "revisit",
        rung=fields["gossamer-rung"],
        flags=tuple(fields.get("gossamer-flags", "").split()),
        request_digest=fields.get("gossamer-request-digest", ""),
        variant=fields.get("gossamer-variant", ""),
    )


def new_entry(parts: ResponseParts, location: ArchiveLocation, *, is_revisit: bool) -> ArchiveEntry:
    """Return the same of an answer that is being written."""
    request, fetched = parts.request, parts.fetched
    return ArchiveEntry(
        url=fetched.url,
        method=request.method,
        at=parts.at,
        status=fetched.status,
        content_type=parts.content.media_type,
        digest=parts.digest,
        location=location,
        is_revisit=is_revisit,
        rung=fetched.rung,
        flags=fetched.flags,
        request_digest=request_digest_of(request.body),
        variant=variant_of(request),
    )


def fetched_of(entry: ArchiveEntry, record: WarcRecord, body: bytes) -> FetchResult:
    """Return the answer as it was fetched, from its record and its body as it was sent."""
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
    """Return a time in whole microseconds, as records write it."""
    second, rest = divmod(int(at * _SECOND + 0.5), _SECOND)
    return f"{_describe_second(second)}.{rest:06}Z"


@lru_cache(60)
def _describe_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat()[:19]
