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
    """Drops an item whose fields ``by`` have the values of one that another page has shown.

    It remembers the last ``most`` of them (each some 200 bytes), those of one process and run. A page that is
    visited again shows its items again: they pass. It goes by what was shown, not by what was stored: where a
    later stage fails for the first page until that is a dead letter, what another page showed was dropped
    nevertheless, and comes with the letter when that is retried. Items whose key is equal are one item
    without this stage; it is for those that are the same although their keys are not.
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
        """The item. Raises ``DropItem`` for a duplicate; one that has none of the fields passes."""
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
