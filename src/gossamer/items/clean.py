"""Converts values for every sink: base types, text without surrounding white space, NUL and lone surrogates.

PostgreSQL refuses NUL, and lone surrogates have no UTF-8. Both come from broken pages, and one such value
must not cost a whole batch. Each becomes U+FFFD, the replacement character. A value that needs no change is
returned as the same object.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any

import msgspec
from pydantic import BaseModel

from gossamer.core.storable import REPLACEMENT, as_base_type, without_surrogates

ESCAPED_NUL = b"\\u0000"
"""NUL as JSON has it; behind a backslash it is the text that is written so."""
_NUL_IN_JSON = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
_ORDER = msgspec.json.Encoder(enc_hook=repr).encode
"""A sort key for values of any kinds."""
UNTOUCHED = frozenset({int, float, bool, type(None), Decimal, datetime})


def clean_text(text: str) -> str:
    """Return a string without surrounding white space, NUL and lone surrogates."""
    text = text.strip()
    if "\0" in text:
        text = text.replace("\0", REPLACEMENT)
    return text if text.isascii() else without_surrogates(text)


def clean_json(data: bytes) -> bytes:
    """Return JSON without NUL: a model's serialiser may take it from bytes, which are not cleaned before."""
    return _NUL_IN_JSON.sub(rb"\1" + REPLACEMENT.encode(), data)


def clean_value(value: Any) -> Any:
    """Return the same value with all strings within lists, sets, dicts, models and dataclasses cleaned.

    It must not contain itself (:func:`~gossamer.items.validate.check_shape`).
    """
    kind = type(value)
    if kind in UNTOUCHED:
        return value
    if kind is str:
        return clean_text(value)
    if isinstance(value, dict):
        return clean_dict(value)
    if isinstance(value, list | tuple):
        return _clean_list(value)
    return _clean_other(value)


def _clean_other(value: Any) -> Any:
    """Return the same for all that is neither text, list nor dict."""
    if isinstance(value, bytes) and b"\0" in value:  # they are text when they are stored
        return value.replace(b"\0", REPLACEMENT.encode())
    if isinstance(value, set | frozenset):
        return _clean_set(value)
    if _has_fields(value):
        return _with_changed_fields(value, clean_dict)
    if isinstance(value, Enum):  # encoders know them, and a model may ask for one
        return value
    value = as_base_type(value)
    return clean_text(value) if type(value) is str else value


def _clean_list(values: list[Any] | tuple[Any, ...]) -> list[Any] | tuple[Any, ...]:
    cleaned = [clean_value(element) for element in values]
    is_plain = type(values) in (list, tuple)
    if is_plain and all(new is old for new, old in zip(cleaned, values, strict=True)):
        return values
    return tuple(cleaned) if isinstance(values, tuple) else cleaned


def _clean_set(values: set[Any] | frozenset[Any]) -> set[Any] | frozenset[Any]:
    cleaned = [clean_value(value) for value in values]
    if all(new is old for new, old in zip(cleaned, values, strict=True)):
        return values
    return frozenset(cleaned) if isinstance(values, frozenset) else set(cleaned)


def model_values(item: BaseModel) -> dict[str, Any]:
    """Return the fields of a model, and its extra values where it allows them."""
    extra = item.__pydantic_extra__
    return {**item.__dict__, **extra} if extra else item.__dict__


def dataclass_values(item: Any) -> dict[str, Any]:
    """Return the fields of a dataclass."""
    return {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}


def with_values(item: Any, values: dict[str, Any]) -> Any:
    """Return a copy of a dataclass with other values of some fields.

    Not by its own ``__init__``, which may want something else than its fields, and change them.
    """
    changed = copy.copy(item)
    for name, value in values.items():
        object.__setattr__(changed, name, value)
    return changed


def _has_fields(value: Any) -> bool:
    """Whether it is a model or a dataclass."""
    return isinstance(value, BaseModel) or (dataclasses.is_dataclass(value) and not isinstance(value, type))


def _with_changed_fields(item: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Return a model or dataclass with its fields changed by ``change``; the same object without changes."""
    is_model = isinstance(item, BaseModel)
    given = model_values(item) if is_model else dataclass_values(item)
    values = change(given)
    if values is given:
        return item
    return item.model_copy(update=values) if is_model else with_values(item, values)


def with_sorted_sets(value: Any) -> Any:
    """Return the value with its sets as sorted lists, since the order of a set differs between processes.

    A value without a set is returned as the same object.
    """
    if isinstance(value, set | frozenset):
        return sorted(map(with_sorted_sets, value), key=_ORDER)
    if isinstance(value, dict):
        sorted_ = {name: with_sorted_sets(inner) for name, inner in value.items()}
        return sorted_ if any(sorted_[name] is not inner for name, inner in value.items()) else value
    if isinstance(value, list | tuple):
        values = list(map(with_sorted_sets, value))
        return values if any(new is not old for new, old in zip(values, value, strict=True)) else value
    return _with_changed_fields(value, with_sorted_sets) if _has_fields(value) else value


def clean_dict(values: dict[Any, Any]) -> dict[Any, Any]:
    """Return the same for a dict, names included."""
    if type(values) is dict:
        for name, value in values.items():
            # Most items need nothing: find that out without building anything.
            kind = type(value)
            if kind is str:
                if clean_text(value) is not value:
                    break
            elif kind not in UNTOUCHED and clean_value(value) is not value:
                break
            if clean_value(name) is not name:
                break
        else:
            return values
    cleaned = {clean_value(name): clean_value(value) for name, value in values.items()}
    return cleaned if len(cleaned) == len(values) else _with_all_names(values)


def _with_all_names(values: dict[Any, Any]) -> dict[Any, Any]:
    """The same where names become one: the second ``Size`` is ``Size (2)``, so that no value is lost."""
    cleaned: dict[Any, Any] = {}
    numbers: dict[Any, int] = {}
    for name, value in values.items():
        free = wanted = clean_value(name)
        while free in cleaned:
            numbers[wanted] = numbers.get(wanted, 1) + 1
            free = f"{wanted} ({numbers[wanted]})".lstrip()
        cleaned[free] = clean_value(value)
    return cleaned
