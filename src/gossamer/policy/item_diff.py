"""Differences between two sets of items, by merging both in the order of type and key. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from gossamer.core.item_diff import DiffCounts, DifferenceKind, FieldDifference, ItemDifference
from gossamer.core.jobs import StoredItem


class DiffCounter:
    """Counts differences while passing them on."""

    def __init__(self) -> None:
        self._kinds: Counter[DifferenceKind | None] = Counter()
        self._fields: Counter[str] = Counter()

    def count_differences(self, differences: Iterable[ItemDifference | None]) -> Iterator[ItemDifference]:
        """Yield the differences and skip equal items."""
        for difference in differences:
            self._kinds[difference.kind if difference is not None else None] += 1
            if difference is not None:
                self._fields.update(f"{difference.item.type}.{name}" for name in difference.fields)
                yield difference

    @property
    def counts(self) -> DiffCounts:
        """The counts so far."""
        return DiffCounts(
            added=self._kinds[DifferenceKind.ADDED],
            changed=self._kinds[DifferenceKind.CHANGED],
            lost=self._kinds[DifferenceKind.LOST],
            unchanged=self._kinds[None],
            fields=dict(self._fields.most_common()),
        )


def place_of(item: StoredItem) -> tuple[str, str]:
    """Where an item stands in the order in which both sides have to come."""
    return item.type, item.key


def diff_items(before: Iterable[StoredItem], after: Iterable[StoredItem]) -> Iterator[ItemDifference | None]:
    """Each item of either side, in order: how it differs, or ``None`` for one that is the same on both.

    Both sides are in the order of :func:`place_of`, and have an item once.
    """
    olds, news = iter(before), iter(after)
    old, new = next(olds, None), next(news, None)
    while old is not None or new is not None:
        if new is None or (old is not None and place_of(old) < place_of(new)):
            yield ItemDifference(kind=DifferenceKind.LOST, before=old)
            old = next(olds, None)
        elif old is None or place_of(new) < place_of(old):
            yield ItemDifference(kind=DifferenceKind.ADDED, after=new)
            new = next(news, None)
        else:
            fields = _diff_fields(old.data, new.data)
            yield (
                ItemDifference(kind=DifferenceKind.CHANGED, before=old, after=new, fields=fields)
                if fields
                else None
            )
            old, new = next(olds, None), next(news, None)


def _diff_fields(before: dict[str, Any], after: dict[str, Any]) -> dict[str, FieldDifference]:
    names = [*before, *(name for name in after if name not in before)]
    pairs = {name: (before.get(name, msgspec.UNSET), after.get(name, msgspec.UNSET)) for name in names}
    return {
        name: FieldDifference(before=old, after=new)
        for name, (old, new) in pairs.items()
        if _text_of(old) != _text_of(new)
    }


def _text_of(value: Any) -> bytes | None:
    """A value as JSON: ``1``, ``1.0`` and ``true`` differ there, the order of keys does not."""
    return None if value is msgspec.UNSET else msgspec.json.encode(value, order="sorted")
