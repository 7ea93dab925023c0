"""Items: all that Scrapy takes as one (dicts, ``scrapy.Item``, dataclasses and others), stored as they are.

Each is known by the request that its page answers and by its place among the items of that page: equal items
are all kept, as Scrapy keeps them, and a page that is done again stores the same ones again.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from typing import Any

from itemadapter import ItemAdapter, is_item
from scrapy.http import Request, Response

from gossamer.core.foreign import ForeignItem
from gossamer.core.storable import as_base_type, without_surrogates

PLAIN_KIND = "item"
"""The type of dicts, as everywhere."""
MAX_DEPTH = 60
"""Deeper values stay as they are; the store reports them."""


class AdaptedItem(ForeignItem):
    """One item on its way to the store.

    ``item`` is the object that pipelines see, and may replace. ``response`` is Scrapy's response on which
    it was found, or the failure of an errback.
    """

    __slots__ = ("_key", "item", "response")

    def __init__(self, item: Any, key: str, response: Any = None) -> None:
        self.item = item
        self.response = response
        self._key = key

    def __repr__(self) -> str:
        return f"<AdaptedItem {self._key} {self.kind}>"

    @property
    def kind(self) -> str:
        """The name of its class; of dicts ``item``."""
        return PLAIN_KIND if isinstance(self.item, dict) else type(self.item).__name__

    @property
    def key(self) -> str:
        """The request of its page, and its place there."""
        return self._key

    def to_values(self) -> dict[str, Any]:
        """Return the fields as Scrapy's feed exports write them, with their serializers."""
        item = self.item
        if type(item) is dict:
            return {_to_name(name): to_plain(value) for name, value in item.items()}
        adapter = ItemAdapter(item)
        populated = set(adapter)
        names = dict.fromkeys([*(name for name in adapter.field_names() if name in populated), *adapter])
        values = {}
        for name in names:
            serialize = adapter.get_field_meta(name).get("serializer")
            value = adapter[name]
            values[_to_name(name)] = to_plain(value if serialize is None else serialize(value))
        return values


def is_output(thing: Any) -> bool:
    """Return whether Scrapy accepts a value as an item."""
    return type(thing) is dict or is_item(thing)


def to_plain(value: Any, depth: int = 0) -> Any:
    """Return a value in JSON's types; others are converted like by Scrapy's exporters."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() else without_surrogates(value)
    if kind in _AS_THEY_ARE or depth > MAX_DEPTH:
        return value
    for kinds, write in _WRITERS:
        if isinstance(value, kinds):
            return write(value, depth + 1)
    return _write_other(value, depth + 1)


def _write_other(value: Any, depth: int) -> Any:
    plain = as_base_type(value)
    if type(plain) in _AS_THEY_ARE:
        return plain
    if is_item(value):
        return to_plain(ItemAdapter(value).asdict(), depth)
    if hasattr(value, "__iter__"):
        return [to_plain(one, depth) for one in value]
    return str(value)


def _write_list(values: Any, depth: int) -> Any:
    return [to_plain(one, depth) for one in values]


def _write_dict(values: Any, depth: int) -> Any:
    return {_to_name(name): to_plain(one, depth) for name, one in values.items()}


def _to_name(name: Any) -> str:
    if type(name) is str:
        return name if name.isascii() else without_surrogates(name)
    return str(to_plain(name))


_AS_THEY_ARE = frozenset({int, float, bool, type(None)})
_WRITERS: tuple[tuple[Any, Callable[[Any, int], Any]], ...] = (
    (dict, _write_dict),
    ((list, tuple, set, frozenset), _write_list),
    (Enum, lambda value, depth: to_plain(value.value, depth)),
    (str, lambda value, _: without_surrogates(str.__str__(value))),
    ((bytes, bytearray), lambda value, _: value.decode("utf-8", "replace")),
    ((datetime.datetime, datetime.date, datetime.time), lambda value, _: value.isoformat()),
    (Decimal, lambda value, _: str(value)),
    (Request, lambda value, _: f"<{type(value).__name__} {value.method} {value.url}>"),
    (Response, lambda value, _: f"<{type(value).__name__} {value.status} {value.url}>"),
)
"""Conversions of types that JSON lacks."""
