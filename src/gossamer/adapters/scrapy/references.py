"""Objects that no file can hold, kept in this process while their requests wait.

A lambda as a callback, an item loader in ``meta``: Scrapy hands on the very object, and code relies on it.
Each is known by the request that it belongs to, so a request that is made again after a restart has its
objects again. One that is not there any more is named aloud (:class:`LostReferenceError`).
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

from gossamer.core.errors import UsageError

DELIVERED = 256
"""Requests whose objects are still kept after their callbacks ran: one of them may be tried again."""


class HeldObjects(NamedTuple):
    """What one request refers to."""

    callback: Any = None
    errback: Any = None
    meta: dict[str, Any] = {}
    cb_kwargs: dict[str, Any] = {}


class LostReferenceError(UsageError):
    """What a request refers to was held by a process that has ended."""


class ReferenceTable:
    """The objects of the requests that wait; bounded by nothing but those."""

    def __init__(self) -> None:
        self._waiting: dict[str, HeldObjects] = {}
        self._delivered: OrderedDict[str, HeldObjects] = OrderedDict()
        self._known: set[int] = set()

    def __repr__(self) -> str:
        return f"<ReferenceTable of {len(self._waiting)} requests>"

    def __len__(self) -> int:
        return len(self._waiting)

    def hold(self, identity: str, held: HeldObjects) -> None:
        """Keep what a request refers to; of equal requests the first counts, as for the frontier."""
        place = hash(identity)
        if place in self._known:
            return
        self._known.add(place)
        self._waiting[identity] = held

    def find(self, identity: str, *, is_taken: bool = True) -> HeldObjects | None:
        """What a request refers to; ``None``: it is not here. ``is_taken``: its callback runs now."""
        held = self._waiting.get(identity)
        if held is None:
            return self._delivered.get(identity)
        if not is_taken:
            return held
        del self._waiting[identity]
        self._delivered[identity] = held
        if len(self._delivered) > DELIVERED:
            self._delivered.popitem(last=False)
        return held
