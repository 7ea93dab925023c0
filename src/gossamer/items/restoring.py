"""Restores a stored item to the form that the spider yielded: an ``Item``, a dataclass or a dict."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from pydantic import BaseModel, TypeAdapter, ValidationError

from gossamer.core.errors import UsageError
from gossamer.core.jobs import StoredItem
from gossamer.core.results import PLAIN_TYPE
from gossamer.items.item import Item
from gossamer.items.validate import adapter_for, field_checker_of


class ItemClasses:
    """The classes of a spider's items, by their names, each looked for when the first item of it comes.

    First in the spider's own class, then in the modules of it and of its bases, then among all that derive
    from :class:`~gossamer.items.item.Item` and are called so, if that is only one.
    """

    def __init__(self, spider: type) -> None:
        self._spider = spider
        self._known: dict[str, type | None] = {PLAIN_TYPE: None}

    def find_class(self, name: str) -> type | None:
        """Return the class of that name; ``None``: there is none, or more than one."""
        if name not in self._known:
            self._known[name] = self._search(name)
        return self._known[name]

    def _search(self, name: str) -> type | None:
        for place in self._spider.__mro__:
            for names in (vars(place), vars(sys.modules.get(place.__module__, object))):
                if found := _item_class_in(names, name):
                    return found
        found_anywhere = {kind for kind in _derived_from(Item) if kind.__name__ == name}
        return found_anywhere.pop() if len(found_anywhere) == 1 else None

    def restore_item(self, item: StoredItem) -> Any:
        """Return the item as the spider yielded it, with the stored values; a dict if its class is not known.

        Raises :class:`UsageError` for values that the class, as it is now, does not accept.
        """
        kind = self.find_class(item.type)
        if kind is None:
            return item.data
        try:
            return _make_item(kind, item.data)
        except (ValidationError, TypeError) as error:
            raise UsageError(
                f"the item {item.type} {item.key[:80]!r} of {item.url} cannot be made a {kind.__qualname__} "
                f"again: {error}; `stored_items()` gives it as it is stored"
            ) from error


def _item_class_in(names: Mapping[str, Any], name: str) -> type | None:
    """The model or dataclass among the values of a namespace that is called ``name``, whatever names it."""
    for value in list(names.values()):
        if isinstance(value, type) and value.__name__ == name and _is_item_class(value):
            return value
    return None


def _is_item_class(kind: type) -> bool:
    return issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind)


def _derived_from(kind: type[Item]) -> Iterator[type[Item]]:
    for derived in kind.__subclasses__():
        yield derived
        yield from _derived_from(derived)


def _make_item(kind: Any, data: dict[str, Any]) -> Any:
    """Return an object of a class with stored values, which are those of JSON."""
    if issubclass(kind, BaseModel):
        data = {name: data[name] for name in data if name not in kind.model_computed_fields}
        return _read_values(adapter_for(kind), data)
    return _make_dataclass(kind, _read_values(field_checker_of(kind), data))


def _read_values(adapter: TypeAdapter[Any] | None, data: dict[str, Any]) -> Any:
    if adapter is None:
        return data
    try:
        return adapter.validate_python(data)
    except ValidationError:  # a strict model takes a date from JSON, but not from text
        return adapter.validate_json(msgspec.json.encode(data))


def _make_dataclass(kind: type, values: Mapping[str, Any]) -> Any:
    """Return a dataclass as it was stored: its ``__post_init__`` ran before that. Raises ``TypeError``."""
    made: Any = object.__new__(kind)
    for field in dataclasses.fields(kind):
        if field.name in values:
            value = values[field.name]
        elif field.default is not dataclasses.MISSING:
            value = field.default
        elif field.default_factory is not dataclasses.MISSING:
            value = field.default_factory()
        else:
            raise TypeError(f"it has no field {field.name!r}")
        object.__setattr__(made, field.name, value)
    return made
