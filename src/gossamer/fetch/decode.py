"""Undoing Content-Encoding, piece by piece, never past a limit.

A body is decoded while it arrives, in pieces of at most :data:`PIECE_BYTES`, and the *decoded* bytes of every
stage are counted: 34 bytes of brotli make 11 MB, and a stack of encodings can hide the growth in its
middle. What browsers tolerate is tolerated: a body cut short or damaged keeps what was decoded and is
flagged ``truncated``; one that was never encoded although its header says so is kept as it is and
flagged ``not_encoded``, provided it reads as text.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Iterator
from typing import Protocol

import brotli  # type: ignore[import-untyped]

from gossamer.words.errors import Fault, FetchError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PIECE_BYTES = 256 * 1024
MAX_STAGES = 5
MAX_MEMBERS = 4096
"""Members or frames of one body: a flood of empty ones costs time and decodes to nothing."""

WINDOW_BYTES = 2048
"""Input handed to each further member or frame at once: what it does not use is copied back."""

ZSTD_WINDOW_LOG = 23
"""8 MiB, the largest window the ``zstd`` content coding may use (RFC 9659)."""

_GZIP = zlib.MAX_WBITS | 16
_TEXT = re.compile(rb"[\t\n\f\r\x1b\x20-\x7e\x80-\xff]*\Z")


class Damaged(Exception):
    """The data is not, or no longer, what its encoding says."""


class Stage(Protocol):
    """One encoding, undone in pieces."""

    complete: bool  # the end of the encoded data was seen, and nothing was begun after it

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode what can be decoded; raises :class:`Damaged` after the last good piece."""
        ...


def _next(count: int) -> int:
    if count >= MAX_MEMBERS:
        raise Damaged(f"more than {MAX_MEMBERS} members")
    return count + 1


class Inflate:
    """gzip of any number of members (RFC 1952), or deflate with and without its zlib wrapper."""

    def __init__(self, *, gzip: bool) -> None:
        self._gzip = gzip
        self._inflate = zlib.decompressobj(_GZIP if gzip else zlib.MAX_WBITS)
        self._settled = gzip
        self._head = b""
        self._members = 1
        self.complete = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode; bytes after the end that begin no further member are dropped, as gzip itself does."""
        position = 0
        step = len(data)
        while position < len(data):
            if self.complete:
                if not self._gzip or data[position] != 0x1F:
                    return
                self._members = _next(self._members)
                self._inflate = zlib.decompressobj(_GZIP)
                self.complete = False
                step = WINDOW_BYTES
            window = data[position : position + step] if position or step < len(data) else data
            yield from self._member(window)
            position += len(window) - len(self._inflate.unused_data)
            self.complete = self._inflate.eof

    def _member(self, data: bytes) -> Iterator[bytes]:
        if not self._settled:
            data = self._settle(data)
        while data:
            before = self._inflate.copy()
            try:
                piece = self._inflate.decompress(data, PIECE_BYTES)
            except zlib.error as error:
                yield from self._salvage(before, data)
                raise Damaged(str(error)) from error
            if piece:
                yield piece
            # At the end zlib leaves a stale tail behind, which is the unused data once more.
            data = b"" if self._inflate.eof else self._inflate.unconsumed_tail

    def _settle(self, data: bytes) -> bytes:
        """Whether deflate comes in its zlib wrapper shows in two bytes (RFC 1950, 2.2)."""
        self._head += data
        if len(self._head) < 2:
            return b""
        self._settled = True
        method, check = self._head[0] & 0x0F, self._head[0] << 8 | self._head[1]
        if method != zlib.DEFLATED or check % 31:
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        return self._head

    @staticmethod
    def _salvage(inflate: zlib._Decompress, data: bytes) -> Iterator[bytes]:
        """What comes before the damage: the failed call kept its output to itself."""
        try:
            for position in range(len(data)):
                piece = inflate.decompress(data[position : position + 1], PIECE_BYTES)
                if piece:
                    yield piece
        except zlib.error:
            return


class Brotli:
    """br (RFC 7932)."""

    def __init__(self) -> None:
        self._decoder = brotli.Decompressor()
        self.complete = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode; bytes after the end are dropped."""
        if self.complete:
            return
        try:
            piece = self._decoder.process(data, output_buffer_limit=PIECE_BYTES)
            while piece:
                yield piece
                piece = self._decoder.process(b"", output_buffer_limit=PIECE_BYTES)
        except brotli.error as error:
            raise Damaged("br") from error
        self.complete = self._decoder.is_finished()


class Zstandard:
    """zstd of any number of frames (RFC 8878)."""

    def __init__(self) -> None:
        self._decoder = self._new()
        self._frames = 1
        self.complete = False

    @staticmethod
    def _new() -> zstd.ZstdDecompressor:
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: ZSTD_WINDOW_LOG})

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode; bytes after the end that begin no further frame are dropped."""
        position = 0
        step = len(data)
        while position < len(data):
            if self.complete:
                self._frames = _next(self._frames)
                if (
                    data[position]
                    not in b"\x28\x50\x51\x52\x53\x54\x55\x56\x57\x58\x59\x5a\x5b\x5c\x5d\x5e\x5f"
                ):
                    return
                self._decoder = self._new()
                self.complete = False
                step = WINDOW_BYTES
            window = data[position : position + step] if position or step < len(data) else data
            yield from self._frame(window)
            position += len(window) - len(self._decoder.unused_data)
            self.complete = self._decoder.eof

    def _frame(self, data: bytes) -> Iterator[bytes]:
        try:
            while True:
                piece = self._decoder.decompress(data, PIECE_BYTES)
                if piece:
                    yield piece
                if self._decoder.eof or self._decoder.needs_input:
                    return
                data = b""
        except zstd.ZstdError as error:
            raise Damaged(str(error)) from error


def _stage(token: str) -> Stage | None:
    match token:
        case "gzip" | "x-gzip":
            return Inflate(gzip=True)
        case "deflate":
            return Inflate(gzip=False)
        case "br":
            return Brotli()
        case "zstd":
            return Zstandard()
        case _:
            return None


class Decoder:
    """One body: :meth:`feed` what arrives, then :meth:`finish`.

    Both raise :class:`FetchError`: ``TOO_LARGE`` as soon as the limit is passed, ``BAD_ENCODING`` for
    what can neither be decoded nor read as text.
    """

    def __init__(self, content_encoding: str, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._pieces: list[bytes] = []
        self._raw: list[bytes] = []  # until something was decoded: it may turn out to be plain
        self._damaged = False
        tokens = [token for token in re.split(r"[\s,]+", content_encoding.lower()) if token]
        tokens = [token for token in tokens if token != "identity"]  # noqa: S105 - a coding, no secret
        stages = [_stage(token) for token in tokens]
        known = [stage for stage in stages if stage is not None]
        self._unknown = len(known) < len(tokens) or len(tokens) > MAX_STAGES
        self._stages = [] if self._unknown else known[::-1]
        self._counts = [0] * (len(self._stages) + 1)
        self.wire_bytes = 0

    @property
    def decoded_bytes(self) -> int:
        """The size of what was decoded so far."""
        return self._counts[-1]

    def feed(self, data: bytes) -> None:
        """Take the next bytes from the wire."""
        for _ in self.steps(data):
            pass

    def steps(self, data: bytes) -> Iterator[None]:
        """:meth:`feed` with a pause after each decoded piece: few bytes can become very many."""
        self.wire_bytes += len(data)
        self._count(0, len(data))
        if not self._stages:
            self._pieces.append(data)
            return
        if self._damaged:
            return
        if not self._pieces:
            self._raw.append(data)
        try:
            for piece in self._run(0, data):
                self._pieces.append(piece)
                yield
        except Damaged:
            self._damaged = True

    def finish(self) -> tuple[bytes, tuple[str, ...]]:
        """The decoded body and its flags."""
        body = b"".join(self._pieces)
        if not self._stages:
            return body, self._plain(body) if self._unknown else ()
        complete = not self._damaged and all(stage.complete for stage in self._stages)
        if complete or not self.wire_bytes:
            return body, ()
        if body:
            return body, ("truncated",)
        raw = b"".join(self._raw)
        if not self._damaged:
            return b"", ("truncated",)
        return raw, self._plain(raw)

    @staticmethod
    def _plain(raw: bytes) -> tuple[str, ...]:
        if not _TEXT.match(raw[:1024]):
            raise FetchError(Fault.BAD_ENCODING, "the body is not what its Content-Encoding says")
        return ("not_encoded",)

    def _run(self, depth: int, data: bytes) -> Iterator[bytes]:
        """Pass data through the stages from ``depth`` on."""
        for piece in self._stages[depth].feed(data):
            self._count(depth + 1, len(piece))
            if depth + 1 < len(self._stages):
                yield from self._run(depth + 1, piece)
            else:
                yield piece

    def _count(self, stage: int, size: int) -> None:
        self._counts[stage] += size
        if self._counts[stage] > self._limit:
            raise FetchError(Fault.TOO_LARGE, f"more than {self._limit} bytes")
