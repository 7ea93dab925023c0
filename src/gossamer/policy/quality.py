"""Profiles of a job's items by field, and their quality. Pure.

A *profile* has, for each field, the number of items with a value, the kinds of values, the number of distinct
ones, and their bounds. Profiles of parts are merged into that of the whole. The *usual* value is the median
of earlier jobs' profiles; the score of an item or a job is the share of the usual that it reaches.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec.structs import replace

from gossamer.core.drops import DropKind
from gossamer.core.jobs import StoredItem
from gossamer.core.record import Record
from gossamer.core.results import PLAIN_TYPE

MOST_FIELDS = 200
"""Fields of a type that are looked at; of more, the first ones."""
MOST_TYPES = 50
SKETCH = 256
"""Different values of a field that are counted exactly; more are estimated, to about 6 %."""
LEAST_FILL = 0.5
"""A field that fewer items have is empty now and then: it can neither lack nor become empty."""
CLEAR_SHARE = 0.9
"""Share of a field's texts that must be numbers, or dates, for the field to count as such."""
EMPTY: tuple[object, ...] = (None, "", [], {})
"""Values that are none."""

_DECIMAL = re.compile(r"-?(0|[1-9]\d{0,40})(\.\d{1,40})?(E[+-]?\d{1,3})?", re.ASCII)  # 007 is a name
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d\S*)?", re.ASCII)
_FIELD_OF = r"(?P<type>\w+)\.(?P<field>\w+)[^:]*: "  # compiled when an item was dropped
_HASHES = 1 << 64

_encode = msgspec.json.Encoder(order="deterministic").encode


class ValueKind(StrEnum):
    """The kind of a stored value."""

    TEXT = "text"
    NUMBER = "number"
    DECIMAL = "decimal"  # a number that is written as a text, as ``Decimal`` is stored
    DATE = "date"  # a date or a time, as ISO 8601
    BOOLEAN = "boolean"
    LIST = "list"
    OBJECT = "object"


_WRITTEN = (ValueKind.DECIMAL, ValueKind.DATE)
"""Kinds of texts."""
_NUMBERS = {ValueKind.NUMBER, ValueKind.DECIMAL}


class FieldProfile(Record, frozen=True, kw_only=True):
    """Statistics of one field's values."""

    field: str
    filled: int = 0  # items that have a value
    kinds: dict[str, int] = {}  # of these values
    distinct: int = 0  # how many of them are different; an estimate beyond ``SKETCH``
    sketch: tuple[int, ...] = ()  # the least hashes of the values; not stored
    least: float | None = None  # of the numbers
    most: float | None = None
    magnitudes: dict[int, int] = {}  # of the numbers but 0, by the power of two that they are below
    shortest: int | None = None  # of the texts and lists
    longest: int | None = None


class TypeProfile(Record, frozen=True, kw_only=True):
    """Statistics of the items of one type."""

    type: str
    items: int = 0
    fields: tuple[FieldProfile, ...] = ()  # in the order in which they were met

    def fill_of(self, name: str) -> float:
        """The share of the items that have a field."""
        found = next((one.filled for one in self.fields if one.field == name), 0)
        return found / self.items if self.items else 0.0


class FieldFacts(Record, frozen=True, kw_only=True):
    """One field of a job's items; or its usual values: medians of earlier jobs."""

    fill: float  # the share of the items that have it
    tail: float  # ... of those behind the item from which on it was emptier, if there was one
    kind: str = ValueKind.TEXT.value  # what its values are; empty: they may be anything
    errors: float = 0.0  # the share of the values that were of another kind, or dropped, at its worst
    items: float = 0.0  # that were looked at
    distinct: float = 0.0  # different values among them
    magnitude: float | None = None  # of its numbers
    numbers: float = 0.0  # how many those are
    values: float = 0.0  # of all items of the job; 0: not known
    jobs: int = 0  # number of earlier jobs behind the usual values

    @property
    def looked_at(self) -> float:
        """Values that were looked at."""
        return self.items * self.fill


# --------------------------------------------------------------------------- profiles


def kind_of(value: Any) -> ValueKind:
    """Return the kind of a value that is not empty."""
    if isinstance(value, str):
        if value[0] in "-0123456789":
            if _DECIMAL.fullmatch(value):
                return ValueKind.DECIMAL
            if _DATE.fullmatch(value):
                return ValueKind.DATE
        return ValueKind.TEXT
    if isinstance(value, bool):
        return ValueKind.BOOLEAN
    if isinstance(value, int | float):
        return ValueKind.NUMBER
    return ValueKind.LIST if isinstance(value, list) else ValueKind.OBJECT


class _FieldCounts:
    """A profile while it is made."""

    __slots__ = ("filled", "kinds", "lengths", "numbers", "values")

    def __init__(self) -> None:
        self.filled = 0
        self.kinds: dict[str, int] = {}
        self.values: set[Any] = set()
        self.numbers: list[float] = []
        self.lengths: set[int] = set()

    def add_value(self, value: Any) -> None:
        kind = kind_of(value)
        self.filled += 1
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if isinstance(value, str):
            self.values.add(value)
            self.lengths.add(len(value))
        elif isinstance(value, list | dict):
            self.values.add(_encode(value))
            self.lengths.add(len(value))
        else:
            self.values.add(repr(value))
        if kind is ValueKind.NUMBER or kind is ValueKind.DECIMAL:
            number = _read_number(value)
            if math.isfinite(number):
                self.numbers.append(number)

    def as_profile(self, name: str) -> FieldProfile:
        sketch = tuple(sorted(set(map(_hash_value, self.values)))[:SKETCH])
        numbers = self.numbers
        return FieldProfile(
            field=name,
            filled=self.filled,
            kinds=self.kinds,
            distinct=_count_distinct(sketch),
            sketch=sketch,
            least=min(numbers, default=None),
            most=max(numbers, default=None),
            magnitudes=dict(Counter(math.frexp(number)[1] for number in numbers if number)),
            shortest=min(self.lengths, default=None),
            longest=max(self.lengths, default=None),
        )


def _read_number(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond all floats
        return math.inf


def _hash_value(value: str | bytes) -> int:
    packed = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(packed, digest_size=8).digest())


def _count_distinct(sketch: Sequence[int]) -> int:
    """How many different values there are, by their least hashes (k minimum values: Bar-Yossef 2002)."""
    return len(sketch) if len(sketch) < SKETCH else round((SKETCH - 1) * _HASHES / (sketch[-1] + 1))


def profile_items(items: Iterable[StoredItem]) -> tuple[TypeProfile, ...]:
    """The profiles of the types of items, in the order in which they were met."""
    numbers: dict[str, int] = {}
    counted: dict[str, dict[str, _FieldCounts]] = {}
    for item in items:
        fields = counted.get(item.type)
        if fields is None:
            if len(counted) >= MOST_TYPES:
                continue
            counted[item.type] = fields = {}
        numbers[item.type] = numbers.get(item.type, 0) + 1
        for name, value in item.data.items():
            counts = fields.get(name)
            if counts is None:
                if len(fields) >= MOST_FIELDS:
                    continue
                fields[name] = counts = _FieldCounts()
            if value not in EMPTY:
                counts.add_value(value)
    return tuple(
        TypeProfile(
            type=kind,
            items=numbers[kind],
            fields=tuple(counts.as_profile(name) for name, counts in fields.items()),
        )
        for kind, fields in counted.items()
    )


def merge_profiles(one: Sequence[TypeProfile], other: Sequence[TypeProfile]) -> tuple[TypeProfile, ...]:
    """The profiles of the items of both together."""
    merged = {profile.type: profile for profile in one}
    for profile in other:
        known = merged.get(profile.type)
        if known is not None:
            merged[profile.type] = _merge_types(known, profile)
        elif len(merged) < MOST_TYPES:
            merged[profile.type] = profile
    return tuple(merged.values())


def _merge_types(one: TypeProfile, other: TypeProfile) -> TypeProfile:
    fields = {field.field: field for field in one.fields}
    for field in other.fields:
        known = fields.get(field.field)
        if known is not None:
            fields[field.field] = _merge_fields(known, field)
        elif len(fields) < MOST_FIELDS:
            fields[field.field] = field
    return replace(one, items=one.items + other.items, fields=tuple(fields.values()))


def _merge_fields(one: FieldProfile, other: FieldProfile) -> FieldProfile:
    sketch = tuple(sorted({*one.sketch, *other.sketch})[:SKETCH])
    return FieldProfile(
        field=one.field,
        filled=one.filled + other.filled,
        kinds=dict(Counter(one.kinds) + Counter(other.kinds)),
        distinct=_count_distinct(sketch),
        sketch=sketch,
        least=_pick(min, one.least, other.least),
        most=_pick(max, one.most, other.most),
        magnitudes=dict(Counter(one.magnitudes) + Counter(other.magnitudes)),
        shortest=_pick(min, one.shortest, other.shortest),
        longest=_pick(max, one.longest, other.longest),
    )


def _pick(choose: Any, *values: float | None) -> Any:
    return choose((value for value in values if value is not None), default=None)


def strip_sketches(types: Iterable[TypeProfile]) -> tuple[TypeProfile, ...]:
    """The profiles as they are stored: nothing is merged into them any more."""
    return tuple(
        replace(one, fields=tuple(replace(field, sketch=()) for field in one.fields)) for one in types
    )


# --------------------------------------------------------------------------- usual values


def meant_kind(name: str, kinds: Mapping[str, int], declared: Mapping[str, str] | None) -> str:
    """Return the intended kind of a field's values: the declared one, or else that of most values.

    ``declared`` has the kinds of declared fields, such as ``Product.price``; ``None`` means unknown. Then a
    named type may have declared a text, and any text is valid.
    """
    if declared and name in declared:
        return declared[name]
    found = main_kind(kinds) if kinds else ""
    if may_be_text(name, declared) and found in _WRITTEN and kinds.get(ValueKind.TEXT):
        return ValueKind.TEXT
    return found


def wanted_kind(name: str, usual: str, declared: Mapping[str, str] | None) -> str:
    """Return the required kind of a value: the declared one, or else ``usual``, the kind of most values."""
    if declared and name in declared:
        return declared[name]
    return ValueKind.TEXT if usual in _WRITTEN and may_be_text(name, declared) else usual


def may_be_text(name: str, declared: Mapping[str, str] | None) -> bool:
    """Whether a field may be declared as a text, as far as is known."""
    if declared is None:
        return name.partition(".")[0] != PLAIN_TYPE
    return declared.get(name, "-") in (ValueKind.TEXT, "")


def main_kind(kinds: Mapping[str, int]) -> str:
    """Return the kind of most values of a field; texts count as numbers if nearly all are."""
    texts = {kind: kinds.get(kind, 0) for kind in (ValueKind.TEXT, *_WRITTEN)}
    together = sum(texts.values())
    clear = [kind for kind in _WRITTEN if texts[kind] >= CLEAR_SHARE * together]
    counts = {kind: number for kind, number in kinds.items() if kind not in texts}
    counts[clear[0] if clear else ValueKind.TEXT] = together
    return max(counts, key=lambda kind: (counts[kind], kind))


def fits_kind(kind: str, wanted: str) -> bool:
    """Whether a kind fits the wanted one: a text may look like a number."""
    if not wanted:
        return True
    return kind == wanted or {kind, wanted} == _NUMBERS or (wanted == ValueKind.TEXT and kind in _WRITTEN)


def count_misfits(kinds: Mapping[str, int], wanted: str) -> int:
    """How many values are of another kind than the wanted one."""
    return sum(number for kind, number in kinds.items() if not fits_kind(kind, wanted))


def middle_magnitude(magnitudes: Mapping[int, int]) -> float | None:
    """The power of two that half of the numbers are below; ``None``: there are none."""
    left = sum(magnitudes.values()) / 2
    for power, number in sorted(magnitudes.items()):
        left -= number
        if left <= 0:
            return float(power)
    return None


def field_errors(dropped: Mapping[str, int]) -> dict[str, int]:
    """Return the number of items dropped because of each field, such as ``Product.price``.

    ``dropped``: the counts of a job's totals, of all kinds.
    """
    errors: Counter[str] = Counter()
    for reason, number in DropKind.ITEM.select_from(dropped).items():
        if name := field_of_reason(reason):
            errors[name] += number
    return dict(errors)


def field_of_reason(reason: str) -> str:
    """The field for which an item was dropped, as ``Product.price``; empty: it was for something else."""
    found = re.match(_FIELD_OF, reason)
    return f"{found['type']}.{found['field']}" if found else ""


def median_of(values: Iterable[float]) -> float:
    """The middle of some numbers (without the module ``statistics``, which a short crawl would wait for)."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def lower_median(values: Sequence[float]) -> float:
    """Return the lower median: a value of only one of two jobs is not usual."""
    return sorted(values)[(len(values) - 1) // 2]


def usual_of(found: Sequence[FieldFacts]) -> FieldFacts:
    """Return the usual values of a field: the medians over some jobs."""
    powers = [one.magnitude for one in found if one.magnitude is not None]
    kinds = Counter(one.kind for one in found if one.fill)
    return FieldFacts(
        fill=lower_median([one.fill for one in found]),
        tail=lower_median([one.tail for one in found]),
        kind=max(kinds, key=lambda kind: (kinds[kind], kind), default=""),
        errors=median_of(one.errors for one in found),
        items=median_of(one.items for one in found),
        distinct=median_of(one.distinct for one in found),
        magnitude=median_of(powers) if powers else None,
        numbers=median_of(one.numbers for one in found),
        values=lower_median([one.values for one in found]),
        jobs=len(found),
    )


# --------------------------------------------------------------------------- scores


def list_wanted(
    usual: Mapping[str, FieldFacts], declared: Mapping[str, str] | None = None
) -> dict[str, list[tuple[str, FieldFacts]]]:
    """The fields that items of each type have as a rule, and the kind that their values have to be."""
    wanted: dict[str, list[tuple[str, FieldFacts]]] = {}
    for name, field in usual.items():
        if field.fill >= LEAST_FILL:
            kind, _, key = name.partition(".")
            meant = replace(field, kind=wanted_kind(name, field.kind, declared))
            wanted.setdefault(kind, []).append((key, meant))
    return wanted


def score_item(item: StoredItem, wanted: Sequence[tuple[str, FieldFacts]]) -> tuple[float, tuple[str, ...]]:
    """Return the share of wanted fields that an item has, from 0 to 1, and the fields that it lacks.

    A value of the usual kind counts by its usual frequency.
    """
    has = wants = 0.0
    lacks = []
    for name, field in wanted:
        wants += field.fill
        value = item.data.get(name)
        if value in EMPTY:
            lacks.append(name)
        elif fits_kind(kind_of(value), field.kind):
            has += field.fill
    return (has / wants if wants else 1.0), tuple(lacks)


def score_job(scores: Sequence[float], items: int, dropped: int) -> float:
    """How good a job is, from 0 to 1: the mean of its items, of which those that were dropped have 0."""
    mean = math.fsum(scores) / len(scores) if scores else 0.0
    return min(1.0, mean) * items / (items + dropped) if items + dropped else 0.0
