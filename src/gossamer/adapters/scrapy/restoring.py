"""Restore stored items as objects of their classes, for code that checks types and fields."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from itemadapter import ItemAdapter
from scrapy import Field, Item

from gossamer.adapters.scrapy.crawler import AdaptedCrawler
from gossamer.adapters.scrapy.items import PLAIN_KIND
from gossamer.core.jobs import StoredItem


def restore_item(stored: StoredItem, crawler: AdaptedCrawler) -> Any:
    """Return the spider's item with its stored values; a dict if its class is not found.

    The serializers of fields were applied when the item was stored; the object has none.
    """
    kind = _find_class(stored.type, crawler)
    if kind is None:
        return stored.data
    if issubclass(kind, Item):
        plain = _without_serializers(kind)
        item = plain.__new__(plain)
        item._values = dict(stored.data)
        return item
    if hasattr(kind, "model_construct"):
        return kind.model_construct(**stored.data)
    item = object.__new__(kind)
    if any(
        "serializer" in ItemAdapter(item).get_field_meta(name) for name in ItemAdapter(item).field_names()
    ):
        return stored.data
    for name, value in stored.data.items():
        object.__setattr__(item, name, value)
    return item


def _find_class(name: str, crawler: AdaptedCrawler) -> Any:
    """Return the class of a name, if this process has seen it, or the spider's modules or Scrapy know it."""
    known = crawler.item_types
    if name not in known:
        known[name] = None if name == PLAIN_KIND else _search_class(name, crawler.spidercls)
    return known[name]


def _search_class(name: str, spider_class: type) -> Any:
    for place in spider_class.__mro__:
        found = vars(sys.modules.get(place.__module__, object)).get(name)
        if isinstance(found, type) and ItemAdapter.is_item_class(found):
            return found
    derived = {kind for kind in _derived_from(Item) if kind.__name__ == name}
    return derived.pop() if len(derived) == 1 else None


def _derived_from(kind: Any) -> Iterator[Any]:
    for derived in kind.__subclasses__():
        yield derived
        yield from _derived_from(derived)


@lru_cache(256)
def _without_serializers(kind: Any) -> Any:
    """Return the class, or a subclass with the same fields without serializers."""
    if not any("serializer" in meta for meta in kind.fields.values()):
        return kind
    fields = {
        name: Field({key: value for key, value in meta.items() if key != "serializer"})
        for name, meta in kind.fields.items()
    }
    return type(kind.__name__, (kind,), {"__module__": kind.__module__, **fields})
