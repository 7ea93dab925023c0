"""Records as documents: what programs are given as JSON, by the command line and whatever else answers.

A document has every field of its record by its name, those that have their defaults too. Times are ISO 8601
in UTC, to the second; fingerprints are 16 hexadecimal digits; fields marked ``ASIDE`` are left out. An
answer of the HTTP API is the same with times as they are, in seconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from gossamer.core.record import FieldMeaning
from gossamer.core.text import iso_time


def to_document(value: Any) -> Any:
    """A record, or what holds records, in the types of JSON."""
    return _write_value(value, _IN_DOCUMENTS)


def to_answer(value: Any) -> Any:
    """The same for the HTTP API."""
    return _write_value(value, _IN_ANSWERS)


def fingerprint_text(fingerprint: int) -> str:
    """Return a request's fingerprint as 16 hexadecimal digits."""
    return f"{fingerprint & (1 << 64) - 1:016x}"


_Writers = Mapping[FieldMeaning, Callable[[Any], Any]]
_IN_ANSWERS: _Writers = {FieldMeaning.FINGERPRINT: fingerprint_text}
_IN_DOCUMENTS: _Writers = {**_IN_ANSWERS, FieldMeaning.TIME: iso_time}
"""How fields that mean something are written."""


def _write_value(value: Any, writers: _Writers) -> Any:
    if isinstance(value, msgspec.Struct):
        return {
            name: _write_field(getattr(value, name), meaning, writers)
            for name, meaning in meanings_of(type(value))
        }
    if isinstance(value, dict):
        return {_plain_key(key): _write_value(inner, writers) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_write_value(inner, writers) for inner in value]
    return value.value if isinstance(value, Enum) else value


def _write_field(value: Any, meaning: FieldMeaning | None, writers: _Writers) -> Any:
    write = None if meaning is None else writers.get(meaning)
    return _write_value(value, writers) if write is None else write(value)


@cache
def meanings_of(kind: type[msgspec.Struct]) -> tuple[tuple[str, FieldMeaning | None], ...]:
    """The fields of a record that are in its document, and what each means besides its type."""
    hints = get_type_hints(kind, include_extras=True)
    meant = {name: _meaning_of(hints[name]) for name in kind.__struct_fields__}
    return tuple((name, meaning) for name, meaning in meant.items() if meaning is not FieldMeaning.ASIDE)


def _meaning_of(hint: Any) -> FieldMeaning | None:
    """Return the mark of a type, also of an optional one."""
    if get_origin(hint) is Annotated:
        return next((mark for mark in hint.__metadata__ if isinstance(mark, FieldMeaning)), None)
    found = (_meaning_of(inner) for inner in get_args(hint))
    return next((meaning for meaning in found if meaning is not None), None)


def _plain_key(key: Any) -> Any:
    return key.value if isinstance(key, Enum) else key
