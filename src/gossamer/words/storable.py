"""What may stand in a request: only what can be stored, and found again by another worker."""

from __future__ import annotations

import math
from typing import Any

from gossamer.words.errors import NotJsonable, UsageError

MAX_BITS = 1024
"""Whole numbers in ``meta`` and ``cb_kwargs``; longer ones cannot be read back by every JSON parser."""


def check_jsonable(value: Any, name: str) -> None:
    """Refuse what JSON cannot carry, naming the place: ``cb_kwargs['when'] is a datetime``."""
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise NotJsonable(f"{name} is a number of more than {MAX_BITS} bits; pass it as a string")
    if value is None or isinstance(value, str | bool | int):
        return
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotJsonable(f"{name} is {value}, which JSON cannot carry; use None or a string")
        return
    if isinstance(value, list | tuple):
        for index, element in enumerate(value):
            check_jsonable(element, f"{name}[{index}]")
        return
    if isinstance(value, dict):
        for key, element in value.items():
            if not isinstance(key, str):
                raise NotJsonable(f"{name} has the key {key!r}; keys must be strings")
            check_jsonable(element, f"{name}[{key!r}]")
        return
    raise NotJsonable(
        f"{name} is a {type(value).__name__}, which cannot be stored with a request; "
        "pass strings, numbers, booleans, None, lists or dicts of them"
    )


def callback_name(callback: Any, field: str) -> str | None:
    """A callback travels by its name, so that any worker can find it again on its spider."""
    if callback is None or isinstance(callback, str):
        return callback
    name = getattr(callback, "__name__", "")
    if not callable(callback) or not name or name == "<lambda>":
        raise UsageError(
            f"{field} must be a method of the spider or its name, not {callback!r}: "
            "requests are stored, and a lambda or object cannot be found again after a restart"
        )
    return str(name)


def fitting(name: str, value: Any, kind: type) -> Any:
    """The value as that type, when nothing is lost by it. Raises :class:`UsageError`."""
    if value is None and name != "url":  # Scrapy's defaults
        return kind() if name not in ("method", "lane") else {"method": "GET", "lane": "http"}[name]
    if isinstance(value, kind) or (kind is bytes and isinstance(value, bytearray)):
        return kind(value)
    if kind is bytes and isinstance(value, str):  # Scrapy users pass str; what is stored is bytes
        return value.encode()
    wanted = {"str": "a string", "int": "a whole number"}.get(kind.__name__, f"a {kind.__name__}")
    raise UsageError(f"a request's {name} must be {wanted}, not {value!r}")


def check_headers(headers: dict[Any, Any]) -> None:
    """Refuse headers whose names or values are no strings."""
    for name, value in headers.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise UsageError(f"a request's headers must be strings by name; {name!r} is {value!r}")
