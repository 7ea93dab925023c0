"""Items between JSON and JSONB, which sorts the fields of objects and refuses some text that JSON may hold.

Guarantee: ``restored(data, layout)`` has the fields in the order in which ``stored(json)`` found them, at
every depth, and equal values of the same types: ``1e16``, which JSONB would write as a whole number, is
written out with its fraction. (One thing does not come back as it was written, though it is equal: ``-0.0``
is ``0.0``.)

Why so: JSONB is what people query and index. Beside it, the order takes one byte per field, and nothing for
items whose fields are in JSONB's order anyway; the text itself, stored beside it, would double every item.
"""

from __future__ import annotations

import json
import re
import sys
from array import array
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgspec

from gossamer.core.storable import REPLACEMENT, without_surrogates

_decode: Callable[[bytes], Any] = msgspec.json.Decoder().decode
_from_text: Callable[[str], dict[str, Any]] = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode
_EXPONENT = re.compile(r"[0-9][eE]\+?[0-9]")
_LARGE = re.compile(r'"(?:[^"\\]|\\.)*+"|(?P<number>-?[0-9.]+[eE]\+?[0-9]+)')


def to_jsonb(data: bytes) -> tuple[str, bytes | None, bool]:
    """Return an item's JSON as PostgreSQL takes it, its layout, and whether text in it had to be altered."""
    try:
        text = data.decode()
        is_suspect = "\\u" in text and ("\\u0000" in text or "\\ud" in text.lower())
    except UnicodeDecodeError:
        is_suspect = True
    if not is_suspect:
        return _write_out_floats(text), _layout_of(_decode(data)), False
    # The standard library reads halves of surrogate pairs, which msgspec refuses.
    value = json.loads(data.decode("utf-8", "replace"))
    mended = _clean_value(value)
    return _write_out_floats(_encode(mended).decode()), _layout_of(mended), mended != value


def _write_out_floats(text: str) -> str:
    """JSON without large numbers in exponents: of those JSONB forgets that they were floats."""
    return _LARGE.sub(_write_out, text) if _EXPONENT.search(text) else text


def _write_out(match: re.Match[str]) -> str:
    if match["number"] is None:
        return match[0]
    digits = format(Decimal(match["number"]), "f")
    return digits if "." in digits else f"{digits}.0"


def from_jsonb(data: str, layout: bytes | None) -> dict[str, Any]:
    """Return the item's fields, in the order they had."""
    value = _from_text(data)
    return value if layout is None else _restore_order(value, _places_of(layout))


def clean_text(text: str) -> str:
    """Return text that PostgreSQL can carry: NUL and half a surrogate pair become U+FFFD."""
    text = without_surrogates(text)
    return text.replace("\0", REPLACEMENT) if "\0" in text else text


def _clean_value(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean_value(element) for element in value]
    if isinstance(value, dict):
        return {clean_text(name): _clean_value(element) for name, element in value.items()}
    return value


# One number per field, object by object, the fields of an object before their contents: the place of the
# field in JSONB's order. After a first byte of 1, a byte each; after a 2, two each (little-endian), for large
# objects.


@lru_cache(4096)
def _sorted_places(names: tuple[str, ...]) -> tuple[int, ...]:
    order = sorted(range(len(names)), key=lambda n: (len(raw := names[n].encode()), raw))
    places = [0] * len(names)
    for place, n in enumerate(order):
        places[n] = place
    return tuple(places)


def _layout_of(value: Any) -> bytes | None:
    found: list[int] = []
    if not _collect_places(value, found):
        return None
    try:
        return b"\x01" + bytes(found)
    except ValueError:  # an object with more than 256 fields
        return b"\x02" + _to_little_endian(array("H", found)).tobytes() if max(found) < 2**16 else None


def _collect_places(value: Any, found: list[int]) -> bool:
    """Append the places of all fields; whether any of them is not where JSONB puts it."""
    is_moved = False
    if type(value) is dict:
        if len(value) > 1:
            places = _sorted_places(tuple(value))
            found += places
            is_moved = places != tuple(range(len(places)))
        value = value.values()
    for element in value:
        if type(element) is dict or type(element) is list:
            is_moved |= _collect_places(element, found)
    return is_moved


def _places_of(layout: bytes) -> Iterator[int]:
    if layout[0] == 1:
        return iter(layout[1:])
    wide = array("H")
    wide.frombytes(layout[1:])
    return iter(_to_little_endian(wide))


def _restore_order(value: Any, places: Iterator[int]) -> Any:
    if type(value) is dict:
        names = list(value)
        if len(names) > 1:
            names = [names[next(places)] for _ in names]
        return {name: _restore_order(value[name], places) for name in names}
    if type(value) is list:
        return [_restore_order(element, places) for element in value]
    return value


def _to_little_endian(numbers: array[int]) -> array[int]:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
