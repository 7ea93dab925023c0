"""Whether fields of a job's items have become empty: the latest items against those before. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from gossamer.core.jobs import StoredItem
from gossamer.core.record import Record

LEAST_ITEMS = 30
"""Fewer items of a type say nothing of its fields."""
LEAST_FILL = 0.5
"""A field that fewer items have is empty now and then; it cannot become so."""
MOST_FIELDS = 200
"""Fields that are looked at."""
EMPTY: tuple[object, ...] = (None, "", [], {})
"""Values that are none."""


class FieldShortfall(Record, frozen=True, kw_only=True):
    """How full one field of the items is."""

    field: str  # ``Product.title``
    usual: float  # share of the items that have a value, as a rule
    now: float  # ... of the latest items

    @property
    def lost(self) -> float:
        """The share of its usual fill that is gone."""
        return 1 - self.now / self.usual if self.usual else 0.0


def fill_shares(items: Iterable[StoredItem]) -> dict[str, float]:
    """The share of the items of each type that have a field (``P.title``), of types with enough items."""
    counts: Counter[str] = Counter()
    filled: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for item in items:
        counts[item.type] += 1
        filled[item.type].update(name for name, value in item.data.items() if value not in EMPTY)
    shares = {
        f"{kind}.{name}": round(number / counts[kind], 3)
        for kind, names in filled.items()
        if counts[kind] >= LEAST_ITEMS
        for name, number in names.items()
    }
    return dict(list(shares.items())[:MOST_FIELDS])


def usual_fills(before: Mapping[str, float], latest: Mapping[str, float]) -> dict[str, float]:
    """How full fields are as a rule: as they were at their fullest; a later type is known from then on."""
    fills = {**latest, **{name: max(share, latest.get(name, 0.0)) for name, share in before.items()}}
    return dict(list(fills.items())[:MOST_FIELDS])


def compare_fills(usual: Mapping[str, float], latest: Mapping[str, float]) -> tuple[FieldShortfall, ...]:
    """The fields that are emptier than usual, of types of which enough items are among the latest."""
    kinds = {name.partition(".")[0] for name in latest}
    return tuple(
        FieldShortfall(field=name, usual=share, now=latest.get(name, 0.0))
        for name, share in usual.items()
        if share >= LEAST_FILL and name.partition(".")[0] in kinds and latest.get(name, 0.0) < share
    )
