"""Values in ``meta`` and ``cb_kwargs``: what has a stored form comes back equal, and all else says so."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
import scrapy
from hypothesis import given
from hypothesis import strategies as st

from gossamer.adapters.scrapy.storage import NotStorableError, from_stored, to_stored


class Quote(scrapy.Item):
    text = scrapy.Field()
    tags = scrapy.Field()


@dataclass
class Pair:
    left: Any
    right: Any


PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(-(2**2000))
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=()))  # halves of surrogate pairs, too
    | st.binary(max_size=20)
    | st.dates()
    | st.datetimes()
    | st.decimals(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=5) | st.integers() | st.just("$"), inner, max_size=4)
        | st.builds(lambda one, two: Quote(text=one, tags=two), inner, inner)
        | st.builds(Pair, inner, inner)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_what_is_stored_comes_back_equal(value: Any) -> None:
    text = json.dumps(to_stored(value))
    back = from_stored(json.loads(text))
    assert (back, type(back)) == (value, type(value))


def test_sets_and_zones_come_back() -> None:
    value = {"a": {1, 2}, "b": frozenset({"x"}), "c": datetime(2026, 1, 2, tzinfo=UTC), "d": Decimal("1.50")}
    assert from_stored(to_stored(value)) == value
    assert from_stored(to_stored(date(2026, 1, 2))) == date(2026, 1, 2)


def test_what_no_file_can_hold_is_refused() -> None:
    class Local(scrapy.Item):
        text = scrapy.Field()

    endless: list[Any] = []
    endless.append(endless)
    for value in (object(), lambda: None, Local(text="x"), {"deep": [scrapy.Selector(text="<p>")]}, endless):
        with pytest.raises(NotStorableError):
            to_stored(value)


@pytest.mark.parametrize("tag", ["os:environ", "no.such.module:Class", "builtins:dict", "subprocess:Popen"])
def test_only_items_and_dataclasses_that_are_loaded_are_made(tag: str) -> None:
    with pytest.raises(NotStorableError):
        from_stored({"$": tag, "of": {}})
