"""What differs between two sets of items: nothing more, nothing less."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.item_diff import DifferenceKind, FieldDifference, ItemDifference
from gossamer.core.jobs import StoredItem
from gossamer.policy.item_diff import DiffCounter, diff_items, place_of

VALUES = st.one_of(st.none(), st.booleans(), st.integers(0, 2), st.sampled_from([0.0, 1.0, "", "1", "é"]))
FIELDS = st.dictionaries(st.sampled_from(["a", "b", "c"]), VALUES | st.dictionaries(st.text("xy"), VALUES))
SIDES = st.dictionaries(st.tuples(st.sampled_from(["P", "Q"]), st.text("ab", max_size=3)), FIELDS)


def side_of(values: dict[tuple[str, str], dict[str, Any]]) -> list[StoredItem]:
    """The items of one side, in order."""
    items = [
        StoredItem(type=kind, key=key, data=data, url="", first_seen=0.0, last_seen=0.0, changed_at=0.0)
        for (kind, key), data in values.items()
    ]
    return sorted(items, key=place_of)


def as_json(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")


@pytest.mark.slow
@given(before=SIDES, after=SIDES)
def test_it_is_what_two_dictionaries_differ_in(
    before: dict[tuple[str, str], dict[str, Any]], after: dict[tuple[str, str], dict[str, Any]]
) -> None:
    counter = DiffCounter()
    found = {
        place_of(each.item): each
        for each in counter.count_differences(diff_items(side_of(before), side_of(after)))
    }
    both = before.keys() & after.keys()
    assert {p for p, each in found.items() if each.kind is DifferenceKind.ADDED} == after.keys() - both
    assert {p for p, each in found.items() if each.kind is DifferenceKind.LOST} == before.keys() - both
    changed = {p: each for p, each in found.items() if each.kind is DifferenceKind.CHANGED}
    assert changed.keys() == {p for p in both if as_json(before[p]) != as_json(after[p])}
    for place, each in changed.items():
        rebuilt = dict(before[place])
        for name, field in each.fields.items():
            assert as_json(before[place].get(name)) != as_json(after[place].get(name)) or (
                (name in before[place]) != (name in after[place])
            )
            rebuilt.pop(name, None)
            if field.after is not msgspec.UNSET:
                rebuilt[name] = field.after
        assert as_json(rebuilt) == as_json(after[place]), "the fields are all of the difference"
    counts = counter.counts
    assert counts.added + counts.changed + counts.unchanged == len(after)
    assert counts.lost + counts.changed + counts.unchanged == len(before)
    assert sum(counts.fields.values()) == sum(len(each.fields) for each in changed.values())


@pytest.mark.parametrize(("old", "new"), [(1, 1.0), (1, True), (1, "1"), (None, ""), ([1, 2], [2, 1])])
def test_values_that_python_or_a_reader_may_take_for_equal_differ(old: Any, new: Any) -> None:
    (found,) = diff_items(side_of({("P", "1"): {"a": old}}), side_of({("P", "1"): {"a": new}}))
    assert found is not None
    assert found.fields == {"a": FieldDifference(before=old, after=new)}


def test_the_order_of_fields_is_no_difference() -> None:
    old, new = {"a": 1, "b": {"x": 1, "y": 2}}, {"b": {"y": 2, "x": 1}, "a": 1}
    assert list(diff_items(side_of({("P", "1"): old}), side_of({("P", "1"): new}))) == [None]


def test_a_field_that_a_side_does_not_have_is_not_null() -> None:
    (found,) = diff_items(side_of({("P", "1"): {}}), side_of({("P", "1"): {"a": None}}))
    assert isinstance(found, ItemDifference)
    assert msgspec.to_builtins(found.fields) == {"a": {"after": None}}
