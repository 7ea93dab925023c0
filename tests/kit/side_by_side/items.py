"""Whether two runs gave the same items, whatever their order."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from typing import Any

Item = dict[str, Any]


def normalize_item(item: Item, left_out: Collection[str] = ()) -> str:
    """The item as text that is the same for equal items."""
    kept = {name: _normalize(value) for name, value in item.items() if name not in left_out}
    return json.dumps(kept, sort_keys=True, ensure_ascii=False)


def _normalize(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() else round(value, 9)
    if isinstance(value, dict):
        return {str(name): _normalize(one) for name, one in value.items()}
    return [_normalize(one) for one in value] if isinstance(value, list) else value


def count_items(items: list[Item], left_out: Collection[str] = ()) -> Counter[str]:
    """How often each item is there."""
    return Counter(normalize_item(item, left_out) for item in items)


def find_chance(first: list[Item], second: list[Item]) -> set[str]:
    """The fewest fields without which two runs of the same spider gave the same: of time, chance or order.

    Where no fields explain it, those that explain most of it.
    """
    names = sorted({name for item in [*first, *second] for name in item})
    found: set[str] = set()
    alike = _count_alike(first, second, found)
    while alike < max(len(first), len(second)):
        gains = {name: _count_alike(first, second, {*found, name}) for name in names if name not in found}
        best = max(gains, key=lambda name: gains[name], default="")
        if not best or gains[best] <= alike:
            break
        found.add(best)
        alike = gains[best]
    return found


def _count_alike(first: list[Item], second: list[Item], left_out: Collection[str]) -> int:
    return (count_items(first, left_out) & count_items(second, left_out)).total()


def tell_difference(expected: list[Item], found: list[Item], left_out: Collection[str] = ()) -> str:
    """One sentence on what differs; ``""``: nothing does."""
    first, second = count_items(expected, left_out), count_items(found, left_out)
    if first == second:
        return ""
    missing, extra = list((first - second).elements()), list((second - first).elements())
    if set(first) == set(second):
        return f"the same items, but not as often: {len(expected)} and {len(found)}"
    fields = _differing_fields(missing, extra)
    example = (missing or extra)[0][:160]
    return (
        f"{len(missing)} items are missing and {len(extra)} are not expected"
        + (f"; fields: {', '.join(sorted(fields))}" if fields else "")
        + f"; such as {example}"
    )


def _differing_fields(missing: list[str], extra: list[str]) -> set[str]:
    if len(missing) != len(extra) or not missing:
        return set()
    return find_chance([json.loads(one) for one in missing], [json.loads(one) for one in extra])
