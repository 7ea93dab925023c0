"""Profiles of items: what they count, that parts add up to the whole, and what an item is worth."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.core.jobs import StoredItem
from gossamer.policy.quality import (
    EMPTY,
    SKETCH,
    FieldFacts,
    ValueKind,
    field_errors,
    fits_kind,
    kind_of,
    list_wanted,
    main_kind,
    merge_profiles,
    middle_magnitude,
    profile_items,
    score_item,
    score_job,
    strip_sketches,
    usual_of,
)


def item_of(number: int = 0, kind: str = "P", **data: object) -> StoredItem:
    at = 1000.0 + number
    return StoredItem(
        id=number, type=kind, key=str(number), data=data, url=f"http://a/{number}",
        first_seen=at, last_seen=at, changed_at=at,
    )  # fmt: skip


values = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
values |= st.decimals(allow_nan=False).map(str) | st.lists(st.integers(), max_size=3)
values |= st.dictionaries(st.text(max_size=3), st.integers(), max_size=3)
items = st.lists(
    st.builds(
        lambda kind, data: item_of(kind=kind, **data),
        st.sampled_from(["P", "Q"]),
        st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), values),
    ),
    max_size=30,
)


def plainly(found):
    """Profiles without the order of what is in them."""
    return {one.type: (one.items, {field.field: field for field in one.fields}) for one in found}


@pytest.mark.slow
@given(items, items, items)
def test_the_profiles_of_parts_merge_to_that_of_the_whole(one, other, third):
    merged = merge_profiles(merge_profiles(profile_items(one), profile_items(other)), profile_items(third))
    assert plainly(merged) == plainly(profile_items([*one, *other, *third]))
    again = merge_profiles(profile_items(third), merge_profiles(profile_items(other), profile_items(one)))
    assert plainly(again) == plainly(merged)


@given(items)
def test_a_profile_counts_what_a_plain_count_does(found):
    for profile in profile_items(found):
        mine = [item for item in found if item.type == profile.type]
        assert profile.items == len(mine)
        for field in profile.fields:
            filled = [v for item in mine if (v := item.data.get(field.field)) not in EMPTY]
            assert field.filled == len(filled) == sum(field.kinds.values())
            assert field.kinds == Counter(kind_of(value).value for value in filled)
            assert profile.fill_of(field.field) == len(filled) / len(mine)
            texts = [len(v) for v in filled if isinstance(v, str | list | dict)]
            assert (field.shortest, field.longest) == (min(texts, default=None), max(texts, default=None))
            if filled and all(isinstance(value, str) for value in filled):
                assert field.distinct == len(set(filled))


def test_many_different_values_are_estimated_in_bounded_space():
    (profile,) = profile_items(item_of(number, sku=f"A-{number}") for number in range(20_000))
    assert len(profile.fields[0].sketch) == SKETCH
    assert profile.fields[0].distinct == pytest.approx(20_000, rel=0.2)
    (stored,) = strip_sketches([profile])
    assert stored.fields[0].sketch == ()
    assert stored.fields[0].distinct == profile.fields[0].distinct


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("12.50", ValueKind.DECIMAL), ("-3", ValueKind.DECIMAL), ("1E+5", ValueKind.DECIMAL),
        ("2024-02-03", ValueKind.DATE), ("2024-02-03T10:11:12Z", ValueKind.DATE), ("007", ValueKind.TEXT),
        ("12,50", ValueKind.TEXT), ("3 pieces", ValueKind.TEXT), (True, ValueKind.BOOLEAN),
        (10**400, ValueKind.NUMBER), ([1], ValueKind.LIST), ({"a": 1}, ValueKind.OBJECT),
    ],
)  # fmt: skip
def test_a_value_is_of_the_kind_that_it_is_stored_as(value, kind):
    assert kind_of(value) is kind
    profile_items([item_of(a=value)])  # an integer beyond all floats breaks nothing


def test_a_field_of_texts_takes_texts_that_look_like_numbers():
    assert main_kind({"text": 30, "decimal": 1}) == "text"
    assert main_kind({"text": 1, "decimal": 30}) == "decimal"
    assert main_kind({"text": 10, "decimal": 20}) == "text"  # sizes: 42, 44, M, L
    assert main_kind({"number": 3, "text": 1}) == "number"
    assert fits_kind("decimal", "text")
    assert fits_kind("number", "decimal")
    assert not fits_kind("text", "number")


def test_the_middle_of_the_numbers_is_not_moved_by_a_single_one():
    prices = [item_of(price=str(price)) for price in (9, 10, 11, 12, 5_000_000)]
    (profile,) = profile_items(prices)
    (price,) = profile.fields
    assert (price.least, price.most) == (9, 5_000_000)
    assert middle_magnitude(price.magnitudes) == 4  # below 16
    assert middle_magnitude({}) is None


def test_items_that_were_dropped_for_a_field_are_counted_to_it():
    dropped = {
        "item:Product.price: not a number": 3, "item:Product.price: missing": 1, "link:offsite": 9,
        "item:Product.offers[].price: missing": 2, "item:sold out": 7,
        "item:Product.sku and name: the key is empty": 1,
    }  # fmt: skip
    assert field_errors(dropped) == {"Product.price": 4, "Product.offers": 2, "Product.sku": 1}


def test_what_is_usual_is_the_median_so_one_bad_job_does_not_count():
    good = FieldFacts(fill=1.0, tail=1.0, kind="decimal", magnitude=5.0)
    bad = FieldFacts(fill=0.0, tail=0.0, kind="", errors=1.0)
    usual = usual_of([good, bad, good])
    assert (usual.fill, usual.kind, usual.errors, usual.magnitude) == (1.0, "decimal", 0.0, 5.0)
    assert usual_of([good, bad]).fill == 0.0, "of two jobs, what one alone has is not usual"


def test_an_item_is_worth_what_it_has_of_what_is_usual():
    usual = {
        "P.name": FieldFacts(fill=1.0, tail=1.0),
        "P.price": FieldFacts(fill=1.0, tail=1.0, kind="decimal"),
        "P.note": FieldFacts(fill=0.1, tail=0.1),  # hardly ever there: not missed
        "Q.name": FieldFacts(fill=1.0, tail=1.0),
    }
    wanted = list_wanted(usual, {})["P"]
    assert score_item(item_of(name="a", price="1.50"), wanted) == (1.0, ())
    assert score_item(item_of(name="a", price="on request"), wanted) == (0.5, ())
    assert score_item(item_of(name="", note="x"), wanted) == (0.0, ("name", "price"))
    assert score_item(item_of(name="a", price="1.50"), ()) == (1.0, ())  # nobody knows better
    for declared in ({"P.price": "text"}, {"P.price": ""}, None):  # any text may be right
        assert score_item(item_of(name="a", price="on request"), list_wanted(usual, declared)["P"])[0] == 1.0


@given(st.lists(st.floats(0, 1), max_size=20), st.integers(0, 50), st.integers(0, 50))
def test_a_job_is_worth_no_more_than_its_items(scores, number, dropped):
    worth = score_job(scores, number, dropped)
    assert 0 <= worth <= max(scores, default=0.0) + 1e-9
    assert score_job(scores, number, dropped + 1) <= worth


def test_a_job_whose_items_are_all_dropped_is_worth_nothing():
    assert score_job([], 0, 10) == 0.0
    assert score_job([1.0, 1.0], 2, 2) == 0.5


@given(items)
def test_what_is_stored_of_a_profile_is_as_small_as_its_fields(found):
    for profile in strip_sketches(profile_items(found)):
        assert replace(profile, fields=()).items == profile.items
        assert all(not field.sketch for field in profile.fields)
