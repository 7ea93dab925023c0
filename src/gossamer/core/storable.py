"""Values that a request may hold: those that can be stored and restored by another worker."""

from __future__ import annotations

import math
import re
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Mapping
from types import FunctionType, MethodType
from typing import Any

from gossamer.core.errors import JsonValueError, UsageError

MAX_BITS = 1024
"""Whole numbers in ``meta`` and ``cb_kwargs``; longer ones cannot be read back by every JSON parser."""
MAX_DEPTH = 100
"""Levels of lists and dicts within each other; a list that contains itself has more."""
MAX_CHARACTERS = 16 * 1024 * 1024
"""Maximum size of a request's body, headers, ``meta`` or ``cb_kwargs``: each passes through every store."""
VALUE_COST = 64
"""Characters that a value in a list or dict counts for, beside those of a text that is not short."""
SHORT = 256
REPLACEMENT = "\ufffd"
_MAY_BE_SECRET = frozenset({"body", "headers", "meta", "cb_kwargs"})
"""Fields whose values messages do not show."""
_SCHEME = re.compile(r"[\0-\x20]*[A-Za-z][A-Za-z0-9+.-]*:")
_TOO_LARGE = (
    f"a request holds up to {MAX_CHARACTERS // 2**20} MiB of it; store it elsewhere, and pass where it is"
)

_BASES: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (str, str.__str__),  # not str(): an Enum with the value "red" calls itself "Colour.RED"
    (bool, bool),
    (int, int.__int__),
    (float, float.__float__),
    (bytes, lambda value: memoryview(value).tobytes()),
    (bytearray, bytes),
)


def as_base_type(value: Any) -> Any:
    """Return a scalar as its built-in base type, and other values unchanged.

    Libraries return subclasses (the strings of lxml, BeautifulSoup and markupsafe, numpy's ``float64``,
    members of ``IntEnum`` and ``StrEnum``) that encoders refuse.
    """
    for base, converted in _BASES:
        if isinstance(value, base):
            return value if type(value) is base else converted(value)
    return value


def without_surrogates(text: str) -> str:
    """Text that has an UTF-8: halves of surrogate pairs are joined, or become U+FFFD when alone."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def as_stored(value: Any, name: str) -> Any:
    """The value as JSON carries it: subclasses as their base types, lone surrogates as U+FFFD.

    Lists and dicts are copies: who made them may use them for the next request. Raises
    :class:`JsonValueError` for what cannot be stored, naming the place: ``cb_kwargs['when'] is a datetime``.
    """
    return _as_stored(value, name, 0, [MAX_CHARACTERS])


def _as_stored(value: Any, name: str, depth: int, left: list[int]) -> Any:
    if isinstance(value, dict):
        if type(value) is dict and _are_names(value) and _are_plain(value.values()):
            _enter_container(len(value), name, depth, left)
            return value.copy()
        return _dict_as_stored(value, name, depth, left)
    if isinstance(value, list | tuple):
        if type(value) is list and _are_plain(value):
            _enter_container(len(value), name, depth, left)
            return value.copy()
        return _list_as_stored(value, name, depth, left)
    return _scalar_as_stored(value, name, left)


def _are_names(keys: Iterable[Any]) -> bool:
    return {*map(type, keys)} <= {str} and "".join(keys).isascii()


def _are_plain(values: Iterable[Any]) -> bool:
    """Whether all are short text or small numbers, as they mostly are: then nothing has to be done."""
    for value in values:
        kind = type(value)
        if kind is str:
            if len(value) > SHORT or not value.isascii():
                return False
        elif kind is int:
            if not -(2**63) <= value < 2**63:
                return False
        elif kind is not bool and value is not None:
            return False
    return True


def _scalar_as_stored(value: Any, name: str, left: list[int]) -> Any:
    value = as_base_type(value)
    kind = type(value)
    if kind is str:
        _spend_budget(len(value), name, left)
        return without_surrogates(value)
    if kind is int:
        if value.bit_length() > MAX_BITS:
            raise JsonValueError(f"{name} is a number of more than {MAX_BITS} bits; pass it as a string")
        return value
    if kind is float:
        if not math.isfinite(value):
            raise JsonValueError(f"{name} is {value}, which JSON cannot carry; use None or a string")
        return value
    if value is None or kind is bool:
        return value
    raise JsonValueError(
        f"{name} is a {kind.__name__}, which cannot be stored with a request; "
        "pass strings, numbers, booleans, None, lists or dicts of them"
    )


def _list_as_stored(value: Any, name: str, depth: int, left: list[int]) -> Any:
    _enter_container(len(value), name, depth, left)
    result = [_as_stored(element, f"{name}[{index}]", depth + 1, left) for index, element in enumerate(value)]
    return tuple(result) if isinstance(value, tuple) else result


def _dict_as_stored(value: Any, name: str, depth: int, left: list[int]) -> Any:
    _enter_container(len(value), name, depth, left)
    result: dict[str, Any] = {}
    for key, element in value.items():
        if not isinstance(key, str):
            raise JsonValueError(f"{_shorten_name(name)} has the key {key!r}; keys must be strings")
        stored_key = without_surrogates(as_base_type(key))
        result[stored_key] = _as_stored(element, f"{name}[{stored_key!r}]", depth + 1, left)
    return result


def _enter_container(count: int, name: str, depth: int, left: list[int]) -> None:
    """Enter a list or dict of ``count`` values."""
    if depth >= MAX_DEPTH:
        raise JsonValueError(
            f"{_shorten_name(name)} is nested more than {MAX_DEPTH} levels deep, or contains itself: "
            "it cannot be stored with a request"
        )
    _spend_budget(count * VALUE_COST, name, left)


def _spend_budget(count: int, name: str, left: list[int]) -> None:
    left[0] -= count
    if left[0] < 0:
        raise JsonValueError(f"{_shorten_name(name)} is too large: {_TOO_LARGE}")


def check_size(name: str, count: int) -> None:
    """Raise :class:`UsageError` if a body or headers exceed the limit of bytes or characters."""
    if count > MAX_CHARACTERS:
        raise UsageError(f"a request's {name} is too large: {_TOO_LARGE}")


def _shorten_name(name: str) -> str:
    return name if len(name) <= 100 else f"{name[:100]}..."


def check_absolute(url: str) -> None:
    """Refuse a URL without a scheme. Raises :class:`UsageError`."""
    if _SCHEME.match(url) is None:
        raise UsageError(
            f"{url[:200]!r} is not an absolute URL (http://... or https://...); for a link of a page, "
            "response.follow() makes a request of it"
        )


def callback_name(callback: Any, field: str) -> str | None:
    """A callback travels by its name, so that any worker can find it again on its spider."""
    if callback is None:
        return None
    if isinstance(callback, str):
        return str(as_base_type(callback))
    name = getattr(callback, "__name__", "")
    if isinstance(callback, Generator | Coroutine | AsyncGenerator):
        raise UsageError(
            f"{field} must be a method of the spider, not its result: write self.{name} without the "
            "parentheses behind it"
        )
    if name == "<lambda>" or not (isinstance(callback, MethodType) or _is_of_class(callback)):
        raise UsageError(
            f"{field} must be a method of the spider or its name, not {callback!r}: requests are stored, "
            "and a function, lambda or object of its own cannot be found again after a restart"
        )
    return str(name)


def _is_of_class(function: Any) -> bool:
    """Whether a function is written in a class: a static method, or ``Shop.parse``."""
    if not isinstance(function, FunctionType):
        return False
    owner = function.__qualname__.rpartition(".")[0]
    return bool(owner) and not owner.endswith("<locals>")


def convert_field(name: str, value: Any, kind: type) -> Any:
    """The value as that type, when nothing is lost by it. Raises :class:`UsageError`."""
    if value is None and name != "url":  # Scrapy's defaults
        return kind() if name not in ("method", "lane") else {"method": "GET", "lane": "http"}[name]
    if kind is dict and isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, kind) or (kind is bytes and isinstance(value, bytearray)):
        return kind(as_base_type(value))
    if kind is bytes and isinstance(value, str):  # Scrapy users pass str; bytes are stored
        return without_surrogates(as_base_type(value)).encode()
    if kind is float and type(value) is int:
        return float(value)
    wanted = {"str": "a string", "int": "a whole number"}.get(kind.__name__, f"a {kind.__name__}")
    given = f"a {type(value).__name__}" if name in _MAY_BE_SECRET else repr(value)
    raise UsageError(f"a request's {name} must be {wanted}, not {given}")


def headers_as_stored(headers: dict[Any, Any]) -> dict[str, str]:
    """A dict of its own of headers by name, as strings. Raises :class:`UsageError`."""
    is_plain = True
    size = 0
    for name, value in headers.items():
        if not isinstance(name, str) or not isinstance(value, str):
            kind = type(value).__name__  # the value may be a secret
            raise UsageError(f"a request's headers must be strings by name; {name!r} is a {kind}")
        is_plain = is_plain and type(name) is type(value) is str
        size += len(name) + len(value)
    check_size("headers", size)
    if is_plain:
        return dict(headers)
    return {as_base_type(name): as_base_type(value) for name, value in headers.items()}
