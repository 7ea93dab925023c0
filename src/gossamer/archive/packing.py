"""Gzip members (RFC 1952), one for each record of an archive."""

from __future__ import annotations

import zlib
from struct import Struct

try:  # ISA-L takes a tenth of the time, and its bytes are as many
    from isal import isal_zlib as deflate
except ImportError:  # there is none for this kind of machine
    import zlib as deflate  # type: ignore[no-redef]

LEVEL = 1
"""Of the compression: higher ones cost more time than the pages of most crawls are worth."""
_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"  # deflate, no name, no time, the fastest way, any system
_STORED_BLOCK = Struct("<BHH")
_TRAILER = Struct("<II")
MOST_STORED = 0xFFFF
"""Bytes of one block that is stored."""


def pack_record(data: bytes) -> bytes:
    """The member of a record, in one call: each lets go of the interpreter, as :func:`store_record` says."""
    member: bytes = deflate.compress(data, LEVEL, zlib.MAX_WBITS | 16)
    return member


def store_record(data: bytes) -> bytes:
    """The member of a record, as it is: for what is short, and for what is compressed already.

    Each call of a compressor lets go of the interpreter, and waits until it is the thread's turn again.
    """
    parts = [_HEAD]
    for start in range(0, max(1, len(data)), MOST_STORED):
        block = data[start : start + MOST_STORED]
        is_last = start + MOST_STORED >= len(data)
        parts += (_STORED_BLOCK.pack(is_last, len(block), len(block) ^ MOST_STORED), block)
    return b"".join((*parts, _trailer_of(data)))


def _trailer_of(data: bytes) -> bytes:
    return _TRAILER.pack(zlib.crc32(data), len(data) & 0xFFFFFFFF)
