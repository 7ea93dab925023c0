"""The codings that bodies come in: gzip, deflate, brotli, Zstandard, each undone piece by piece."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Generator, Iterator
from typing import Any, Protocol

import brotli  # type: ignore[import-untyped]

from gossamer.core.lazy import lazy_pattern

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PIECE_BYTES = 256 * 1024
"""Most bytes that are decoded at once."""

MAX_MEMBERS = 4096
"""Members or frames of one body: a flood of empty ones costs time and decodes to nothing."""

WINDOW_BYTES = 2048
"""Input passed at once to each further member or frame, since its unused rest is copied back."""

ZSTD_WINDOW_LOG = 23
"""8 MiB, the largest window the ``zstd`` content coding may use (RFC 9659)."""

SIZE_BYTES = 4
"""The field after the checksum of a gzip member."""

FLUSHED = b"\0\0\xff\xff"
"""Deflated data ends with this where it was flushed, and nothing has been deflated since."""

_GZIP = zlib.MAX_WBITS | 16
_WRONG_CHECK = lazy_pattern("incorrect (data|length) check")


class DecodingError(Exception):
    """The data is not, or no longer, what its encoding says."""


class CodingDecoder(Protocol):
    """Decoder of one coding, piece by piece."""

    complete: bool  # the end of the encoded data was seen, and nothing was begun after it

    @property
    def is_doubtful(self) -> bool:
        """Whether no check sum says that the data is as it was: it is wrong, or it did not come."""
        return False

    @property
    def is_flushed(self) -> bool:
        """Whether all that was encoded up to some moment was decoded, though no end was seen."""
        return False

    def end_data(self) -> None:
        """No more data comes: what lacks nothing but its check sum is complete."""
        return

    def decode_data(self, data: bytes) -> Iterator[bytes]:
        """Decode as much as possible; raises :class:`DecodingError` after the last good piece."""
        ...


def _count_member(count: int) -> int:
    if count >= MAX_MEMBERS:
        raise DecodingError(f"more than {MAX_MEMBERS} members")
    return count + 1


class InflateDecoder(CodingDecoder):
    """gzip of any number of members (RFC 1952), or deflate with and without its zlib wrapper."""

    def __init__(self, *, gzip: bool) -> None:
        self._gzip = gzip
        self._inflate = zlib.decompressobj(_GZIP if gzip else zlib.MAX_WBITS)
        self._settled = gzip
        self._head = b""
        self._members = 1
        self._rest = -1  # bytes that came after a wrong check sum; negative: none was wrong
        self._tail = b""
        self.complete = False

    def decode_data(self, data: bytes) -> Iterator[bytes]:
        """Decode; bytes after the end that begin no further member are dropped, as gzip itself does."""
        self._tail = (self._tail + data[-len(FLUSHED) :])[-len(FLUSHED) :]
        if self._rest >= 0:
            self._check_trailer(len(data))
            return
        position = 0
        step = len(data)
        while position < len(data):
            if self.complete:
                if not self._gzip or data[position] != 0x1F:
                    return
                self._members = _count_member(self._members)
                self._inflate = zlib.decompressobj(_GZIP)
                self.complete = False
                step = WINDOW_BYTES
            window = data[position : position + step] if position or step < len(data) else data
            yield from self._decode_member(window)
            if self._rest >= 0:
                self._check_trailer(len(data) - position - len(window))
                return
            position += len(window) - len(self._inflate.unused_data)
            self.complete = self._inflate.eof

    def _decode_member(self, data: bytes) -> Iterator[bytes]:
        if not self._settled:
            data = self._detect_wrapper(data)
        while data:
            before = self._inflate.copy()
            try:
                piece = self._inflate.decompress(data, PIECE_BYTES)
            except zlib.error as error:
                rest = yield from self._salvage_data(before, data)
                if not _WRONG_CHECK.search(str(error)):
                    raise DecodingError(str(error)) from error
                self._rest = rest  # "incorrect data check", "incorrect length check": all data was there
                return
            if piece:
                yield piece
            # At the end zlib leaves a stale tail behind, which is the unused data once more.
            data = b"" if self._inflate.eof else self._inflate.unconsumed_tail

    def _detect_wrapper(self, data: bytes) -> bytes:
        """Return whether deflate has its zlib wrapper, by its first two bytes (RFC 1950, 2.2)."""
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
        """Whether no check sum says that the data is as it was: it is wrong, or it did not come."""
        return self._rest >= 0 or not self.complete

    @property
    def is_flushed(self) -> bool:
        """Whether all that was encoded up to some moment was decoded, though no end was seen."""
        return self._tail == FLUSHED

    def end_data(self) -> None:
        """End the data; data that lacks nothing but its checksum is complete.

        zlib does not reveal that it waits for a checksum, but it rejects any wrong one. Within the data,
        at least one of two values would be accepted as data.
        """
        if not self.complete and self._settled and all(self._is_check(byte * 8) for byte in (b"\0", b"\xff")):
            self.complete, self._rest = True, 0

    def _is_check(self, data: bytes) -> bool:
        """Return whether zlib would read these bytes as a checksum now."""
        inflate = self._inflate.copy()
        try:
            return not inflate.decompress(data) and inflate.eof
        except zlib.error as error:
            return bool(_WRONG_CHECK.search(str(error)))

    def _check_trailer(self, more: int) -> None:
        """Accept data with a wrong checksum if nothing but the rest of its checksums follows."""
        self._rest += more
        self.complete = self._rest <= SIZE_BYTES
        if not self.complete:
            raise DecodingError("a wrong checksum in the middle")

    @staticmethod
    def _salvage_data(inflate: zlib._Decompress, data: bytes) -> Generator[bytes, None, int]:
        """Yield the output before the damage, which the failed call dropped. Returns the rest of the
        input."""
        for position in range(len(data)):
            try:
                piece = inflate.decompress(data[position : position + 1], PIECE_BYTES)
            except zlib.error:
                return len(data) - position - 1
            if piece:
                yield piece
        return 0


class BrotliDecoder(CodingDecoder):
    """br (RFC 7932)."""

    def __init__(self) -> None:
        self._decoder = brotli.Decompressor()
        self._fed: list[bytes] = []
        self.complete = False

    def decode_data(self, data: bytes) -> Iterator[bytes]:
        """Decode; bytes after the end are dropped."""
        if self.complete:
            return
        given = 0
        try:
            for piece in self._decode_pieces(self._decoder, data):
                given += len(piece)
                yield piece
        except brotli.error as error:
            self.complete = yield from self._salvage_data(data, given)
            if not self.complete:
                raise DecodingError("br") from error
            return
        self._fed.append(data)
        self.complete = self._decoder.is_finished()

    @staticmethod
    def _decode_pieces(decoder: Any, data: bytes) -> Iterator[bytes]:
        piece = decoder.process(data, output_buffer_limit=PIECE_BYTES)
        while piece:
            yield piece
            piece = decoder.process(b"", output_buffer_limit=PIECE_BYTES)

    def _salvage_data(self, data: bytes, given: int) -> Generator[bytes, None, bool]:
        """Yield the output before the damage or the end; return whether the end was reached.

        The decoder reveals neither the place nor its output up to it. So the input is decoded once more,
        its last part byte by byte, without the output that was given before.
        """
        decoder = brotli.Decompressor()
        for before in self._fed:
            for _ in self._decode_pieces(decoder, before):
                pass
        try:
            for position in range(len(data)):
                for piece in self._decode_pieces(decoder, data[position : position + 1]):
                    new = piece[given:]
                    given = max(given - len(piece), 0)
                    if new:
                        yield new
                if decoder.is_finished():
                    return True
        except brotli.error:
            pass
        return False


class ZstandardDecoder(CodingDecoder):
    """zstd of any number of frames (RFC 8878)."""

    def __init__(self) -> None:
        self._decoder = self._new_decoder()
        self._frames = 1
        self.complete = False

    @staticmethod
    def _new_decoder() -> zstd.ZstdDecompressor:
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: ZSTD_WINDOW_LOG})

    def decode_data(self, data: bytes) -> Iterator[bytes]:
        """Decode; bytes after the end that begin no further frame are dropped."""
        position = 0
        step = len(data)
        while position < len(data):
            if self.complete:
                self._frames = _count_member(self._frames)
                if (
                    data[position]
                    not in b"\x28\x50\x51\x52\x53\x54\x55\x56\x57\x58\x59\x5a\x5b\x5c\x5d\x5e\x5f"
                ):
                    return
                self._decoder = self._new_decoder()
                self.complete = False
                step = WINDOW_BYTES
            window = data[position : position + step] if position or step < len(data) else data
            yield from self._decode_frame(window)
            position += len(window) - len(self._decoder.unused_data)
            self.complete = self._decoder.eof

    def _decode_frame(self, data: bytes) -> Iterator[bytes]:
        try:
            while True:
                piece = self._decoder.decompress(data, PIECE_BYTES)
                if piece:
                    yield piece
                if self._decoder.eof or self._decoder.needs_input:
                    return
                data = b""
        except zstd.ZstdError as error:
            raise DecodingError(str(error)) from error


def stage_for(token: str) -> CodingDecoder | None:
    """Return the decoder of a coding by its name in lower case; ``None`` for an unknown one."""
    match token:
        case "gzip" | "x-gzip":
            return InflateDecoder(gzip=True)
        case "deflate":
            return InflateDecoder(gzip=False)
        case "br":
            return BrotliDecoder()
        case "zstd":
            return ZstandardDecoder()
        case _:
            return None
