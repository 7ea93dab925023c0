"""The text that identifies an item, and the hash that tells whether it has changed."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec

MAX_KEY = 512
"""Characters of a key; of a longer one the digest is the key, so that every database can index it."""

_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="deterministic").encode


def content_hash(data: bytes) -> int:
    """64 bits of BLAKE2b (RFC 7693), signed."""
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big", signed=True)


def content_key(data: bytes) -> str:
    """Return the key of an item without key fields: 128 bits of its content, in any order of fields."""
    return blake2b(_encode_sorted(msgspec.json.decode(data)), digest_size=16).hexdigest()


def key_text(values: Sequence[Any]) -> str | None:
    """Return one value as its own text, several as a JSON list; ``None`` when one of them is empty."""
    plain = [value if type(value) is str else msgspec.to_builtins(value) for value in values]
    if any(value is None or value == "" for value in plain):
        return None
    text = plain[0] if len(plain) == 1 and isinstance(plain[0], str) else None
    if text is None:
        text = _encode(plain[0] if len(plain) == 1 else plain).decode()
    return text if len(text) <= MAX_KEY else "blake2b:" + blake2b(text.encode(), digest_size=16).hexdigest()
