"""Items with every kind of value that spiders put into them, as strategies for hypothesis.

They need hypothesis, and serve tests of pipelines, stores and formats. ``given_items()`` are items as a
callback yields them: dicts, and items of generated classes. ``item_records()`` are the input of a store, and
``stored_items()`` its output. ::

    @given(item_records())
    async def test_my_store_keeps_any_item(record): ...
"""

from __future__ import annotations

import string
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, StrEnum
from functools import cache, partial
from typing import Any
from uuid import UUID

import msgspec
from hypothesis import strategies as st
from pydantic import create_model

from gossamer.core.errors import DropItem, UnstorableItemError
from gossamer.core.jobs import StoredItem
from gossamer.core.results import ItemRecord
from gossamer.items.item import Item, key
from gossamer.items.pipeline import DefaultPipeline

URL = "http://a.example/1"
LARGE = 1024 * 1024
"""Characters of a long text."""
STRANGE_TEXTS: tuple[str, ...] = (
    *("", " ", " a ", "\0", "a\0b", "\ud800", "\udc00\ud800", "\ufffe", "\u2028", "\x85", "\x1b[31m"),
    *("=1+1", "a\r\nb", '"', ",", "null", "1e5", "007", "_x000D_", "\U0001f577", "\u202e</script>"),
)
FIELD_NAMES = tuple(f"field_{letter}" for letter in string.ascii_lowercase[:8])


class TextValue(str):
    """Text as the strings of lxml, BeautifulSoup and markupsafe are: a subclass that knows where it was."""

    __slots__ = ("parent",)

    def __html__(self) -> str:
        return str.__str__(self)


class CountValue(int):
    """A number of a library's own, as members of ``IntEnum`` are."""


class WideValue(float):
    """A number of a library's own, as numpy's ``float64`` is."""

    def __repr__(self) -> str:
        return f"WideValue({float(self)})"


class ColourChoice(Enum):
    """Values by name."""

    RED = "red"
    GREEN = " green "
    NUMBER = 3


class SizeChoice(StrEnum):
    """Values by name, that are text."""

    SMALL = "s"
    LARGE = "l"


def texts(max_size: int = 40) -> st.SearchStrategy[str]:
    """Return texts of pages: any characters, including NUL and halves of surrogate pairs."""
    anything = st.text(st.characters(exclude_categories=()), max_size=max_size)
    return st.one_of(anything, st.text(max_size=max_size), st.sampled_from(STRANGE_TEXTS))


@cache
def long_texts() -> tuple[str, ...]:
    """Return texts of 1 MiB with characters of one, two and four bytes; checking each by ``example`` is
    cheap.
    """
    return tuple((piece * LARGE)[:LARGE] for piece in ("x", "äb\n", "\U0001f577"))


_zones = st.builds(timezone, st.integers(-14 * 60, 14 * 60).map(lambda minutes: timedelta(minutes=minutes)))
_floats = st.floats(allow_nan=False, allow_infinity=False)
_decimals = st.decimals(allow_nan=False, allow_infinity=False, places=None)
_numbers = st.one_of(st.integers(), st.integers(-(2**70), 2**70), _floats)

KINDS: dict[Any, st.SearchStrategy[Any]] = {
    str: texts() | texts().map(TextValue),
    int: st.integers() | st.integers(-(2**53), 2**53).map(CountValue) | st.booleans(),
    float: _floats | _floats.map(WideValue) | st.integers(-(2**53), 2**53),
    bool: st.booleans(),
    Decimal: _decimals | st.integers(-(10**30), 10**30) | _floats.map(str),
    datetime: st.datetimes() | st.datetimes(timezones=_zones),
    date: st.dates(),
    time: st.times() | st.times(timezones=_zones),
    timedelta: st.timedeltas(timedelta(days=-10_000), timedelta(days=10_000)),
    UUID: st.uuids() | st.uuids().map(str),
    bytes: st.binary(max_size=40) | st.text(max_size=20).map(str.encode),
    ColourChoice: st.sampled_from(ColourChoice),
    SizeChoice: st.sampled_from(SizeChoice) | st.sampled_from(["s", "l"]),
    list[str]: st.lists(texts(), max_size=4),
    list[int]: st.lists(st.integers(), max_size=4) | st.lists(st.integers(), max_size=4).map(tuple),
    tuple[str, int]: st.tuples(texts(), st.integers()),
    frozenset[int]: st.frozensets(st.integers(), max_size=4),
    dict[str, Decimal]: st.dictionaries(texts(), _decimals, max_size=4),
    dict[str, list[float | None]]: st.dictionaries(
        st.text(max_size=5), st.lists(_floats | st.none(), max_size=3), max_size=3
    ),
    str | None: st.none() | texts(),
    Decimal | None: st.none() | _decimals,
}
"""Annotations of fields, and values that pydantic takes for them."""


_SCALARS = (str, float, Decimal, datetime, date, time, timedelta, UUID, SizeChoice)


def plain_values() -> st.SearchStrategy[Any]:
    """Return a strategy for the values of a dict as an item, at any depth."""
    scalars = st.one_of(st.none(), st.booleans(), _numbers, texts(), *(KINDS[kind] for kind in _SCALARS))
    return st.recursive(
        scalars,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.lists(inner, max_size=3).map(tuple),
            st.dictionaries(texts(8), inner, max_size=4),
        ),
        max_leaves=12,
    )


KINDS[Any] = plain_values()


def item_dicts() -> st.SearchStrategy[dict[str, Any]]:
    """Items that are dicts."""
    return st.dictionaries(texts(12), plain_values(), max_size=6)


@st.composite
def item_classes(draw: st.DrawFn) -> tuple[type[Item], dict[str, st.SearchStrategy[Any]]]:
    """A generated :class:`Item` with a key, and the values for its fields; one in four holds another item."""
    kinds = draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=5))
    fields: dict[str, Any] = {"sku": (str, key())}
    values: dict[str, st.SearchStrategy[Any]] = {"sku": st.text(string.ascii_letters, min_size=1, max_size=8)}
    for name, kind in zip(FIELD_NAMES, kinds, strict=False):
        fields[name], values[name] = (kind, ...), KINDS[kind]
    if draw(st.integers(0, 3)) == 3:
        fields["parts"] = (list[PartItem], [])
        values["parts"] = st.lists(st.builds(PartItem, name=texts(8), size=KINDS[SizeChoice]), max_size=2)
    return create_model("Generated", __base__=Item, **fields), values


class PartItem(Item):
    """An item inside of another."""

    name: str
    size: SizeChoice = SizeChoice.SMALL


@st.composite
def model_items(draw: st.DrawFn) -> Item:
    """An item of a generated class, of values that pydantic takes for its fields."""
    kind, values = draw(item_classes())
    return kind(**draw(st.fixed_dictionaries(values)))


@st.composite
def long_items(draw: st.DrawFn) -> Any:
    """An item with one text of 1 MiB, as deep as it goes."""
    text = draw(st.sampled_from(long_texts()))
    return {"name": draw(texts()), "body": draw(st.sampled_from([text, [text], {"html": text}]))}


def given_items() -> st.SearchStrategy[Any]:
    """Items as callbacks yield them; one in a hundred is long: it takes as long as a hundred others."""
    usual = model_items() | item_dicts()
    return st.integers(0, 99).flatmap(lambda number: long_items() if number == 37 else usual)


def item_records(build: Callable[[Any, str], ItemRecord] | None = None) -> st.SearchStrategy[ItemRecord]:
    """Records as a store is given them; ``build`` makes them of items, by default as every crawl does."""
    make = partial(_build_or_none, build or DefaultPipeline().build_record)
    return given_items().map(make).filter(lambda record: record is not None)  # type: ignore[return-value]


def _build_or_none(build: Callable[[Any, str], ItemRecord], item: Any) -> ItemRecord | None:
    try:
        return build(item, URL)
    except (DropItem, UnstorableItemError):
        return None


def stored_items() -> st.SearchStrategy[StoredItem]:
    """Items as a store gives them back, each seen and changed at some time."""
    times = st.lists(st.floats(0, 4e9), min_size=3, max_size=3).map(sorted)
    return st.builds(_stored_item, item_records(), times, st.integers(1, 2**31))


def _stored_item(record: ItemRecord, times: list[float], number: int) -> StoredItem:
    first_seen, changed_at, last_seen = times
    return StoredItem(
        type=record.type,
        key=record.key,
        data=msgspec.json.decode(record.data),
        url=record.url,
        first_seen=first_seen,
        last_seen=last_seen,
        changed_at=changed_at,
        id=number,
    )
