"""The kinds of values that the fields of a spider's items declare."""

from __future__ import annotations

import dataclasses
import datetime
import sys
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from types import ModuleType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from gossamer.core.results import PLAIN_TYPE
from gossamer.policy.quality import ValueKind

_KINDS: Mapping[type, ValueKind] = {  # the first that fits: bool is an int, datetime a date
    str: ValueKind.TEXT,
    bool: ValueKind.BOOLEAN,
    int: ValueKind.NUMBER,
    float: ValueKind.NUMBER,
    Decimal: ValueKind.DECIMAL,
    datetime.date: ValueKind.DATE,
    list: ValueKind.LIST,
    tuple: ValueKind.LIST,
    set: ValueKind.LIST,
    frozenset: ValueKind.LIST,
    dict: ValueKind.OBJECT,
    BaseModel: ValueKind.OBJECT,
}
_ANYTHING = ""
MOST_FIELDS = 400
"""Fields of a spider's types that are kept with a job; a spider that can name more keeps none."""


def declared_kinds(spider: type, types: Iterable[str]) -> dict[str, str]:
    """The kinds of the fields of these types of items, by ``Product.price``; empty: a value may be anything.

    Types that declare nothing, such as dicts, have no fields here.
    """
    named = [name for name in types if name != PLAIN_TYPE]
    if not named:
        return {}
    from gossamer.items.restoring import ItemClasses  # most crawls have dicts alone

    classes = ItemClasses(spider)
    found: dict[str, str] = {}
    for name in named:
        kind = classes.find_class(name)
        if kind is not None:
            found |= {f"{name}.{field}": _kind_of(hint) for field, hint in _hints_of(kind).items()}
    return found


def nameable_kinds(spider: type) -> dict[str, str] | None:
    """The kinds of the fields of all types that a spider's modules can name; ``None``: there are too many.

    For a fleet, whose supervisor has items without their spider.
    """
    kinds = declared_kinds(spider, sorted({kind.__name__ for kind in _nameable_types(spider)}))
    return kinds if len(kinds) <= MOST_FIELDS else None


def _nameable_types(spider: type) -> Iterator[type]:
    """Yield the types in the spider, in its modules and those of its bases, and in their imports."""
    bases = [one for one in spider.__mro__ if _is_of_user(one.__module__)]
    modules = [sys.modules[one.__module__] for one in bases if one.__module__ in sys.modules]
    named = [value for module in modules for value in vars(module).values() if isinstance(value, ModuleType)]
    for place in (*bases, *modules, *(one for one in named if _is_of_user(one.__name__))):
        for value in list(vars(place).values()):
            if isinstance(value, type) and _is_of_user(value.__module__):
                yield value


def _is_of_user(module: str) -> bool:
    return module.partition(".")[0] not in ("gossamer", "pydantic", *sys.stdlib_module_names)


def _hints_of(kind: type) -> dict[str, Any]:
    if issubclass(kind, BaseModel):
        return {name: field.annotation for name, field in kind.model_fields.items()}
    try:
        hints = get_type_hints(kind)
    except (NameError, TypeError, AttributeError, SyntaxError):  # names that only type checkers know
        hints = {}
    return {field.name: hints.get(field.name, Any) for field in dataclasses.fields(kind)}  # type: ignore[arg-type]


def _kind_of(hint: Any) -> str:
    origin = get_origin(hint)
    if origin is Annotated:
        return _kind_of(get_args(hint)[0])
    if origin in (Union, UnionType):
        kinds = {_kind_of(one) for one in get_args(hint) if one is not type(None)}
        return kinds.pop() if len(kinds) == 1 else _ANYTHING
    if origin is Literal:
        kinds = {_kind_of(type(one)) for one in get_args(hint)}
        return kinds.pop() if len(kinds) == 1 else _ANYTHING
    named = origin or hint
    if not isinstance(named, type):
        return _ANYTHING
    return next((kind for base, kind in _KINDS.items() if issubclass(named, base)), _ANYTHING)
