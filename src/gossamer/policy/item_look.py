"""Statistics of one job's items by field, and the place within the job where they became worse. Pure.

The break between mostly true and mostly false is the largest sum of differences from the mean (CUSUM:
Page 1954).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from msgspec.structs import replace

from gossamer.core.drops import DropSample
from gossamer.core.jobs import StoredItem
from gossamer.core.record import Record
from gossamer.policy.quality import (
    EMPTY,
    FieldFacts,
    TypeProfile,
    ValueKind,
    count_misfits,
    field_of_reason,
    fits_kind,
    kind_of,
    main_kind,
    may_be_text,
    meant_kind,
    middle_magnitude,
)
from gossamer.policy.url_groups import family_of

LEAST_SIDE = 5
"""Items, or pages, before and behind a break, at least."""
CLEAR = 1.95
"""Limit of a reported break: chance exceeds it once in a thousand times (Kolmogorov's distribution)."""
MOST_SORTS = 4
"""Sorts of pages that a site has as a rule; where there are more, time says more than the sort of a page."""
STRAY = 0.1
"""The share of a few items of one sort that may have a field, or lack it, although the others do not."""
CHANCE = 0.001
"""The same for items that were dropped, and pages without any."""


class FieldBreak(Record, frozen=True, kw_only=True):
    """Where a field became worse within a job."""

    item: StoredItem | DropSample  # the first that shows it
    before: float  # the share that was well
    after: float
    count: int  # items of the job from there on, about


class ItemFacts(Record, frozen=True, kw_only=True):
    """Facts about the items of one job."""

    items: tuple[StoredItem, ...] = ()  # some of them, evenly
    share: float = 1.0  # of all of the job's that these are
    types: tuple[TypeProfile, ...] = ()  # profiles of these, or of more of the job's items
    counted: float = 1.0  # the share of the job's items that the profiles are of
    declared: dict[str, str] | None = None  # kinds that types declare, by ``Product.price``; None: not known
    errors: dict[str, int] = {}  # items that were dropped, by ``Product.price``
    samples: tuple[DropSample, ...] = ()  # some of those, the earliest of each reason among them

    def kinds_of(self, name: str) -> Mapping[str, int]:
        """Return the counts of value kinds of a field such as ``Product.price``."""
        kind, _, field = name.partition(".")
        fields = (one for profile in self.types if profile.type == kind for one in profile.fields)
        return next((one.kinds for one in fields if one.field == field), {})

    def count_values(self, name: str) -> float:
        """The values of a field that were looked at, with as many of those whose items were dropped."""
        return sum(self.kinds_of(name).values()) + self.errors.get(name, 0) * self.counted


class ItemLook(Record, frozen=True, kw_only=True):
    """Statistics of a job's fields, and the places where they became worse."""

    fields: dict[str, FieldFacts] = {}  # by ``Product.price``
    empty: dict[str, FieldBreak] = {}  # from where on values are missing
    wrong: dict[str, FieldBreak] = {}  # from where on they are of another kind, or drop their items


def find_break(flags: Sequence[bool]) -> int | None:
    """The place from which on fewer are true; ``None``: there is none that chance would not make."""
    number, true = len(flags), sum(flags)
    if number < 2 * LEAST_SIDE or true in (0, number):
        return None
    mean = true / number
    sums = list(accumulate(flag - mean for flag in flags))
    highest = max(sums)
    place = sums.index(highest) + 1
    is_clear = highest >= CLEAR * math.sqrt(number * mean * (1 - mean))
    return place if is_clear and LEAST_SIDE <= place <= number - LEAST_SIDE else None


def is_of_another_sort(items: Sequence[StoredItem], flags: Sequence[bool], place: int, field: str) -> bool:
    """Whether the items after a break are of another sort than those before, so that nothing was lost.

    A site has a few sorts of pages, one after the other. They differ in the first directory of their URLs, in
    a text with few values (a category), or in a field that the other sort lacks; and one sort alone has no
    break.
    """
    signs: list[list[str]] = [[family_of(item.url) for item in items]]
    for name in dict.fromkeys(name for item in items for name in item.data):
        values = [item.data.get(name) for item in items]
        filled = [value not in EMPTY for value in values]
        if name == field:
            continue
        if all(filled) and all(isinstance(value, str) for value in values):
            signs.append([str(value) for value in values])
        elif sum(filled[:place]) / place < sum(filled[place:]) / (len(items) - place):
            signs.append(list(map(str, filled)))
    return any(_explains(sign, flags) for sign in signs)


def _explains(sign: Sequence[str], flags: Sequence[bool]) -> bool:
    """Whether a sign tells a few sorts apart, in none of which there is a break."""
    if not 1 < len(set(sign)) <= MOST_SORTS:
        return False
    sorts: defaultdict[str, list[bool]] = defaultdict(list)
    for one, flag in zip(sign, flags, strict=True):
        sorts[one].append(flag)
    return all(_is_even(sort) for sort in sorts.values())


def _is_even(flags: Sequence[bool]) -> bool:
    """Whether the items of one sort have no break; a few items must be nearly all alike."""
    stray = min(sum(flags), len(flags) - sum(flags))
    return find_break(flags) is None and (len(flags) >= 2 * LEAST_SIDE or stray <= len(flags) * STRAY)


def measure_job(facts: ItemFacts) -> ItemLook:
    """Measure the fields of a job."""
    ordered: defaultdict[str, list[StoredItem]] = defaultdict(list)
    for item in sorted(facts.items, key=lambda item: (item.last_seen, item.id)):
        ordered[item.type].append(item)
    fields: dict[str, FieldFacts] = {}
    empty: dict[str, FieldBreak] = {}
    wrong: dict[str, FieldBreak] = {}
    for profile in facts.types:
        items = ordered[profile.type]
        for field in profile.fields:
            name = f"{profile.type}.{field.field}"
            fill, kind = field.filled / profile.items, meant_kind(name, field.kinds, facts.declared)
            flags = [item.data.get(field.field) not in EMPTY for item in items]
            if broken := _break_of(items, flags, facts.share, field.field):
                empty[name] = broken
            is_mixed = len(field.kinds) > 1 and not may_be_text(name, facts.declared)
            if is_mixed and (broken := _find_other_kind(items, field.field, facts.share)):
                wrong[name] = broken
            magnitudes = {} if kind == ValueKind.TEXT else field.magnitudes
            fields[name] = FieldFacts(
                fill=fill,
                tail=min(fill, empty[name].after) if name in empty else fill,
                kind=kind,
                errors=error_share(facts, name, count_misfits(field.kinds, kind)),
                items=profile.items,
                distinct=field.distinct,
                magnitude=middle_magnitude(magnitudes),
                numbers=sum(magnitudes.values()),
                values=field.filled / facts.counted if facts.counted else 0.0,
            )
    for name, broken in _find_drops(facts, ordered):
        if name not in wrong or broken.after <= wrong[name].after:
            wrong[name] = broken
    for name, broken in wrong.items():
        known = fields.get(name) or FieldFacts(fill=0.0, tail=0.0)
        fields[name] = replace(known, errors=max(known.errors, 1 - broken.after))
    return ItemLook(fields=fields, empty=empty, wrong=wrong)


def _break_of(
    items: Sequence[StoredItem], flags: Sequence[bool], share: float, field: str
) -> FieldBreak | None:
    place = find_break(flags)
    if place is None or is_of_another_sort(items, flags, place, field):
        return None
    first = place + flags[place:].index(False)
    return FieldBreak(
        item=items[first],
        before=sum(flags[:place]) / place,
        after=sum(flags[place:]) / (len(flags) - place),
        count=round((len(flags) - place) / share),
    )


def _find_other_kind(items: Sequence[StoredItem], field: str, share: float) -> FieldBreak | None:
    """From where on values are of another kind than those of the first half."""
    filled = [item for item in items if item.data.get(field) not in EMPTY]
    kinds = [kind_of(item.data[field]) for item in filled]
    wanted = main_kind(Counter(kinds[: max(1, len(kinds) // 2)])) if kinds else ""
    return _break_of(filled, [fits_kind(kind, wanted) for kind in kinds], share, field)


def error_share(facts: ItemFacts, name: str, misfits: int) -> float:
    """The share of a field's values that are wrong, those included whose items were dropped."""
    values = facts.count_values(name)
    return (misfits + facts.errors.get(name, 0) * facts.counted) / values if values else 0.0


def _find_drops(
    facts: ItemFacts, ordered: Mapping[str, Sequence[StoredItem]]
) -> Iterator[tuple[str, FieldBreak]]:
    """From where on items were dropped for a field, if chance would not spread them so."""
    first: dict[str, DropSample] = {}
    for sample in sorted(facts.samples, key=lambda sample: sample.at):
        first.setdefault(field_of_reason(sample.reason), sample)
    for name, sample in first.items():
        dropped = facts.errors.get(name, 0)
        if not name or not dropped or not facts.share:
            continue
        items = ordered.get(name.partition(".")[0], ())
        before = sum(item.last_seen < sample.at for item in items) / facts.share
        after = len(items) / facts.share - before
        share = dropped / (dropped + after)
        if before >= LEAST_SIDE and dropped >= LEAST_SIDE and chance_of_none(share, before) <= CHANCE:
            yield name, FieldBreak(item=sample, before=1.0, after=1 - share, count=round(dropped + after))


def chance_of_none(share: float, number: float) -> float:
    """Return the probability that an event of this share does not occur among the first ``number``."""
    return float((1 - share) ** number) if share < 1 else 0.0
