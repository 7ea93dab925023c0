"""An item as its type promises it, while it is still an item: for stages that work with typed values."""

from __future__ import annotations

import dataclasses
from typing import Any

from pydantic import BaseModel

from gossamer.core.errors import UnstorableItemError
from gossamer.items.clean import clean_dict, dataclass_values, model_values
from gossamer.items.item import Item, is_misfit
from gossamer.items.validate import check_shape, checked_dataclass, revalidate_item


def check_item(item: Any) -> Any:
    """The item with clean text and values of its fields' types; a copy where anything had to be changed.

    Raises :class:`~gossamer.core.errors.DropItem` for one that does not hold what its type promises, and
    :class:`UnstorableItemError` for what is no item.
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
    raise UnstorableItemError(f"a {kind} is not an item: yield an Item, a dict or a dataclass")


def value_of(item: Any, name: str) -> Any:
    """A field of an item of any kind; ``None``: it has none of that name."""
    return item.get(name) if isinstance(item, dict) else getattr(item, name, None)
