"""A stage that drops items of which another page has shown the same already."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from gossamer.core.errors import DropItem, UsageError
from gossamer.core.stages import StageOrder
from gossamer.items.typed import value_of

_encode = msgspec.json.Encoder(order="deterministic", enc_hook=str).encode


class DuplicateFilter:
    """Drops an item whose fields ``by`` have the values of an item from another page.

    It remembers the last ``most`` items (some 200 bytes each) of one process and run. A page that is visited
    again may yield its items again. Items count when they are yielded, not when they are stored: if a later
    stage fails for the first page, the duplicates from other pages stay dropped, and the item is stored when
    the dead letter is retried. Items with equal keys are one item without this stage; it is for duplicates
    whose keys differ.
    """

    order = StageOrder.DEDUPLICATE

    def __init__(self, *, by: Sequence[str] | str, most: int = 100_000) -> None:
        self._by = (by,) if isinstance(by, str) else tuple(by)
        self._most = most
        self._seen: OrderedDict[bytes, str] = OrderedDict()
        if not self._by or not all(isinstance(name, str) for name in self._by):
            raise UsageError(f"DuplicateFilter: `by` is {by!r}; name at least one field")
        if not isinstance(most, int) or most < 1:
            raise UsageError(f"DuplicateFilter: `most` is {most!r}; it must be a number from 1 on")

    def process_item(self, item: Any, _spider: Any, page: Any = None) -> Any:
        """Return the item. Raises ``DropItem`` for a duplicate; one that has none of the fields passes."""
        values = [value_of(item, name) for name in self._by]
        if all(value is None for value in values):
            return item
        place = getattr(page, "url", "")
        mark = blake2b(_encode([type(item).__name__, *values]), digest_size=16).digest()
        first = self._seen.setdefault(mark, place)
        self._seen.move_to_end(mark)
        if len(self._seen) > self._most:
            self._seen.popitem(last=False)
        if first != place:
            raise DropItem(f"duplicate by {' and '.join(self._by)}")
        return item
