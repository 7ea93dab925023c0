"""Undoing Content-Encoding, piece by piece, never past a limit.

A body is decoded while it arrives, in pieces of at most :data:`PIECE_BYTES`, and the *decoded* bytes of every
stage are counted: 34 bytes of brotli make 11 MB, and a stack of encodings can hide the growth in its
middle. What browsers tolerate is tolerated: a body cut short or damaged keeps what was decoded and is
flagged ``truncated``, or ``bad_checksum`` if only the check sum at its end is wrong. One that was never
encoded although its header says so is kept as it is and flagged ``not_encoded``, provided it reads as text;
one in a coding that nobody knows is passed on as it came, flagged ``unknown_encoding`` if it does not.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Generator, Iterator
from typing import Any, Protocol

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

SIZE_BYTES = 4
"""What follows the check sum of a gzip member."""

_GZIP = zlib.MAX_WBITS | 16
_WRONG_CHECK = re.compile("incorrect (data|length) check")
_TEXT = re.compile(rb"[\t\n\f\r\x1b\x20-\x7e\x80-\xff]*\Z")


class Damaged(Exception):
    """The data is not, or no longer, what its encoding says."""


class Stage(Protocol):
    """One encoding, undone in pieces."""

    complete: bool  # the end of the encoded data was seen, and nothing was begun after it

    @property
    def is_doubtful(self) -> bool:
        """Whether a check sum says that the data was changed."""
        return False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode what can be decoded; raises :class:`Damaged` after the last good piece."""
        ...


def _next(count: int) -> int:
    if count >= MAX_MEMBERS:
        raise Damaged(f"more than {MAX_MEMBERS} members")
    return count + 1


class Inflate(Stage):
    """gzip of any number of members (RFC 1952), or deflate with and without its zlib wrapper."""

    def __init__(self, *, gzip: bool) -> None:
        self._gzip = gzip
        self._inflate = zlib.decompressobj(_GZIP if gzip else zlib.MAX_WBITS)
        self._settled = gzip
        self._head = b""
        self._members = 1
        self._rest = -1  # bytes that came after a wrong check sum; negative: none was wrong
        self.complete = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode; bytes after the end that begin no further member are dropped, as gzip itself does."""
        if self._rest >= 0:
            self._end(len(data))
            return
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
            if self._rest >= 0:
                self._end(len(data) - position - len(window))
                return
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
                rest = yield from self._salvage(before, data)
                if not _WRONG_CHECK.search(str(error)):
                    raise Damaged(str(error)) from error
                self._rest = rest  # "incorrect data check", "incorrect length check": all data was there
                return
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

    @property
    def is_doubtful(self) -> bool:
        """Whether a check sum says that the data was changed."""
        return self._rest >= 0

    def _end(self, more: int) -> None:
        """The data was whole, if nothing but the rest of its check sums came after the wrong one."""
        self._rest += more
        self.complete = self._rest <= SIZE_BYTES
        if not self.complete:
            raise Damaged("a wrong check sum in the middle")

    @staticmethod
    def _salvage(inflate: zlib._Decompress, data: bytes) -> Generator[bytes, None, int]:
        """What comes before the damage: the failed call kept its output to itself. Returns what is left."""
        for position in range(len(data)):
            try:
                piece = inflate.decompress(data[position : position + 1], PIECE_BYTES)
            except zlib.error:
                return len(data) - position - 1
            if piece:
                yield piece
        return 0


class Brotli(Stage):
    """br (RFC 7932)."""

    def __init__(self) -> None:
        self._decoder = brotli.Decompressor()
        self._fed: list[bytes] = []
        self.complete = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode; bytes after the end are dropped."""
        if self.complete:
            return
        given = 0
        try:
            for piece in self._pieces(self._decoder, data):
                given += len(piece)
                yield piece
        except brotli.error as error:
            self.complete = yield from self._salvage(data, given)
            if not self.complete:
                raise Damaged("br") from error
            return
        self._fed.append(data)
        self.complete = self._decoder.is_finished()

    @staticmethod
    def _pieces(decoder: Any, data: bytes) -> Iterator[bytes]:
        piece = decoder.process(data, output_buffer_limit=PIECE_BYTES)
        while piece:
            yield piece
            piece = decoder.process(b"", output_buffer_limit=PIECE_BYTES)

    def _salvage(self, data: bytes, given: int) -> Generator[bytes, None, bool]:
        """What comes before the damage, or before bytes after the end; whether it has come to the end.

        The decoder says neither where that is, nor what it had by then: all is decoded once more, the last
        part byte by byte, and what was given before is left out.
        """
        decoder = brotli.Decompressor()
        for before in self._fed:
            for _ in self._pieces(decoder, before):
                pass
        try:
            for position in range(len(data)):
                for piece in self._pieces(decoder, data[position : position + 1]):
                    new = piece[given:]
                    given = max(given - len(piece), 0)
                    if new:
                        yield new
                if decoder.is_finished():
                    return True
        except brotli.error:
            pass
        return False


class Zstandard(Stage):
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
        self._is_unknown = len(known) < len(tokens)
        self._is_refused = len(tokens) > MAX_STAGES
        self._stages = [] if self._is_unknown or self._is_refused else known[::-1]
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
            return body, self._passed_on(body)
        complete = not self._damaged and all(stage.complete for stage in self._stages)
        if complete or not self.wire_bytes:
            return body, ("bad_checksum",) if any(stage.is_doubtful for stage in self._stages) else ()
        if body:
            return body, ("truncated",)
        raw = b"".join(self._raw)
        if not self._damaged:
            return b"", ("truncated",)
        return raw, self._plain(raw)

    def _passed_on(self, body: bytes) -> tuple[str, ...]:
        """The flags of a body that was not decoded."""
        if self._is_unknown and not self._is_refused:
            return ("not_encoded",) if _TEXT.match(body[:1024]) else ("unknown_encoding",)
        return self._plain(body) if self._is_refused else ()

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
