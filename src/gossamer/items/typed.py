"""An item as its type promises it, while it is still an item: for stages that work with typed values."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncGenerator, Coroutine, Generator
from typing import Any

from pydantic import BaseModel

from gossamer.core.errors import UnstorableItemError
from gossamer.items.clean import clean_dict, dataclass_values, model_values
from gossamer.items.item import Item, is_misfit
from gossamer.items.validate import check_shape, checked_dataclass, revalidate_item

_MEANT: tuple[tuple[Any, str], ...] = (
    (Generator, "`yield from` yields its items, `yield` does not"),
    (Coroutine | AsyncGenerator, "call it with `await`, or in `async for`"),
    (list | tuple | set, "`yield from` gives its elements, not `yield`"),
    (str, "yield an Item, a dict or a dataclass that holds it"),
)
"""Likely intentions behind values of other types."""


def check_item(item: Any) -> Any:
    """Return the item with clean text and values of its fields' types; a copy if anything had to change.

    Raises :class:`~gossamer.core.errors.DropItem` for an item that does not match its type, and
    :class:`UnstorableItemError` for a value that is not an item.
    """
    kind = type(item).__name__
    if isinstance(item, BaseModel):
        given = model_values(item)
        check_shape(kind, given)
        values = clean_dict(given)
        if isinstance(item, Item) and is_misfit(item):
            return revalidate_item(item, values)
        return item if values is given else item.model_copy(update=values)
    if isinstance(item, dict):
        check_shape(kind, item)
        return clean_dict(item)
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        given = dataclass_values(item)
        check_shape(kind, given)
        return checked_dataclass(item, clean_dict(given))
    raise UnstorableItemError(describe_stranger(item))


def describe_stranger(thing: Any) -> str:
    """Describe a yielded value that is not an item, and the likely intention."""
    if isinstance(thing, type):
        return f"the class {thing.__name__} is not an item: make one, {thing.__name__}(...)"
    what = "None" if thing is None else f"a {type(thing).__name__}"
    meant = "yield an Item, a dict or a dataclass"
    if isinstance(thing, str) and thing.startswith(("http://", "https://", "/")):
        meant = "to follow a link, yield response.follow(url)"
    else:
        meant = next((said for kinds, said in _MEANT if isinstance(thing, kinds)), meant)
    return f"{what} is not an item: {meant}"


def value_of(item: Any, name: str) -> Any:
    """Return a field of an item of any kind; ``None``: it has none of that name."""
    return item.get(name) if isinstance(item, dict) else getattr(item, name, None)
