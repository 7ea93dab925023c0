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
MOST_STORED = 20_000
"""Requests whose objects also have a stored form, and are kept only to preserve their identity."""


class HeldObjects(NamedTuple):
    """The objects of one request."""

    callback: Any = None
    errback: Any = None
    meta: dict[str, Any] = {}
    cb_kwargs: dict[str, Any] = {}


class LostReferenceError(UsageError):
    """The objects of a request were held by a process that has ended."""


class ReferenceTable:
    """The objects of the requests that wait; those that no file can hold are bounded by nothing else."""

    def __init__(self) -> None:
        self._waiting: dict[str, HeldObjects] = {}
        self._stored: OrderedDict[str, HeldObjects] = OrderedDict()
        self._delivered: OrderedDict[str, HeldObjects] = OrderedDict()
        self._known: set[int] = set()

    def __repr__(self) -> str:
        return f"<ReferenceTable of {len(self)} requests>"

    def __len__(self) -> int:
        return len(self._waiting) + len(self._stored)

    def hold(self, identity: str, held: HeldObjects, *, is_stored: bool = False) -> None:
        """Keep a request's objects; of equal requests the first counts, as for the frontier.

        Objects that also have a stored form (``is_stored``) are kept for the latest requests only.
        """
        place = hash(identity)
        if place in self._known:
            return
        self._known.add(place)
        if not is_stored:
            self._waiting[identity] = held
            return
        self._stored[identity] = held
        if len(self._stored) > MOST_STORED:
            oldest, _ = self._stored.popitem(last=False)
            self._known.discard(hash(oldest))

    def find(self, identity: str, *, is_taken: bool = True) -> HeldObjects | None:
        """Return a request's objects, or ``None``. ``is_taken``: its callback runs now."""
        held = self._waiting.get(identity) or self._stored.get(identity)
        if held is None:
            return self._delivered.get(identity)
        if not is_taken:
            return held
        self._waiting.pop(identity, None)
        self._stored.pop(identity, None)
        self._delivered[identity] = held
        if len(self._delivered) > DELIVERED:
            self._delivered.popitem(last=False)
        return held
