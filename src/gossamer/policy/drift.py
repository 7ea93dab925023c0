"""Detection of items that have become worse, against earlier jobs and within the job itself. Pure.

A field is emptier, its values are of another kind, always the same or of another size, or items stop coming.
A finding has the usual value, the present one, and the page and time of the change.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum

from msgspec.structs import replace

from gossamer.core.drops import DropSample
from gossamer.core.jobs import StoredItem
from gossamer.core.record import Record, Time
from gossamer.policy.item_look import CHANCE, FieldBreak, ItemFacts, ItemLook, chance_of_none, error_share
from gossamer.policy.quality import (
    EMPTY,
    LEAST_FILL,
    MOST_FIELDS,
    FieldFacts,
    count_misfits,
    field_of_reason,
    fits_kind,
    kind_of,
    wanted_kind,
)

LEAST_VALUES = 30
"""Fewer values of a field say nothing of how many different ones there are, and how large they are."""
LEAST_COMPARED = 10
"""Items of a type that are compared with those of earlier jobs, at least."""
LEAST_DISTINCT = 10
"""Fields with fewer distinct values are not checked for a loss of variety."""
LEAST_DRY, DRY_SHARE = 20, 0.1
"""Fewest pages in a row without an item that are reported, and their share of all pages."""
POWERS = 3.0
"""Difference in size that is reported, as a power of two: eight times larger or smaller."""


class FindingKind(StrEnum):
    """The kind of loss."""

    FILL = "fill"  # fewer items have a field
    TYPE_ERRORS = "type_errors"  # more values are of another kind, or drop their items
    DISTINCT = "distinct"  # a field has fewer different values
    RANGE = "range"  # numbers are far larger, or smaller
    NO_ITEMS = "no_items"  # pages have fewer items, or none


class ItemCounts(Record, frozen=True, kw_only=True):
    """How many items the pages of a job gave."""

    pages: int
    items: int
    dropped: int = 0  # items that were not taken
    is_whole: bool = True  # the job came to its end by itself
    item_pages: int = 0  # pages that had items, as far as they are known
    pages_since: int = 0  # pages after that of the latest item
    first_since: str = ""  # the first of them
    since: Time = 0.0  # when it was visited

    @property
    def per_page(self) -> float:
        """Items of a page, those included that were dropped; 0 where none was taken."""
        return (self.items + self.dropped) / self.pages if self.items and self.pages else 0.0


class DriftFinding(Record, frozen=True, kw_only=True):
    """One thing that has become worse."""

    kind: FindingKind = FindingKind.FILL
    field: str  # ``Product.price``; empty: it is about all items
    usual: float  # a share of items; ``distinct``: values, ``range``: a number, ``no_items``: items a page
    now: float
    since: Time = 0.0  # when the first page was visited that shows it; 0: not known
    url: str = ""  # that page
    place: str = ""  # of that page in the archive
    count: int = 0  # items, or pages, since then; 0: not known
    jobs: int = 0  # number of earlier jobs compared with; 0: the job's own earlier items

    @property
    def lost(self) -> float:
        """The share of the usual that is gone."""
        return 1 - self.now / self.usual if self.usual else 0.0


class UsualFacts(Record, frozen=True, kw_only=True):
    """Usual values of a spider's items, from earlier jobs."""

    jobs: tuple[str, ...] = ()  # those, the newest first
    fields: dict[str, FieldFacts] = {}  # by ``Product.price``
    per_page: float | None = None  # items of a page; None: not known
    page_jobs: int = 0  # jobs that say this
    items: float = 0.0  # of a job; 0: not known
    declared: dict[str, str] | None = None  # kinds that types declare


# --------------------------------------------------------------------------- against earlier jobs


def find_drift(
    facts: ItemFacts, look: ItemLook, usual: Mapping[str, FieldFacts], drift: float
) -> tuple[DriftFinding, ...]:
    """The fields that have become worse by the share ``drift``, the worst first; with 0, none.

    ``usual`` is what earlier jobs say; of a field that it does not have, the job's own items before say it.
    """
    numbers = {profile.type: profile.items for profile in facts.types}
    dropped: Counter[str] = Counter()
    for name, number in facts.errors.items():
        dropped[name.partition(".")[0]] += number
    found: list[DriftFinding] = []
    for name in dict.fromkeys((*usual, *look.fields)) if drift else ():
        kind = name.partition(".")[0]
        if numbers.get(kind, 0) + dropped[kind] < LEAST_COMPARED:
            continue
        known = usual.get(name)
        now = look.fields.get(name, FieldFacts(fill=0.0, tail=0.0, items=numbers.get(kind, 0)))
        checks = (
            _compare_fill(name, now, known, look.empty.get(name), drift) if numbers.get(kind) else None,
            _compare_errors(name, facts, look, known, drift),
            *(_compare_values(name, now, known, drift) if known else ()),
        )
        found += [_locate(one, facts, known) for one in checks if one]
    return tuple(sorted(found, key=lambda one: (-one.lost, one.field, one.kind))[:MOST_FIELDS])


def _compare_fill(
    name: str, now: FieldFacts, usual: FieldFacts | None, broken: FieldBreak | None, drift: float
) -> DriftFinding | None:
    pairs: list[tuple[float, float]] = []
    if usual is None:
        pairs = [(broken.before, broken.after)] if broken else []
    else:
        if broken is not None:
            pairs.append((usual.tail, now.tail))
        if _has_fewer_values(now, usual, drift):
            pairs.append((usual.fill, now.fill))
    worst = max(
        (pair for pair in pairs if pair[0] >= LEAST_FILL),
        key=lambda pair: 1 - pair[1] / pair[0],
        default=None,
    )
    if worst is None or 1 - worst[1] / worst[0] < drift:
        return None
    return _finding_of(FindingKind.FILL, name, worst[0], worst[1], broken)


def _has_fewer_values(now: FieldFacts, usual: FieldFacts, drift: float) -> bool:
    """Whether values are missing, and not only more items without the field have come; by no chance."""
    if usual.values and now.values > usual.values * (1 - drift):
        return False
    return not may_be_chance(now.looked_at, now.items, usual.looked_at, usual.items)


def may_be_chance(now: float, of_now: float, usual: float, of_usual: float) -> bool:
    """Whether a share so much smaller than the usual one may occur by chance.

    Uses the Chernoff bound for the sum of ``of_now`` draws; the usual share is itself an estimate from
    ``of_usual``.
    """
    share, expected = now / of_now if of_now else 0.0, (usual + 1) / (of_usual + 2)
    if share >= expected:
        return True
    distance = (1 - share) * math.log((1 - share) / (1 - expected))
    distance += share * math.log(share / expected) if share else 0.0
    return math.exp(-of_now * distance) > CHANCE


def _compare_errors(
    name: str, facts: ItemFacts, look: ItemLook, usual: FieldFacts | None, drift: float
) -> DriftFinding | None:
    """Shares of the values that are right are compared, so that they fall as all others do."""
    now, broken = look.fields.get(name), look.wrong.get(name)
    errors, before = now.errors if now else 0.0, usual.errors if usual else 0.0
    if usual is None and broken is None:
        return None  # nothing says whether it was ever better
    values = facts.count_values(name)
    if usual is not None:
        wanted = wanted_kind(name, usual.kind, facts.declared)
        errors = max(errors, error_share(facts, name, count_misfits(facts.kinds_of(name), wanted)))
    if errors - before < drift:
        return None
    right = values * (1 - errors)
    if usual is not None and broken is None:
        known = max(usual.looked_at, 1.0)
        if may_be_chance(right, values, known * (1 - before), known):
            return None
    return _finding_of(FindingKind.TYPE_ERRORS, name, 1 - before, 1 - errors, broken)


def _compare_values(
    name: str, now: FieldFacts, usual: FieldFacts, drift: float
) -> tuple[DriftFinding | None, DriftFinding | None]:
    """Whether values are always the same now, or of another size; of enough values only."""
    if min(now.looked_at, usual.looked_at) < LEAST_VALUES or not now.distinct:
        return None, None
    filled = now.looked_at / usual.looked_at
    wanted = usual.distinct * min(1.0, filled)  # more items have as many different values, or more
    fewer = larger = None
    if wanted >= LEAST_DISTINCT and now.distinct < wanted * (1 - drift):
        fewer = _finding_of(FindingKind.DISTINCT, name, round(wanted), now.distinct, None)
    if now.magnitude is None or usual.magnitude is None or min(now.numbers, usual.numbers) < LEAST_VALUES:
        return fewer, None
    if abs(now.magnitude - usual.magnitude) >= POWERS:
        larger = _finding_of(FindingKind.RANGE, name, 2.0**usual.magnitude, 2.0**now.magnitude, None)
    return fewer, larger


def _finding_of(
    kind: FindingKind, name: str, usual: float, now: float, broken: FieldBreak | None
) -> DriftFinding:
    finding = DriftFinding(kind=kind, field=name, usual=round(usual, 4), now=round(now, 4))
    if broken is None:
        return finding
    return replace(finding, since=_time_of(broken.item), url=broken.item.url, count=broken.count)


def _locate(finding: DriftFinding, facts: ItemFacts, usual: FieldFacts | None) -> DriftFinding:
    """The finding with the first page that shows it, also where the job was so from its beginning."""
    finding = replace(finding, jobs=usual.jobs if usual else 0)
    first = None if finding.since else _find_first(facts, finding, usual.kind if usual else "")
    if first is None:
        return finding
    return replace(finding, since=_time_of(first), url=first.url)


def _time_of(first: StoredItem | DropSample) -> float:
    return first.at if isinstance(first, DropSample) else first.last_seen


def _find_first(facts: ItemFacts, finding: DriftFinding, wanted: str) -> StoredItem | DropSample | None:
    """The first item without the field, with another kind of value, or dropped for it; else the first."""
    kind, _, field = finding.field.partition(".")
    found: list[StoredItem | DropSample] = []
    for item in facts.items:
        value = item.data.get(field)
        if item.type != kind:
            continue
        if finding.kind is FindingKind.FILL and value not in EMPTY:
            continue
        if finding.kind is FindingKind.TYPE_ERRORS and (value in EMPTY or fits_kind(kind_of(value), wanted)):
            continue
        found.append(item)
    if finding.kind is FindingKind.TYPE_ERRORS:
        found += [one for one in facts.samples if field_of_reason(one.reason) == finding.field]
    return min(found, key=_time_of, default=None)


# --------------------------------------------------------------------------- whether items come


def find_missing_items(found: ItemCounts, known: UsualFacts, drift: float) -> DriftFinding | None:
    """Whether pages give fewer items than usual, or none any more; with 0, nothing is found.

    A job that has as many items as usual on more pages has lost none.
    """
    if not found.pages or not drift:
        return None
    usual = known.per_page
    if usual is None:
        return _find_dry_end(found)
    now, items = found.per_page, found.items + found.dropped
    if not usual or not found.is_whole or (now and found.pages < LEAST_COMPARED) or 1 - now / usual < drift:
        return None
    if known.items and items > known.items * (1 - drift):
        return None
    is_dry = _find_dry_end(found) is not None
    return DriftFinding(
        kind=FindingKind.NO_ITEMS,
        field="",
        usual=round(usual, 4),
        now=round(now, 4),
        since=found.since if is_dry or not found.items else 0.0,
        url=found.first_since if is_dry or not found.items else "",
        count=found.pages_since if is_dry else found.pages,
        jobs=known.page_jobs,
    )


def _find_dry_end(found: ItemCounts) -> DriftFinding | None:
    """Whether the last pages of a job gave nothing, although most did before."""
    before = found.pages - found.pages_since
    if not found.items or found.pages_since < max(LEAST_DRY, DRY_SHARE * found.pages) or before <= 0:
        return None
    share = min(1.0, found.item_pages / before)
    if share < LEAST_FILL or chance_of_none(share, found.pages_since) > CHANCE:
        return None
    return DriftFinding(
        kind=FindingKind.NO_ITEMS,
        field="",
        usual=round(found.items / before, 4),
        now=0.0,
        since=found.since,
        url=found.first_since,
        count=found.pages_since,
    )
