"""Attributes of a spider that mean nothing, and are named almost like one that does."""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterator

from gossamer.config.settings import setting_fields
from gossamer.spiders.spider import Spider

NEAR = 0.85
"""How alike two names are at least: ``start_url`` and ``start_urls`` are, ``page`` and ``parse`` are not."""
SCRAPY_NAMES = {"custom_settings": "settings"}
"""What Scrapy calls it, where that is not alike."""


def find_slips(spider_class: type[Spider]) -> list[str]:
    """A sentence on each attribute that is probably misspelt.

    That is one that no method of the class reads, where the attribute that is meant is not set.
    """
    own: dict[str, object] = {}
    for kind in spider_class.__mro__:
        if not kind.__module__.startswith("gossamer."):
            own = {**vars(kind), **own}
    read = {name for value in own.values() for name in _names_in(value)}
    known = [name for name, value in vars(Spider).items() if not name.startswith("_") and not callable(value)]
    settings = [name for name in setting_fields() if "." not in name]
    free = [name for name in (*known, *settings) if name not in own]
    slips = []
    for name, value in own.items():
        is_plain = not (name.startswith("_") or callable(value) or isinstance(value, property))
        if not is_plain or name in read or name in settings or hasattr(Spider, name):
            continue
        meant = SCRAPY_NAMES.get(name) or next(iter(difflib.get_close_matches(name, free, 1, NEAR)), "")
        if meant and meant not in own:
            slips.append(f"the spider {spider_class.name!r} has an attribute {name}: is {meant} meant?")
    return slips


def _names_in(value: object) -> Iterator[str]:
    """The names of attributes that a function, or what is wrapped in it, reads."""
    for inner in (value, *(getattr(value, part, None) for part in ("__func__", "fget", "__wrapped__"))):
        if isinstance(code := getattr(inner, "__code__", None), types.CodeType):
            yield from _names_in_code(code)


def _names_in_code(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in_code(constant)
