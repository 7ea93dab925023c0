"""Which fields of items are written, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gossamer.core.errors import UsageError
from gossamer.core.jobs import StoredItem
from gossamer.core.text import iso_time

OWN: Mapping[str, Callable[[StoredItem], Any]] = {
    "_type": lambda item: item.type,
    "_key": lambda item: item.key,
    "_url": lambda item: item.url,
    "_first_seen": lambda item: iso_time(item.first_seen),
    "_last_seen": lambda item: iso_time(item.last_seen),
    "_changed_at": lambda item: iso_time(item.changed_at),
}
"""The store's facts about an item besides its fields, by the names that select them."""

_ABSENT = object()


class FieldChoice:
    """Fields to write, in their order, and fields to leave out; without names, all others as they come.

    ``offer.price`` is a field of a field, ``images.0`` an element of a list; a field with such a name as a
    whole comes first. The store's own facts about an item (``OWN``) are written only if they are named. Names
    may come with others, under which the fields are written.
    """

    def __init__(self, names: Sequence[str] | Mapping[str, str] = (), without: Sequence[str] = ()) -> None:
        written = names if isinstance(names, Mapping) else dict(zip(names, names, strict=True))
        self.names = tuple(dict.fromkeys(written.values()))
        self._without = [(name, name.split(".")) for name in without]
        self._paths = [(new, name, name.split(".")) for name, new in written.items()]
        self._found: set[str] = set()
        self._looked = False

    @classmethod
    def from_text(cls, text: str) -> FieldChoice:
        """``name,price,-raw``: fields in their order, and after a minus those to leave out.

        Raises :class:`UsageError` for an empty name.
        """
        parts = [part.strip() for part in text.split(",")]
        if not all(part.removeprefix("-") for part in parts):
            raise UsageError(f"--fields {text!r} has an empty name; write them as name,price,-raw")
        without = [part.removeprefix("-") for part in parts if part.startswith("-")]
        names = [part for part in parts if not part.startswith("-")]
        if both := set(without).intersection(names):
            raise UsageError(f"--fields names {min(both)!r} twice, to be written and to be left out")
        return cls(names, without)

    @property
    def missing(self) -> tuple[str, ...]:
        """The named fields that no item had, of those that were picked from; nothing where there was none."""
        return tuple(name for name in self.names if name not in self._found) if self._looked else ()

    def pick(self, item: StoredItem) -> dict[str, Any]:
        """Return the fields of one item that are to be written."""
        data = item.data
        if self.names:
            self._looked = True
            found = {new: _find_value(item, name, path) for new, name, path in self._paths}
            data = {name: value for name, value in found.items() if value is not _ABSENT}
            self._found.update(data)
        for name, path in self._without:
            data = _leave_out(data, [name] if name in data else path)
        return data


EVERY_FIELD = FieldChoice()


def _find_value(item: StoredItem, name: str, path: Sequence[str]) -> Any:
    if name in item.data:
        return item.data[name]
    if name in OWN:
        return OWN[name](item)
    value: Any = item.data
    for part in path:
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return _ABSENT
    return value


def _leave_out(data: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """Return the same without one field, which may be within others; the original stays as it is."""
    first, *rest = path
    if first not in data:
        return data
    if not rest:
        return {name: value for name, value in data.items() if name != first}
    if not isinstance(data[first], dict):
        return data
    return data | {first: _leave_out(data[first], rest)}
