"""Differences between two sets of items."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from gossamer.core.jobs import StoredItem
from gossamer.core.record import Record


class DifferenceKind(StrEnum):
    """The kind of difference."""

    ADDED = "added"
    CHANGED = "changed"
    LOST = "lost"


class FieldDifference(Record, frozen=True, kw_only=True):
    """One field of an item that has another value; a side that does not have the field is unset."""

    before: Any = msgspec.UNSET
    after: Any = msgspec.UNSET


class ItemDifference(Record, frozen=True, kw_only=True):
    """One item that differs."""

    kind: DifferenceKind
    before: StoredItem | None = None  # as it was; None: it was not there
    after: StoredItem | None = None  # as it is; None: it is no longer there
    fields: dict[str, FieldDifference] = {}  # those that differ, of one that is on both sides, by name

    @property
    def item(self) -> StoredItem:
        """The item, as it is now if it still is."""
        item = self.after or self.before
        assert item is not None, "a change is of an item"
        return item


class DiffCounts(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How many items differ, and in what."""

    added: int = 0
    changed: int = 0
    lost: int = 0
    unchanged: int = 0
    fields: dict[str, int] = {}  # changed items by the field that differs: ``Product.price``
