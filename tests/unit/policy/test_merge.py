"""Items of several sources become one, whatever their order, and each field says where it is from."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.core.jobs import StoredItem
from gossamer.policy.merge import (
    PROVENANCE,
    MergeKind,
    MergeRules,
    MergeSource,
    is_empty,
    merge_sources,
    rank_sources,
    trace_fields,
)

FIELDS = ("sku", "name", "price", "tags")
VALUES = st.one_of(
    st.none(), st.just(""), st.integers(0, 3), st.sampled_from(["a", "b"]), st.just([]), st.booleans()
)


def source(data, *, host="a.example", job="a-1", at=0.0, kind="Product"):
    item = StoredItem(
        type=kind, key="k", data=data, url=f"http://{host}/1", first_seen=at, last_seen=at, changed_at=at
    )
    return MergeSource(item=item, job=job)


SOURCES = st.lists(
    st.builds(
        lambda data, host, job, at: source(data, host=host, job=job, at=at),
        st.dictionaries(st.sampled_from(FIELDS), VALUES, min_size=1),
        st.sampled_from(["a.example", "b.example", "c.example"]),
        st.sampled_from(["a-1", "b-1"]),
        st.sampled_from([0.0, 1.0, 2.0]),
    ),
    min_size=1,
    max_size=5,
)
RULES = st.builds(
    lambda kind, prefer: MergeRules(kind=kind, prefer=prefer),
    st.sampled_from(MergeKind),
    st.dictionaries(
        st.sampled_from((*FIELDS, "*")),
        st.lists(st.sampled_from(["a.example", "b", "b-1"]), min_size=1, max_size=2).map(tuple),
    ),
)


@pytest.mark.slow
@given(SOURCES, RULES, st.randoms())
@settings(max_examples=50, deadline=None)
def test_the_order_of_the_sources_does_not_matter(sources, rules, random):
    first = merge_sources(sources, rules)
    random.shuffle(sources)
    again = merge_sources(sources, rules)
    assert (first, first[PROVENANCE]) == (again, again[PROVENANCE])


@given(SOURCES, RULES)
@settings(max_examples=50, deadline=None)
def test_each_field_is_from_a_source_that_holds_it_and_is_empty_only_where_all_are(sources, rules):
    merged = merge_sources(sources, rules)
    provenance = merged.pop(PROVENANCE)
    assert provenance.keys() == merged.keys() == {name for one in sources for name in one.item.data}
    for name, value in merged.items():
        origin = provenance[name]
        assert any(
            name in one.item.data and one.item.data[name] == value and one.origin_of(name) == origin
            for one in sources
        )
        assert is_empty(value) == all(is_empty(one.item.data.get(name)) for one in sources)


OLD = source({"sku": "1", "name": "Lamp", "price": 5, "note": "used"}, at=1.0)
NEW = source({"sku": "1", "name": "", "price": 6}, host="b.example", job="b-1", at=2.0)


@pytest.mark.parametrize(
    ("rules", "price"),
    [
        (MergeRules(), 6),
        (MergeRules(kind=MergeKind.COMPLETE), 5),
        (MergeRules(prefer={"price": ("a.example",)}), 5),
        (MergeRules(prefer={"price": ("a",)}), 5),
        (MergeRules(prefer={"*": ("c", "a-1")}), 5),
        (MergeRules(prefer={"name": ("a",)}), 6),
        (MergeRules(kind=MergeKind.COMPLETE, prefer={"price": ("b-1", "a")}), 6),
    ],
)
def test_whose_value_counts(rules, price):
    merged = merge_sources([OLD, NEW], rules)
    assert (merged["price"], merged["name"], merged["note"]) == (price, "Lamp", "used")
    assert merged[PROVENANCE]["name"] == {
        "url": "http://a.example/1",
        "at": "1970-01-01T00:00:01Z",
        "job": "a-1",
    }


def test_a_function_may_choose_and_what_it_makes_up_has_no_source():
    def cheapest(items):
        assert [item["price"] for item in items] == [6, 5], "best first"
        return {**min(items, key=lambda item: item["price"]), "offers": len(items)}

    ranked = rank_sources([OLD, NEW], MergeKind.LATEST)
    merged = trace_fields(ranked, cheapest([one.values for one in ranked]))
    assert (merged["price"], merged["offers"]) == (5, 2)
    assert merged[PROVENANCE]["price"]["job"] == "a-1"
    assert merged[PROVENANCE]["offers"] is None


def test_what_was_merged_before_keeps_the_page_that_was_found_then():
    once = merge_sources([OLD, NEW], MergeRules())
    merged = source(once, host="b.example", job="merged-1", at=9.0)
    again = merge_sources([merged, source({"sku": "1", "stock": 2}, at=8.0)], MergeRules())
    assert again[PROVENANCE]["note"]["job"] == "a-1"
    assert again[PROVENANCE]["stock"]["job"] == "a-1"
    assert PROVENANCE not in again[PROVENANCE]
