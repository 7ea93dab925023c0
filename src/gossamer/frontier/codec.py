"""A request as bytes.

Guarantee: whatever ``Request`` accepts comes back equal. msgpack carries nearly all; what it cannot
(lone surrogates, integers past 64 bits: both occur in pages' JSON) goes as JSON instead, told apart by
the first byte. Never pickle: the bytes may have been written by somebody else.
"""

from __future__ import annotations

import json

import msgspec

from gossamer.words.errors import StorageError
from gossamer.words.model import Request

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Request).decode
_JSON = b"{"  # in msgpack this byte is the number 123, never a record


def pack(request: Request) -> bytes:
    """The stored form of a request."""
    try:
        return _encode(request)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(msgspec.to_builtins(request)).encode("ascii")


def unpack(record: bytes) -> Request:
    """The request of a stored form. Raises :class:`StorageError` for bytes that are none."""
    try:
        if record[:1] == _JSON:
            return msgspec.convert(json.loads(record), Request)
        return _decode(record)
    except (msgspec.MsgspecError, ValueError) as error:
        raise StorageError(f"a stored request cannot be read: {error}") from error
