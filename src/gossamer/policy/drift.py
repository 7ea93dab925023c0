"""Whether the items of a job have become worse: against earlier jobs, and within the job itself. Pure.

A field is emptier, its values are of another kind, are always the same or of another size, or items no longer
come. A finding says what was usual, what is now, and the page and the time from which on it is so.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
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
)

LEAST_ITEMS = 30
"""Fewer items of a type say nothing of how many values a field has, and how large they are."""
LEAST_COMPARED = 10
"""Items of a type that are compared with those of earlier jobs, at least."""
LEAST_DISTINCT = 10
"""Values of a field that are so few do not become fewer."""
LEAST_DRY, DRY_SHARE = 20, 0.1
"""Pages in a row without an item that are told, at least, and which share of all."""
POWERS = 3.0
"""Numbers of another size are so many powers of two larger or smaller: eight times."""


class FindingKind(StrEnum):
    """What has become worse."""

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
    jobs: int = 0  # earlier jobs that say what is usual; 0: the job's own items before

    @property
    def lost(self) -> float:
        """The share of the usual that is gone."""
        return 1 - self.now / self.usual if self.usual else 0.0


# --------------------------------------------------------------------------- against what is usual


def find_drift(
    facts: ItemFacts, look: ItemLook, usual: Mapping[str, FieldFacts], jobs: int, drift: float
) -> tuple[DriftFinding, ...]:
    """The fields that have become worse by the share ``drift``, the worst first.

    ``usual`` is what ``jobs`` earlier jobs say; of a field that it does not have, the job's own items before
    say it.
    """
    numbers = {profile.type: profile.items for profile in facts.types}
    dropped: Counter[str] = Counter()
    for name, number in facts.errors.items():
        dropped[name.partition(".")[0]] += number
    found: list[DriftFinding] = []
    for name in dict.fromkeys((*usual, *look.fields)):
        kind = name.partition(".")[0]
        if numbers.get(kind, 0) + dropped[kind] < LEAST_COMPARED:
            continue
        now, known = look.fields.get(name, FieldFacts(fill=0.0, tail=0.0)), usual.get(name)
        checks = (
            _compare_fill(name, now, known, look.empty.get(name), drift) if numbers.get(kind) else None,
            _compare_errors(name, facts, look, known, drift),
            *(_compare_values(name, now, known, drift) if known else ()),
        )
        found += [_locate(one, facts, known, jobs) for one in checks if one]
    return tuple(sorted(found, key=lambda one: (-one.lost, one.field, one.kind))[:MOST_FIELDS])


def _compare_fill(
    name: str, now: FieldFacts, usual: FieldFacts | None, broken: FieldBreak | None, drift: float
) -> DriftFinding | None:
    pairs = [(usual.fill, now.fill), (usual.tail, now.tail)] if usual else []
    if usual is None and broken is not None:
        pairs = [(broken.before, broken.after)]
    worst = max(
        (pair for pair in pairs if pair[0] >= LEAST_FILL),
        key=lambda pair: 1 - pair[1] / pair[0],
        default=None,
    )
    if worst is None or 1 - worst[1] / worst[0] < drift:
        return None
    return _finding_of(FindingKind.FILL, name, worst[0], worst[1], broken)


def _compare_errors(
    name: str, facts: ItemFacts, look: ItemLook, usual: FieldFacts | None, drift: float
) -> DriftFinding | None:
    """Shares of the values that are well are compared, so that they fall as all others do."""
    now, broken = look.fields.get(name), look.wrong.get(name)
    errors, before = now.errors if now else 0.0, usual.errors if usual else 0.0
    if usual is None and broken is None:
        return None  # nothing says whether it was ever better
    if usual is not None and usual.kind:
        kinds = facts.kinds_of(name)
        misfits = count_misfits(kinds, usual.kind)
        errors = max(errors, error_share(facts, name, sum(kinds.values()), misfits))
    if errors - before < drift:
        return None
    return _finding_of(FindingKind.TYPE_ERRORS, name, 1 - before, 1 - errors, broken)


def _compare_values(
    name: str, now: FieldFacts, usual: FieldFacts, drift: float
) -> tuple[DriftFinding | None, DriftFinding | None]:
    """Whether values are always the same now, or of another size; of enough items only."""
    if min(now.items, usual.items) < LEAST_ITEMS or not now.distinct:
        return None, None
    filled = now.items * now.fill / (usual.items * usual.fill) if usual.fill else 1.0
    wanted = usual.distinct * min(1.0, filled)  # more items have as many different values, or more
    fewer = larger = None
    if wanted >= LEAST_DISTINCT and now.distinct < wanted * (1 - drift):
        fewer = _finding_of(FindingKind.DISTINCT, name, round(wanted), now.distinct, None)
    if now.magnitude is None or usual.magnitude is None:
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


def _locate(finding: DriftFinding, facts: ItemFacts, usual: FieldFacts | None, jobs: int) -> DriftFinding:
    """The finding with the first page that shows it, also where the job was so from its beginning."""
    finding = replace(finding, jobs=jobs if usual else 0)
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


def find_missing_items(
    found: ItemCounts, usual: float | None, jobs: int, drift: float
) -> DriftFinding | None:
    """Whether pages give fewer items than usual (``None``: nobody knows), or none any more."""
    if not found.pages:
        return None
    if usual is None:
        return _find_dry_end(found)
    now = found.per_page
    if not usual or not found.is_whole or (now and found.pages < LEAST_COMPARED) or 1 - now / usual < drift:
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
        jobs=jobs,
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


# --------------------------------------------------------------------------- while a job runs


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


def compare_fills(
    usual: Mapping[str, float], items: Sequence[StoredItem], before: Sequence[DriftFinding] = ()
) -> tuple[DriftFinding, ...]:
    """The fields that the latest items have less often than usual, of types with enough of them.

    ``before``: what was found at the look before; it knows since when.
    """
    latest = fill_shares(items)
    kinds = {name.partition(".")[0] for name in latest}
    known = {finding.field: finding for finding in before}
    facts = ItemFacts(items=tuple(items))
    numbers = Counter(item.type for item in items)
    found = []
    for name, share in usual.items():
        if share < LEAST_FILL or name.partition(".")[0] not in kinds or latest.get(name, 0.0) >= share:
            continue
        number = numbers[name.partition(".")[0]]
        finding = DriftFinding(field=name, usual=share, now=latest.get(name, 0.0), count=number)
        first = known.get(name) or _locate(finding, facts, None, 0)
        found.append(replace(finding, since=first.since, url=first.url))
    return tuple(found)
