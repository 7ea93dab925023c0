"""Examples of items that were dropped: a few for each reason, small enough to be kept."""

from __future__ import annotations

import dataclasses
import reprlib
from typing import Any

import msgspec

from gossamer.core.drops import DropSample
from gossamer.core.foreign import ForeignItem
from gossamer.core.storable import without_surrogates
from gossamer.runtime.known_secrets import hide_secrets

MOST_A_MINUTE = 5
"""Examples of one reason that a worker takes in a minute: a page may drop thousands."""
MOST_REASONS = 500
"""Reasons of a minute: a step may put a price into each."""
MOST_REASONS_EVER = 2000
"""Reasons of which a worker takes examples at all: the store keeps a few of each for good."""
MAX_BYTES = 2048
MAX_VALUE = 300
"""Characters of one value."""
_MINUTE_S = 60.0

_shorten = reprlib.Repr()
_shorten.maxstring = _shorten.maxother = MAX_VALUE
_encode = msgspec.json.Encoder(enc_hook=_shorten.repr).encode


class DropCollector:
    """Takes examples, as long as there are few of their reason."""

    def __init__(self) -> None:
        self._minute = -1
        self._taken: dict[str, int] = {}
        self._reasons: set[str] = set()

    def take_sample(self, reason: str, stage: str, item: Any, url: str, at: float) -> tuple[DropSample, ...]:
        """Return a sample of a page that was visited ``at``; none if that minute has enough samples."""
        minute = int(at // _MINUTE_S)
        if minute != self._minute:
            self._minute, self._taken = minute, {}
        taken = self._taken.get(reason, 0)
        if taken >= MOST_A_MINUTE or (not taken and len(self._taken) >= MOST_REASONS):
            return ()
        if reason not in self._reasons:
            if len(self._reasons) >= MOST_REASONS_EVER:
                return ()
            self._reasons.add(reason)
        self._taken[reason] = taken + 1
        kind = _kind_of(item)
        data = describe_item(item)
        return (DropSample(reason=reason, stage=stage, type=kind, url=url, at=at, data=data),)


def _kind_of(item: Any) -> str:
    if isinstance(item, ForeignItem):
        return item.kind
    return "item" if isinstance(item, dict) else type(item).__name__


def describe_item(item: Any) -> bytes:
    """Return the fields of any item as a JSON object of at most 2 KB: long values are cut."""
    shown: dict[str, Any] = {}
    left = MAX_BYTES - 64  # room for the mark of a cut
    fields = _fields_of(item)
    for name, value in fields.items():
        label = hide_secrets(without_surrogates(str(name)))[:MAX_VALUE]
        data = _encode_value(value)
        left -= len(data) + len(_encode(label)) + 2
        if left < 0:
            shown["..."] = f"and {len(fields) - len(shown)} more fields"
            break
        shown[label] = msgspec.Raw(data)
    return _encode(shown).replace(rb"\u0000", rb"\ufffd")  # PostgreSQL takes no NUL


def _fields_of(item: Any) -> dict[Any, Any]:
    if isinstance(item, dict):
        return item
    if isinstance(item, ForeignItem):
        return item.to_values()
    if dataclasses.is_dataclass(item):
        return {field.name: getattr(item, field.name, None) for field in dataclasses.fields(item)}
    return getattr(item, "__dict__", {})


def _encode_value(value: Any) -> bytes:
    """Return a value as JSON, or as the beginning of a text if it is too long or cannot be encoded."""
    text = value
    if not isinstance(value, str):
        try:
            data = _encode(value)
        except (TypeError, ValueError, OverflowError, RecursionError):  # it contains itself, for example
            text = _shorten.repr(value)
        else:
            text = data.decode()
            if len(data) <= MAX_VALUE and hide_secrets(text) == text:
                return data
    text = hide_secrets(without_surrogates(str(text)))  # before one of them is cut in two
    return _encode(text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}...")
