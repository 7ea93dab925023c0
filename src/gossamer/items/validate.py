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
from difflib import get_close_matches
from enum import Enum
from functools import cache
from typing import Any, get_args, get_type_hints
from uuid import UUID

import msgspec
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUndefinedAnnotation, PydanticUserError
from typing_extensions import TypedDict  # pydantic takes the one of Python from 3.12 on

from gossamer.core.errors import DropItem, UnstorableItemError
from gossamer.core.storable import MAX_DEPTH
from gossamer.items.clean import dataclass_values, model_values, with_values
from gossamer.items.item import assigned_fields

MAX_REASON = 200
MAX_VALUES = 1_000_000
"""Values of one item, those within lists and dicts included."""
MAX_ITEM_BYTES = 64 * 1024 * 1024
"""The limit of an item's JSON: PostgreSQL refuses text above 255 MB, and several items share memory."""

_NO_TYPES = (PydanticSchemaGenerationError, PydanticUndefinedAnnotation, PydanticUserError)

PLAIN = frozenset({str, int, bool, type(None)})
ENCODABLE = (str, int, date, time, timedelta, Enum, UUID)
"""Types that JSON carries as they are or as a string with one meaning (ISO 8601 for times)."""

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
    """Return the error that drops an item: ``Product.price: not a number``."""
    where = f"{kind}.{place}" if place else kind
    return DropItem(f"{where}: {problem}"[:MAX_REASON])


def unstorable_error(kind: str, place: str, problem: str) -> UnstorableItemError:
    """Return the error of an item that cannot be stored, with the same words."""
    return UnstorableItemError(str(drop_error(kind, place, problem)))


def to_drop_error(kind: str, error: ValidationError) -> DropItem:
    """Return the first problem that pydantic found; the index within a list is left out."""
    problem = error.errors(include_url=False, include_context=False)[0]
    place = "".join("[]" if isinstance(part, int) else f".{part}" for part in problem["loc"]).lstrip(".")
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Input ")
    wrong = PHRASES.get(problem["type"], message.replace("should be a valid", "not a valid"))
    dropped = drop_error(kind, place, _name_slip(problem["input"], wrong))
    if problem["input"] is None and len(problem["loc"]) == 1:
        dropped.empty_field = place
    return dropped


def _name_slip(value: Any, wrong: str) -> str:
    """Return the message; add the value's type if only a bug in the spider explains it, not a value of the
    page."""
    if value is None:
        return f"None, {wrong}"
    if isinstance(value, list) and wrong.startswith("not a "):
        return f"a list, {wrong}: getall() gives a list, get() the first value"
    return wrong


def revalidate_item(item: BaseModel, values: dict[str, Any]) -> BaseModel:
    """Return a checked item of the same class with these values. Raises :class:`DropItem`.

    If the item was checked before, field validators run only on later assignments, so that no validator gets
    its own result; validators of the whole model get all of it.
    """
    kind = type(item)
    names = assigned_fields(item)
    try:
        if names is None or kind.__pydantic_decorators__.model_validators:
            return kind.model_validate(values)
        checked = item.model_copy(update=values)
        for name in filter(names.__contains__, values):
            kind.__pydantic_validator__.validate_assignment(checked, name, values[name])
    except ValidationError as error:
        raise to_drop_error(kind.__name__, error) from None
    return checked


@cache
def adapter_for(kind: type) -> TypeAdapter[Any] | None:
    """Return the type adapter of a dataclass; ``None`` if its annotations cannot be checked."""
    try:
        return TypeAdapter(kind)
    except _NO_TYPES:
        return None


@cache
def field_checker_of(kind: type) -> TypeAdapter[Any] | None:
    """Return a checker for a dict of a dataclass's fields; ``None`` as for :func:`adapter_for`."""
    try:
        hints = get_type_hints(kind, include_extras=True)
        fields = {field.name: hints[field.name] for field in dataclasses.fields(kind)}
        make_dict: Any = TypedDict
        checked = make_dict(kind.__name__, fields, total=False)
        checked.__pydantic_config__ = getattr(kind, "__pydantic_config__", ConfigDict())
        return TypeAdapter(checked)
    except (*_NO_TYPES, NameError, TypeError):
        return None


def checked_dataclass(item: Any, values: dict[str, Any]) -> Any:
    """A dataclass with these values, checked like those of an ``Item``, as far as its annotations say how.

    It is not made anew: its ``__init__`` and ``__post_init__`` have run, and may do something else again.
    """
    kind: type = type(item)
    check = field_checker_of(kind)
    try:
        return with_values(item, values if check is None else check.validate_python(values))
    except ValidationError as error:
        raise to_drop_error(kind.__name__, error) from None


def check_shape(kind: str, values: Mapping[Any, Any]) -> bool:
    """Refuse values that are nested too deep, cyclic or endless. Return whether they contain a set.

    Raises :class:`UnstorableItemError`. Only containers are examined, so that later code may walk them
    safely.
    """
    left, has_sets = MAX_VALUES, False
    waiting = [
        (held, str(name), 1)
        for name, value in values.items()
        if type(value) not in SCALARS and (held := _held_by(value)) is not None
    ]
    while waiting:
        container, name, depth = waiting.pop()
        left -= len(container)
        has_sets = has_sets or isinstance(container, set | frozenset)
        if depth > MAX_DEPTH:
            raise unstorable_error(kind, name, "nested too deep, or contains itself")
        if left < 0:
            raise unstorable_error(kind, name, f"more than {MAX_VALUES:,} values")
        waiting += [
            (held, name, depth + 1)
            for value in container
            if type(value) not in SCALARS and (held := _held_by(value)) is not None
        ]
    return has_sets


def check_finite(kind: str, values: Mapping[Any, Any]) -> None:
    """Refuse numbers that JSON does not have, wherever they are: they would become ``null``.

    Raises :class:`DropItem`. ``values`` have passed :func:`check_shape`.
    """
    waiting = [(value, str(name)) for name, value in values.items()]
    while waiting:
        value, name = waiting.pop()
        if isinstance(value, float):
            if not math.isfinite(value):
                raise drop_error(kind, name, PHRASES["finite_number"])
        elif type(value) not in SCALARS and (held := _held_by(value)) is not None:
            waiting += [(inner, name) for inner in held]


@cache
def checks_numbers(kind: type[BaseModel]) -> bool:
    """Whether a class sees to it that the numbers of a flat item are finite: no field takes just anything."""
    checks = kind.model_config.get("allow_inf_nan") is False and kind.model_config.get("extra") != "allow"
    return checks and not any(_takes_all(field.annotation) for field in kind.model_fields.values())


def _takes_all(annotation: Any) -> bool:
    return annotation in (Any, object) or any(map(_takes_all, get_args(annotation)))


def _held_by(value: Any) -> Collection[Any] | None:
    """Return the values in a list, dict, set, model, struct or dataclass; ``None``: it is none of these."""
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, list | tuple | set | frozenset):
        return value
    if isinstance(value, BaseModel):
        return model_values(value).values()
    if isinstance(value, msgspec.Struct):
        return [getattr(value, name) for name in value.__struct_fields__]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclass_values(value).values()
    return None


def check_plain(kind: str, values: Mapping[Any, Any]) -> None:
    """Refuse values that JSON cannot carry, naming the place. Raises :class:`UnstorableItemError`."""
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
    elif isinstance(value, BaseModel | msgspec.Struct) or dataclasses.is_dataclass(value):
        check_finite(kind, {place: value})
    else:
        name = type(value).__name__
        hint = ": get() gives its text, getall() the texts of all" if name == "Selector" else ""
        raise unstorable_error(kind, place, f"a {name} cannot be stored as JSON{hint}")


def _meant_by(name: str, values: Mapping[str, Any]) -> str:
    near = get_close_matches(name, [own for own in values if isinstance(own, str)], 1)
    return f"; is {near[0]} meant?" if near else ""


def check_required(kind: str, values: Mapping[str, Any], required: tuple[str, ...]) -> None:
    """Refuse items whose required fields are absent or empty; zero and ``False`` are values."""
    for name in required:
        value = values.get(name)
        if value is None or value in ("", [], {}, ()):
            why = (
                "required, but empty" if name in values else f"required, but missing{_meant_by(name, values)}"
            )
            dropped = drop_error(kind, name, why)
            dropped.empty_field = name if value is None else ""
            raise dropped
