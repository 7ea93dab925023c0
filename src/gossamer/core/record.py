"""The base class of records, and the meaning of numbers that their types do not show."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The base of every record."""


class FieldMeaning(StrEnum):
    """The meaning of a field besides its type; ``queries.documents`` writes documents by it."""

    TIME = "time"  # seconds since the epoch: ISO 8601 in a document
    FINGERPRINT = "fingerprint"  # 64 bits: 16 hexadecimal digits in a document
    ASIDE = "aside"  # for display to people: not in a document


Time = Annotated[float, FieldMeaning.TIME]
"""A point in time, in seconds since the epoch."""
Fingerprint = Annotated[int, FieldMeaning.FINGERPRINT]
"""The identity of a request: a signed number of 64 bits."""
