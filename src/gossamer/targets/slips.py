"""Attributes of a spider that mean nothing, and are named almost like one that does."""

from __future__ import annotations

import difflib
import inspect
import types
from collections.abc import Iterator

from gossamer.config.settings import setting_fields
from gossamer.spiders.spider import Spider

NEAR = 0.85
"""How alike two names are at least: ``start_url`` and ``start_urls`` are, ``page`` and ``parse`` are not."""
FOREIGN_NAMES = {
    "custom_setting": "settings",
    "custom_settings": "settings",
    "domains": "allowed_domains",
    "item_pipelines": "pipelines",
    "require_field": "require_fields",
    "required_fields": "require_fields",
    "start_requests_urls": "start_urls",
    "url": "start_urls",
    "urls": "start_urls",
}
"""Names of other frameworks that are not similar."""
_OWN = frozenset({"parse", "parse_start_url", "start", "log_in", "start_requests"})
"""Methods whose parameters are their author's: callbacks have those of their requests."""


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
        meant = FOREIGN_NAMES.get(name) or next(iter(difflib.get_close_matches(name, free, 1, NEAR)), "")
        if meant and meant not in own:
            slips.append(f"the spider {spider_class.name!r} has an attribute {name}: is {meant} meant?")
    return slips


def find_overridden(spider_class: type[Spider]) -> str:
    """Why an attribute cannot be: it takes the place of a method that Gossamer calls; mostly empty."""
    for kind in spider_class.__mro__:
        if kind is Spider:
            break
        if kind.__module__.partition(".")[0] == "gossamer":
            continue
        for name, value in vars(kind).items():
            theirs = vars(Spider).get(name)
            if name.startswith("__") or not isinstance(theirs, types.FunctionType):
                continue
            if not callable(getattr(value, "__func__", value)):
                return _describe_value(spider_class, name, value)
            if name not in _OWN and isinstance(value, types.FunctionType) and not _fits(value, theirs):
                return (
                    f"the spider {spider_class.name!r} has a method {name}{inspect.signature(value)}, and "
                    f"Gossamer calls {name}{_plain_signature(theirs)}: give it another name, or these "
                    "parameters"
                )
    return ""


def _describe_value(spider_class: type[Spider], name: str, value: object) -> str:
    free = [one for one, held in vars(Spider).items() if not one.startswith("_") and not callable(held)]
    near = difflib.get_close_matches(name, free, 1, NEAR)
    meant = f"is {near[0]} meant?" if near else "give it another name"
    kind = type(value).__name__
    return f"the spider {spider_class.name!r} has a {kind} named {name}, the name of a method: {meant}"


def _fits(own: types.FunctionType, theirs: types.FunctionType) -> bool:
    """Whether a method can be called as the one that it takes the place of."""
    arguments = [None for one in inspect.signature(theirs).parameters.values() if one.default is one.empty]
    try:
        inspect.signature(own).bind(*arguments)
    except TypeError:
        return False
    return True


def _plain_signature(method: types.FunctionType) -> str:
    return f"({', '.join(inspect.signature(method).parameters)})"


def _names_in(value: object) -> Iterator[str]:
    """Yield the names of attributes that a function, also a wrapped one, reads."""
    for inner in (value, *(getattr(value, part, None) for part in ("__func__", "fget", "__wrapped__"))):
        if isinstance(code := getattr(inner, "__code__", None), types.CodeType):
            yield from _names_in_code(code)


def _names_in_code(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in_code(constant)
