"""What has become worse of a job's items: against earlier jobs, and within the job."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.drops import DropSample
from gossamer.core.jobs import StoredItem
from gossamer.policy.drift import FindingKind, ItemCounts, UsualFacts, find_drift, find_missing_items
from gossamer.policy.item_look import ItemFacts, find_break, measure_job
from gossamer.policy.quality import profile_items, usual_of
from gossamer.policy.sentences.quality import describe_finding
from gossamer.policy.sentences.words import SentenceFormatter

SHOW = SentenceFormatter(span=str, time=lambda at: f"T{at:g}", rate=str, size=str)


def item_of(number: int, kind: str = "Product", **data: object) -> StoredItem:
    at = 1000.0 + number
    return StoredItem(
        id=number, type=kind, key=str(number), data=data, url=f"http://a/{number}",
        first_seen=at, last_seen=at, changed_at=at,
    )  # fmt: skip


def sample_of(number: int, reason: str = "Product.price: not a number") -> DropSample:
    return DropSample(reason=reason, type="Product", url=f"http://a/{number}", at=1000.0 + number, data=b"{}")


def facts_of(items, *, errors=None, samples=(), share=1.0) -> ItemFacts:
    return ItemFacts(
        items=tuple(items),
        types=profile_items(items),
        errors=errors or {},
        samples=tuple(samples),
        share=share,
        counted=share,
        declared={},
    )


def findings_of(facts: ItemFacts, earlier=(), drift: float = 0.3):
    looks = [measure_job(one).fields for one in earlier]
    usual = {name: usual_of([look[name] for look in looks]) for look in looks for name in look}
    return find_drift(facts, measure_job(facts), usual, drift)


GOOD = [item_of(n, sku=str(n), name=f"Vase {n}", price=f"{10 + n}.50") for n in range(48)]


# --------------------------------------------------------------------------- breaks


@given(st.integers(8, 60), st.integers(8, 60))
def test_a_clean_break_is_found_where_it_is(before, after):
    assert find_break([True] * before + [False] * after) == before


@given(st.lists(st.booleans(), max_size=80))
def test_a_break_lies_between_more_and_fewer(flags):
    place = find_break(flags)
    if place is not None:
        assert sum(flags[:place]) / place > sum(flags[place:]) / (len(flags) - place)
        assert flags[place - 1]
        assert not flags[place]


def test_chance_makes_no_break():
    """One in a thousand would be told; with fields that are there at random that is what a user sees."""
    source = random.Random(7)
    told = sum(find_break([source.random() < 0.8 for _ in range(200)]) is not None for _ in range(1000))
    assert told <= 3


@pytest.mark.parametrize("flags", [[], [True], [True] * 50, [False] * 50, [False] * 25 + [True] * 25])
def test_what_is_always_so_or_becomes_better_has_no_break(flags):
    assert find_break(flags) is None


# --------------------------------------------------------------------------- within one job


def test_a_field_that_is_empty_from_a_page_on_is_named_with_page_and_time():
    items = [*GOOD[:24], *[item_of(n, sku=str(n), name="x", price=None) for n in range(24, 48)]]
    random.Random(1).shuffle(items)
    (found,) = findings_of(facts_of(items))
    assert (found.kind, found.field, found.usual, found.now) == (FindingKind.FILL, "Product.price", 1.0, 0.0)
    assert (found.url, found.since, found.count, found.jobs) == ("http://a/24", 1024.0, 24, 0)
    assert describe_finding(found, "shop-1", SHOW) == (
        "100% of the last 24 items of shop-1 have no Product.price; before, 100% had it. "
        "It began at T1024 with http://a/24."
    )


def test_a_required_field_that_vanishes_drops_its_items_and_is_named_all_the_same():
    """The items that are left are perfect: only what was dropped says that something is wrong."""
    dropped = facts_of(GOOD[:24], errors={"Product.price": 24}, samples=[sample_of(30), sample_of(24)])
    (found,) = findings_of(dropped)
    assert (found.kind, found.field) == (FindingKind.TYPE_ERRORS, "Product.price")
    assert (found.url, found.since, found.now) == ("http://a/24", 1024.0, 0.0)


def test_items_that_a_spider_drops_now_and_then_are_no_drift():
    assert findings_of(facts_of(GOOD, errors={"Product.price": 20}, samples=[sample_of(1)])) == ()
    assert findings_of(facts_of(GOOD, errors={"Product.price": 3}, samples=[sample_of(40)])) == ()


def test_values_that_become_another_kind_are_named():
    items = [*GOOD[:24], *[item_of(n, sku=str(n), name="x", price="call us") for n in range(24, 48)]]
    found = {one.field: one for one in findings_of(facts_of(items))}
    assert found.keys() == {"Product.price"}
    assert (found["Product.price"].kind, found["Product.price"].url) == (
        FindingKind.TYPE_ERRORS,
        "http://a/24",
    )


def test_a_part_of_the_items_says_the_same_as_all_of_them():
    items = [*GOOD[:24], *[item_of(n, sku=str(n), name="x", price=None) for n in range(24, 48)]]
    (found,) = findings_of(facts_of(items, share=0.01))
    assert found.field == "Product.price"
    assert findings_of(facts_of(GOOD, errors={"Product.price": 24}, samples=[sample_of(1)], share=0.01)) == ()


# --------------------------------------------------------------------------- against earlier jobs


def test_a_job_like_those_before_has_no_findings():
    assert findings_of(facts_of(GOOD), [facts_of(GOOD)] * 3) == ()


def test_a_field_that_is_gone_from_the_first_page_is_told_by_the_jobs_before():
    empty = facts_of([item_of(n, sku=str(n), name=f"Vase {n}", price=None) for n in range(48)])
    assert findings_of(empty) == ()  # nothing says that it was ever there
    (found,) = findings_of(empty, [facts_of(GOOD)])
    assert (found.field, found.now, found.url, found.jobs) == ("Product.price", 0.0, "http://a/0", 1)
    gone = facts_of([item_of(n, sku=str(n), name=f"Vase {n}") for n in range(48)])
    (found,) = findings_of(gone, [facts_of(GOOD)])
    assert (found.field, found.url) == ("Product.price", "http://a/0")


def test_items_that_are_all_dropped_now_are_told_by_the_jobs_before():
    dropped = facts_of([], errors={"Product.price": 48}, samples=[sample_of(0)])
    (found,) = findings_of(dropped, [facts_of(GOOD)])
    assert (found.kind, found.field, found.url) == (FindingKind.TYPE_ERRORS, "Product.price", "http://a/0")


def test_a_site_that_always_ends_with_items_of_another_sort_is_told_once():
    """Books have an ISBN, the records after them have none: that is how the site is."""
    mixed = [item_of(n, sku=str(n), isbn=str(n) if n < 24 else None) for n in range(48)]
    assert [one.field for one in findings_of(facts_of(mixed))] == ["Product.isbn"]
    assert findings_of(facts_of(mixed), [facts_of(mixed)]) == ()


def test_values_that_are_all_the_same_now_are_told():
    same = [item_of(n, sku=str(n), name="Access denied", price="1.50") for n in range(48)]
    found = {(one.kind, one.field) for one in findings_of(facts_of(same), [facts_of(GOOD)])}
    assert (FindingKind.DISTINCT, "Product.name") in found
    assert (
        FindingKind.DISTINCT,
        "Product.price",
    ) in found


def test_prices_in_cents_are_told():
    cents = [item_of(n, sku=str(n), name=f"Vase {n}", price=str(1000 + 100 * n)) for n in range(48)]
    (found,) = findings_of(facts_of(cents), [facts_of(GOOD)])
    assert (found.kind, found.field) == (FindingKind.RANGE, "Product.price")
    assert "are below 4,096 for the most part" in describe_finding(found, "shop-2", SHOW)


def test_too_few_items_say_nothing():
    few = facts_of([item_of(n, sku=str(n), price=None) for n in range(9)])
    assert findings_of(few, [facts_of(GOOD)]) == ()


# --------------------------------------------------------------------------- no items


ONE_A_PAGE = UsualFacts(per_page=1.0, page_jobs=3)


def yield_of(pages, items, *, since=0, **more) -> ItemCounts:
    return ItemCounts(
        pages=pages,
        items=items,
        pages_since=since,
        item_pages=items,
        since=1024.0,
        first_since="http://a/24",
        **more,
    )


def test_a_job_without_items_is_told_where_earlier_ones_had_some():
    found = find_missing_items(yield_of(48, 0), ONE_A_PAGE, 0.3)
    assert (found.kind, found.now, found.jobs) == (FindingKind.NO_ITEMS, 0.0, 3)
    assert describe_finding(found, "shop-4", SHOW).startswith(
        "shop-4 has found no item on its 48 pages; in 3 earlier jobs, a page had 1."
    )
    assert find_missing_items(yield_of(48, 0), UsualFacts(), 0.3) is None  # nobody knows that there are any
    assert find_missing_items(yield_of(48, 0), UsualFacts(per_page=0.0, page_jobs=3), 0.3) is None
    assert (
        find_missing_items(yield_of(48, 0, is_whole=False), ONE_A_PAGE, 0.3) is None
    )  # it was stopped early


def test_pages_that_give_nothing_any_more_are_told_within_one_job():
    found = find_missing_items(yield_of(48, 24, since=24), UsualFacts(), 0.3)
    assert (found.kind, found.url, found.since, found.count) == (
        FindingKind.NO_ITEMS,
        "http://a/24",
        1024.0,
        24,
    )
    assert find_missing_items(yield_of(48, 44, since=4), UsualFacts(), 0.3) is None
    assert (
        find_missing_items(yield_of(480, 48, since=24), UsualFacts(), 0.3) is None
    )  # most pages had none before


def test_items_that_are_dropped_are_not_missing_twice():
    assert find_missing_items(yield_of(48, 24, dropped=24), ONE_A_PAGE, 0.3) is None
    assert find_missing_items(yield_of(48, 24), ONE_A_PAGE, 0.3).now == 0.5
    assert find_missing_items(yield_of(0, 0), ONE_A_PAGE, 0.3) is None
