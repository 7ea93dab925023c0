"""Records as documents: what programs are given as JSON, by the command line and whatever else answers.

A document has every field of its record by its name, those that have their defaults too. Times are ISO 8601
in UTC, to the second; fingerprints are 16 hexadecimal digits; fields marked ``ASIDE`` are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from gossamer.core.record import FieldMeaning
from gossamer.core.text import iso_time


def to_document(value: Any) -> Any:
    """A record, or what holds records, in the types of JSON."""
    if isinstance(value, msgspec.Struct):
        return {name: write(getattr(value, name)) for name, write in _writers_of(type(value))}
    if isinstance(value, dict):
        return {_plain_key(key): to_document(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_document(inner) for inner in value]
    return value.value if isinstance(value, Enum) else value


def fingerprint_text(fingerprint: int) -> str:
    """What tells requests apart, in 16 hexadecimal digits."""
    return f"{fingerprint & (1 << 64) - 1:016x}"


_WRITERS: dict[FieldMeaning | None, Callable[[Any], Any]] = {
    None: to_document,
    FieldMeaning.TIME: iso_time,
    FieldMeaning.FINGERPRINT: fingerprint_text,
}


@cache
def _writers_of(kind: type[msgspec.Struct]) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    """The fields of a document, and how each is written."""
    hints = get_type_hints(kind, include_extras=True)
    meant = {name: _meaning_of(hints[name]) for name in kind.__struct_fields__}
    return tuple(
        (name, _WRITERS[meaning]) for name, meaning in meant.items() if meaning is not FieldMeaning.ASIDE
    )


def _meaning_of(hint: Any) -> FieldMeaning | None:
    """What a type is marked as, also where it may be ``None``."""
    if get_origin(hint) is Annotated:
        return next((mark for mark in hint.__metadata__ if isinstance(mark, FieldMeaning)), None)
    found = (_meaning_of(inner) for inner in get_args(hint))
    return next((meaning for meaning in found if meaning is not None), None)


def _plain_key(key: Any) -> Any:
    return key.value if isinstance(key, Enum) else key
