"""What all records are, and what the numbers in them mean where the type alone does not say it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The base of every record."""


class FieldMeaning(StrEnum):
    """What a field is besides its type, for whoever writes a record as a document (``queries.documents``)."""

    TIME = "time"  # seconds since the epoch: ISO 8601 in a document
    FINGERPRINT = "fingerprint"  # 64 bits: 16 hexadecimal digits in a document
    ASIDE = "aside"  # for whoever shows the record to people: not in a document


Time = Annotated[float, FieldMeaning.TIME]
"""A point in time, in seconds since the epoch."""
Fingerprint = Annotated[int, FieldMeaning.FINGERPRINT]
"""What tells requests apart: a signed number of 64 bits."""
