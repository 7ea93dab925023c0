"""Whether an item holds what its type promises, said in few words when not.

Reasons are counted, so they name the place and the rule (``Product.price: not a number``) and never
the value, and are bounded in length.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any
from uuid import UUID

import msgspec
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUndefinedAnnotation, PydanticUserError

from gossamer.core.errors import DropItem, UnstorableItemError
from gossamer.core.storable import MAX_DEPTH

MAX_REASON = 200
MAX_VALUES = 1_000_000
"""Values of one item, those within lists and dicts included."""
MAX_ITEM_BYTES = 64 * 1024 * 1024
"""Of an item's JSON: PostgreSQL takes no text above 255 MB, and several items are in memory at once."""

PLAIN = frozenset({str, int, bool, type(None)})
ENCODABLE = (str, int, date, time, timedelta, Enum, UUID)
"""What JSON carries by itself or as a string with one meaning (ISO 8601 for times)."""

SCALARS = frozenset({str, int, float, bool, type(None), Decimal, date, datetime})
"""Types of values that hold no others, and that cannot be changed, only be replaced."""

PHRASES = {
    "missing": "missing",
    "finite_number": "not a finite number",
    **dict.fromkeys(("decimal_parsing", "decimal_type", "float_parsing", "float_type"), "not a number"),
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "not a whole number"),
    "string_type": "not a string",
}


def drop_error(kind: str, place: str, problem: str) -> DropItem:
    """The error that drops an item: ``Product.price: not a number``."""
    where = f"{kind}.{place}" if place else kind
    return DropItem(f"{where}: {problem}"[:MAX_REASON])


def unstorable_error(kind: str, place: str, problem: str) -> UnstorableItemError:
    """The error of an item that cannot be stored, with the same words."""
    return UnstorableItemError(str(drop_error(kind, place, problem)))


def to_drop_error(kind: str, error: ValidationError) -> DropItem:
    """The first problem that pydantic found; the index within a list is left out."""
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = "".join("[]" if isinstance(part, int) else f".{part}" for part in problem["loc"]).lstrip(".")
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return drop_error(
        kind, place, PHRASES.get(problem["type"], message.replace("should be a valid", "not a valid"))
    )


def revalidate_item(item: BaseModel, values: dict[str, Any]) -> BaseModel:
    """A checked item of the same class from these values. Raises :class:`DropItem`."""
    try:
        return type(item).model_validate(values)
    except ValidationError as error:
        raise to_drop_error(type(item).__name__, error) from None


@cache
def adapter_for(kind: type) -> TypeAdapter[Any] | None:
    """What checks a dataclass; ``None`` when its annotations say nothing that can be checked."""
    try:
        return TypeAdapter(kind)
    except (PydanticSchemaGenerationError, PydanticUndefinedAnnotation, PydanticUserError):
        return None


def checked_dataclass(item: Any, values: dict[str, Any]) -> Any:
    """A dataclass checked like an ``Item``: a new one, or ``values`` when it cannot be checked."""
    cls: type = type(item)
    check = adapter_for(cls)
    if check is None:
        return values
    given = {field.name: values[field.name] for field in dataclasses.fields(item) if field.init}
    try:
        return check.validate_python(given)
    except ValidationError as error:
        raise to_drop_error(type(item).__name__, error) from None


def check_shape(kind: str, values: Mapping[Any, Any]) -> None:
    """Refuse what is nested too deep, contains itself, or has no end. Raises :class:`UnstorableItemError`.

    It looks at what holds other values only, so that all who come after it may follow them without care.
    """
    left = MAX_VALUES
    waiting = [
        (held, str(name), 1)
        for name, value in values.items()
        if type(value) not in SCALARS and (held := _held_by(value)) is not None
    ]
    while waiting:
        container, name, depth = waiting.pop()
        left -= len(container)
        if depth > MAX_DEPTH:
            raise unstorable_error(kind, name, "nested too deep, or contains itself")
        if left < 0:
            raise unstorable_error(kind, name, f"more than {MAX_VALUES:,} values")
        waiting += [
            (held, name, depth + 1)
            for value in container
            if type(value) not in SCALARS and (held := _held_by(value)) is not None
        ]


def _held_by(value: Any) -> Collection[Any] | None:
    """The values in a list, a dict, a set, a model or a dataclass; ``None`` for what is none of these."""
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, list | tuple | set | frozenset):
        return value
    if isinstance(value, BaseModel):
        return value.__dict__.values()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    return None


def check_plain(kind: str, values: Mapping[Any, Any]) -> None:
    """Refuse what JSON cannot carry, naming the place. Raises :class:`UnstorableItemError`."""
    for name, value in values.items():
        if not isinstance(name, str):
            raise unstorable_error(kind, "", f"a field is named {name!r}, which is not a string")
        if type(value) not in PLAIN:
            _check_value(kind, name, value)


def _check_value(kind: str, place: str, value: Any) -> None:
    if type(value) in PLAIN or isinstance(value, ENCODABLE):
        return
    if isinstance(value, float | Decimal):
        if not (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)):
            raise unstorable_error(kind, place, "not a finite number")
    elif isinstance(value, dict):
        for name, inner in value.items():
            if not isinstance(name, str):
                raise unstorable_error(kind, place, f"has the key {name!r}; keys must be strings")
            _check_value(kind, f"{place}.{name}", inner)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            _check_value(kind, f"{place}[]", inner)
    elif not (isinstance(value, BaseModel | msgspec.Struct) or dataclasses.is_dataclass(value)):
        raise unstorable_error(kind, place, f"a {type(value).__name__} cannot be stored as JSON")


def check_required(kind: str, values: Mapping[str, Any], required: tuple[str, ...]) -> None:
    """Refuse items whose required fields are absent or empty; zero and ``False`` are values."""
    for name in required:
        value = values.get(name)
        if value is None or value in ("", [], {}, ()):
            raise drop_error(kind, name, "required, but empty")
