"""Store values of ``meta`` and ``cb_kwargs`` as JSON, and restore items, dates, sets and similar types.

They are never pickled, since another party may have written stored data. Classes are looked up by name
among loaded ones; nothing is imported.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from scrapy import Item

from gossamer.adapters.scrapy.page_methods import is_page_method
from gossamer.core.storable import MAX_BITS, without_surrogates

TAG = "$"
"""The key of a JSON object that names the type of its content."""
MAX_DEPTH = 50
SCALARS = frozenset({str, int, float, bool, type(None)})


def is_plain(value: Any) -> bool:
    """Return whether JSON and every store keep a value unchanged."""
    kind = type(value)
    if kind is str:
        return value.isascii() or without_surrogates(value) is value
    if kind is float:
        return math.isfinite(value)
    return kind in SCALARS and (kind is not int or value.bit_length() <= MAX_BITS)


class NotStorableError(ValueError):
    """A value has no stored form: it stays in its process."""


def to_stored(value: Any, depth: int = 0) -> Any:
    """Return the JSON of a value. Raises :class:`NotStorableError`."""
    kind = type(value)
    if is_plain(value):
        return value
    if depth > MAX_DEPTH:
        raise NotStorableError(kind.__name__)
    if kind is dict:
        return _dict_to_stored(value, depth)
    if kind is list or kind.__name__ in _SEQUENCES:
        ones = [to_stored(one, depth + 1) for one in value]
        return ones if kind is list else {TAG: kind.__name__, "of": ones}
    if kind in _PLAIN:
        return {TAG: kind.__name__, "of": _PLAIN[kind][0](value)}
    return _object_to_stored(value, depth)


def _dict_to_stored(value: dict[Any, Any], depth: int) -> Any:
    if TAG not in value and all(type(name) is str and is_plain(name) for name in value):
        return {name: to_stored(one, depth + 1) for name, one in value.items()}
    pairs = [[to_stored(name, depth + 1), to_stored(one, depth + 1)] for name, one in value.items()]
    return {TAG: "dict", "of": pairs}


def _object_to_stored(value: Any, depth: int) -> Any:
    kind = type(value)
    if _find_class(kind.__module__, kind.__qualname__) is not kind:
        raise NotStorableError(kind.__name__)
    if isinstance(value, Item):
        fields = dict(value)
    elif is_page_method(value):
        fields = {name: getattr(value, name) for name in ("method", "args", "kwargs")}
    elif dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    else:
        raise NotStorableError(kind.__name__)
    stored = {name: to_stored(one, depth + 1) for name, one in fields.items()}
    return {TAG: f"{kind.__module__}:{kind.__qualname__}", "of": stored}


def from_stored(value: Any) -> Any:
    """Return the value of its JSON. Raises :class:`NotStorableError` if its class no longer exists."""
    if isinstance(value, list):
        return [from_stored(one) for one in value]
    if not isinstance(value, dict):
        return value
    tag = value.get(TAG)
    if tag is None:
        return {name: from_stored(one) for name, one in value.items()}
    return _tagged_from_stored(tag, value["of"])


def _tagged_from_stored(tag: str, of: Any) -> Any:
    if tag == "dict":
        return {from_stored(name): from_stored(one) for name, one in of}
    if tag in _SEQUENCES:
        return _SEQUENCES[tag](from_stored(one) for one in of)
    for plain, (_, read) in _PLAIN.items():
        if plain.__name__ == tag:
            return read(of)
    return _make_object(tag, {name: from_stored(one) for name, one in of.items()})


def _make_object(tag: str, fields: dict[str, Any]) -> Any:
    kind = _find_class(*tag.partition(":")[::2])
    if kind is not None and kind.__name__ == "PageMethod":
        return kind(fields["method"], *fields["args"], **fields["kwargs"])
    if kind is None or not (issubclass(kind, Item) or dataclasses.is_dataclass(kind)):
        raise NotStorableError(tag)
    if issubclass(kind, Item):
        return kind(fields)
    made = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def _find_class(module: str, path: str) -> type | None:
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) else None


_SEQUENCES: dict[str, Callable[[Any], Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset}
_PLAIN: dict[type, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
    bytes: (lambda value: b64encode(value).decode(), b64decode),
    float: (repr, float),
    int: (hex, lambda text: int(text, 16)),
    str: (
        lambda value: b64encode(value.encode("utf-8", "surrogatepass")).decode(),
        lambda text: b64decode(text).decode("utf-8", "surrogatepass"),
    ),
    datetime: (datetime.isoformat, datetime.fromisoformat),
    date: (date.isoformat, date.fromisoformat),
    Decimal: (str, Decimal),
}
