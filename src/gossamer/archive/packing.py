"""Gzip members (RFC 1952), one for each record of an archive."""

from __future__ import annotations

import zlib
from struct import Struct

try:
    from isal import isal_zlib as deflate

    LEVEL = 0
    """The quickest way to compress: a tenth more bytes than the next one, in two thirds of the time."""
except ImportError:  # there is none for this kind of machine
    import zlib as deflate  # type: ignore[no-redef]

    LEVEL = 1  # here 0 means not to compress; it takes several times as long
_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"  # deflate, no name, no time, the fastest way, any system
_STORED_BLOCK = Struct("<?HH")
_TRAILER = Struct("<II")
MOST_STORED = 0xFFFF
"""Bytes of one block that is stored."""


def pack_record(data: bytes) -> bytes:
    """Return the member of a record, in one call: each releases the interpreter (:func:`store_record`)."""
    member: bytes = deflate.compress(data, LEVEL, zlib.MAX_WBITS | 16)
    return member


def store_record(data: bytes) -> bytes:
    """Return the uncompressed member of a record that is short or already compressed.

    Each call of a compressor releases the interpreter, and then waits to get it back.
    """
    trailer = _TRAILER.pack(deflate.crc32(data), len(data) & 0xFFFFFFFF)
    if len(data) <= MOST_STORED:
        return b"".join((_HEAD, _STORED_BLOCK.pack(True, len(data), len(data) ^ MOST_STORED), data, trailer))
    parts = [_HEAD]
    for start in range(0, len(data), MOST_STORED):
        block = data[start : start + MOST_STORED]
        is_last = start + MOST_STORED >= len(data)
        parts += (_STORED_BLOCK.pack(is_last, len(block), len(block) ^ MOST_STORED), block)
    return b"".join((*parts, trailer))
