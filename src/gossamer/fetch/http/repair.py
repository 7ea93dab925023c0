"""Repair headers that the strict parser refuses, once and as browsers do.

The parser stays strict, so the usual case is fast and nothing is guessed. A refused raw header is read line
by line: meaningless lines are dropped, and the fields that state the end of the body (RFC 9112, 6.3) are
reduced to one statement or refused. A connection with a repaired header is never reused, so a wrong guess
cannot reach the next request.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gossamer.core.lazy import lazy_pattern
from gossamer.fetch.http.limits import MAX_HEAD_BYTES
from gossamer.fetch.http.wire import MAX_INFORMATIONAL

MAX_LINES = 200_000
"""Between the chunks of a body behind such a header: mostly two for each chunk."""

_MAX_SIZE_LINE = 4096

_END = lazy_pattern(rb"\r?\n\r?\n")
_BEGINNING = lazy_pattern(rb"[\r\n]{0,64}+(?:H(?:T(?:T(?:P|\Z)|\Z)|\Z)|I(?:C(?:Y|\Z)|\Z)|\Z)", re.IGNORECASE)
_STATUS = lazy_pattern(rb"(?:HTTP/\d(?:\.\d)?|HTTP|ICY)[ \t]*([1-9]\d\d)(?!\d)[ \t]*(.*)", re.IGNORECASE)
_NAME = lazy_pattern(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROLS = lazy_pattern(rb"[\x00-\x08\x0a-\x1f\x7f]")
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})
_PACKED = frozenset({b"gzip", b"x-gzip", b"deflate", b"br", b"zstd"})


class RepairError(Exception):
    """The header means nothing, or two things; the message says which."""


class BoundError(RepairError):
    """A fixed bound that another try would pass as well."""


class RepairResult(NamedTuple):
    """A repaired header, and the bytes after it."""

    head: bytes
    rest: bytes
    is_chunked: bool  # the body comes in chunks; the header does not say so any more


def repair_header(raw: bytes) -> RepairResult | None:
    """Return the repaired header at the beginning of ``raw``; ``None`` if it is incomplete.

    Earlier informational responses are dropped. Raises :class:`RepairError`.
    """
    for _ in range(MAX_INFORMATIONAL + 1):
        if not _BEGINNING.match(raw):
            raise RepairError("not HTTP")
        raw = raw.lstrip(b"\r\n")
        end = _END.search(raw, 0, MAX_HEAD_BYTES)
        if end is None:
            if len(raw) > MAX_HEAD_BYTES:
                raise BoundError(f"a broken header of more than {MAX_HEAD_BYTES} bytes")
            return None
        first, *lines = raw[: end.start()].split(b"\n")
        status = _STATUS.fullmatch(first.rstrip(b"\r"))
        if status is None:
            raise RepairError("not a status line")
        raw = raw[end.end() :]
        if status[1][:1] != b"1" or status[1] == b"101":
            break
    else:
        raise BoundError(f"more than {MAX_INFORMATIONAL} informational responses")
    fields, is_chunked = _fix_framing(_read_fields(lines))
    reason = _CONTROLS.sub(b" ", status[2])
    head = b"HTTP/1.1 %s %s\r\n%s\r\n" % (
        status[1],
        reason,
        b"".join(b"%s: %s\r\n" % pair for pair in fields),
    )
    return RepairResult(head, raw, is_chunked)


def may_have_ended(pieces: list[bytes]) -> bool:
    """Return whether a blank line may end in the last piece; a search of all pieces each time would be
    slow."""
    return _END.search(b"".join(pieces[-4:])) is not None


def _read_fields(lines: list[bytes]) -> list[tuple[bytes, bytes]]:
    """Return the lines that name a field; folded ones (RFC 9112, 5.2) with their continuations."""
    fields: list[tuple[bytes, list[bytes]]] = []
    is_open = False  # the line before was a field, which may continue
    for line in lines:
        value = _CONTROLS.sub(b" ", line.rstrip(b"\r"))
        if value[:1] in (b" ", b"\t"):
            if is_open:
                fields[-1][1].append(value.strip())
            continue
        name, colon, value = value.partition(b":")
        name = name.rstrip()
        is_open = bool(colon) and _NAME.fullmatch(name) is not None
        if is_open:
            fields.append((name, [value.strip()]))
            is_open = name.lower() not in _FRAMING  # framing fields are not extended
    return [(name, b" ".join(parts)) for name, parts in fields]


def _fix_framing(fields: list[tuple[bytes, bytes]]) -> tuple[list[tuple[bytes, bytes]], bool]:
    """Return the fields with at most one statement of the body's end, and whether it is chunked."""
    lengths = set(_list_values(fields, b"content-length"))
    codings = _list_values(fields, b"transfer-encoding")
    kept = [pair for pair in fields if pair[0].lower() not in _FRAMING]
    packed = [coding for coding in codings if coding in _PACKED]
    is_chunked = b"chunked" in codings
    if packed:  # a transfer coding is decoded like a content coding
        kept.append((b"Content-Encoding", b", ".join(packed)))
    if is_chunked or packed or not lengths:
        return kept, is_chunked
    if len(lengths) > 1:
        raise RepairError("lengths of the body that differ")
    length = lengths.pop()
    if not (length.isdigit() and len(length) < 19):
        raise RepairError("a length of the body that is not a number")
    return [*kept, (b"Content-Length", length)], False


def _list_values(fields: list[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    values = [value for key, value in fields if key.lower() == name]
    return [word for value in values for part in value.split(b",") if (word := part.strip().lower())]


class ChunkReader:
    """The chunks of a body as broken servers write them: bare line feeds, blanks, odd extensions."""

    def __init__(self) -> None:
        self.is_complete = False
        self._waiting = b""  # the beginning of a chunk's header
        self._left = 0  # bytes missing of the current chunk
        self._lines = 0

    def read_chunks(self, data: bytes) -> bytes:
        """Return the body in the next bytes. Raises :class:`RepairError` if they are not a chunk."""
        data, at = self._waiting + data, 0
        self._waiting = b""
        found: list[bytes] = []
        while at < len(data) and not self.is_complete:
            if self._left:
                found.append(data[at : at + self._left])
                at += len(found[-1])
                self._left -= len(found[-1])
                continue
            end = data.find(b"\n", at)
            if end < 0:
                self._keep_rest(data[at:])
                break
            self._begin_chunk(data[at:end])
            at = end + 1
        return b"".join(found)

    def _keep_rest(self, rest: bytes) -> None:
        if len(rest) > _MAX_SIZE_LINE:
            raise BoundError("a chunk's header without end")
        self._waiting = rest

    def _begin_chunk(self, line: bytes) -> None:
        """Take the header of the next chunk, or the line end after the last one."""
        self._lines += 1
        if self._lines > MAX_LINES:
            raise BoundError("a body of very many chunks")
        size = line.partition(b";")[0].strip()
        if not size and not line.strip():
            return
        try:
            self._left = int(size, 16) if len(size) <= 15 and size.isalnum() else -1
        except ValueError:
            self._left = -1
        if self._left < 0:
            raise RepairError("the size of a chunk is not a number")
        self.is_complete = self._left == 0
