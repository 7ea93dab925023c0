"""Budgets of patterns: what closes a group, what it is called, and what is refused then."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.policy.content_memory import ContentMemory, read_text, witness_of
from gossamer.policy.trap_budgets import (
    PageWorth,
    TrapBudgetRules,
    TrapCounts,
    add_counts,
    describe_trap,
    family_of,
    find_closed,
    find_month,
    find_rule,
    find_session_ids,
    groups_of,
    is_far_date,
)

RULES = TrapBudgetRules(max_worthless=100)
NOW = datetime(2026, 11, 23, tzinfo=UTC).timestamp()
URL = "http://h.test/list/7?page=3"
COPY, ITEM, TEXT = PageWorth(copies=1), PageWorth(items=1), PageWorth(texts=8)


def counts_of(pages: list[PageWorth], group: str = groups_of(URL)[0], url: str = URL) -> TrapCounts:
    """What is known of a group after these pages, each saved on its own."""
    known = TrapCounts()
    for page in pages:
        more = TrapCounts()
        more.add_page(page, 10, url, 1.0)
        known = add_counts(group, known, more, RULES)
    return known


def closed(rule: str, **numbers: Any) -> TrapCounts:
    return TrapCounts(rule=rule, **numbers)


@given(st.lists(st.sampled_from([ITEM, COPY, PageWorth(near=4), PageWorth(barren=1), PageWorth()])))
def test_what_several_workers_have_counted_is_what_one_would_have_counted(pages: list[PageWorth]) -> None:
    one = counts_of(pages)
    half = len(pages) // 2
    other = add_counts("http://h.test/**", counts_of(pages[:half]), TrapCounts(), RULES)
    for page in pages[half:]:
        more = TrapCounts()
        more.add_page(page, 10, URL, 1.0)
        other = add_counts("http://h.test/**", other, more, RULES)
    assert (one.pages, one.items, one.wasted, one.size_bytes) == (
        other.pages,
        other.items,
        other.wasted,
        other.size_bytes,
    )
    assert one.spent == other.spent


def test_a_catalogue_of_any_size_stays_open() -> None:
    """One page in six with a new item is enough; so is every third with a text of its own."""
    assert counts_of([COPY, COPY, COPY, COPY, COPY, ITEM] * 3_000).rule == ""
    assert counts_of([PageWorth()] * 20_000).rule == ""
    assert counts_of([*[PageWorth(near=8)] * 2, TEXT] * 1_000).rule == ""


def test_a_good_beginning_does_not_pay_for_an_endless_rest() -> None:
    known = counts_of([*[ITEM] * 10_000, *[COPY] * 199])
    assert (known.rule, known.spent) == ("", 99)
    assert counts_of([*[ITEM] * 10_000, *[COPY] * 200]).rule == "trap_same_content"


@pytest.mark.parametrize(
    ("url", "group", "page", "rule"),
    [
        (URL, groups_of(URL)[0], COPY, "trap_same_content"),
        (URL, groups_of(URL)[0], PageWorth(near=1), "trap_near_duplicate"),
        (URL, groups_of(URL)[1], PageWorth(barren=1), "trap_parameters"),
        ("http://h.test/x/ab12cd34ef/y", "http://h.test/x/#/y?", COPY, "trap_session"),
        ("http://h.test/x?PHPSESSID=1", "http://h.test/x?PHPSESSID", COPY, "trap_session"),
        ("http://h.test/cal/2031/05", "http://h.test/cal/#/#?", PageWorth(barren=1), "trap_calendar"),
        ("http://h.test/help/oak", "http://h.test/help/*", COPY, "trap_soft_404"),
        ("http://h.test/help/oak", "http://h.test/**", PageWorth(near=1), "trap_soft_404"),
    ],
)
def test_a_trap_is_called_by_its_kind(url: str, group: str, page: PageWorth, rule: str) -> None:
    known = counts_of([page] * 100, group, url)
    assert known.rule == rule
    assert counts_of([page] * 99, group, url).rule == ""
    assert describe_trap(group, known) == (
        f"{rule}: 100 of 100 pages of {group.removesuffix('?')} brought nothing new"
    )


def test_a_host_with_the_pages_of_another_one_is_a_mirror() -> None:
    host, domain = "http://www2.h.test/**", "*.h.test"
    for group in (host, domain):
        assert find_rule(group, TrapCounts(witnesses=13, foreign=13), RULES) == "trap_mirror"
        assert find_rule(group, TrapCounts(witnesses=12, foreign=12), RULES) == ""
        assert find_rule(group, TrapCounts(witnesses=40, foreign=13), RULES) == ""
    shut = {domain: closed("trap_mirror", foreign=13, witnesses=13)}
    assert find_closed("http://new.h.test/a", "http://h.test/", shut, {}) == domain
    own = {"http://old.h.test/**": TrapCounts(witnesses=5, foreign=1)}
    assert find_closed("http://old.h.test/a", "http://h.test/", shut, own) is None
    assert find_closed("http://other.test/a", "http://h.test/", shut, own) is None


def test_limits_of_pages_count_all_pages() -> None:
    rules = TrapBudgetRules(max_worthless=None, max_per_pattern=10, max_per_domain=50)
    pattern = groups_of(URL)[0]
    assert find_rule(pattern, TrapCounts(pages=9, spent=10_000), rules) == ""
    assert find_rule(pattern, TrapCounts(pages=10), rules) == "trap_pattern"
    assert find_rule(family_of(URL), TrapCounts(pages=10), rules) == ""
    assert find_rule("*.h.test", TrapCounts(pages=50), rules) == "trap_domain"
    told = describe_trap(pattern, TrapCounts(pages=10, rule="trap_pattern"))
    assert told == "trap_pattern: 10 pages of http://h.test/list/#?page were fetched"


def test_good_pages_beside_a_trap_are_not_refused() -> None:
    good = {"http://h.test/product/#?": TrapCounts(items=20, pages=30, copies=10)}
    product, made_up = "http://h.test/product/9", "http://h.test/product/oak"
    family = {"http://h.test/product/*": closed("trap_soft_404")}
    assert find_closed(product, made_up, family, good) is None
    assert find_closed(made_up, made_up, family, good) == "http://h.test/product/*"
    host = {"http://h.test/**": closed("trap_soft_404")}
    assert find_closed(made_up, product, host, good) is None  # a good page leads there
    assert find_closed(made_up, made_up, host, good) == "http://h.test/**"
    assert find_closed(product, made_up, {"http://h.test/product/#?": closed("trap_session")}, {}) is not None


def test_groups() -> None:
    assert groups_of("http://h.test/a/b1/c?x=1&y=2") == (
        "http://h.test/a/#/c?x&y",
        "http://h.test/a/#/c?*",
        "http://h.test/**",
    )
    assert family_of("http://h.test/a/b/c") == "http://h.test/a/*"
    assert family_of("http://h.test/a1/b") == "http://h.test/#/*"
    assert family_of("http://h.test/a") == family_of("http://h.test/") == "http://h.test/*"


@pytest.mark.parametrize(
    ("url", "is_far"),
    [
        ("http://h.test/events/2026/12", False),
        ("http://h.test/events/2028/01", True),
        ("http://h.test/events/1901-05-07", True),
        ("http://h.test/events?year=2031&month=5", True),
        ("http://h.test/events?year=2027&month=5", False),
        ("http://h.test/item/20310512", False),
        ("http://h.test/item/2031", False),
        ("http://h.test/item/12031/051", False),
    ],
)
def test_dates_that_nobody_put_there(url: str, is_far: bool) -> None:
    assert is_far_date(url, NOW) is is_far
    assert find_month("http://h.test/2026/03/x") == 2026 * 12 + 2


def test_ids_of_a_visit() -> None:
    assert find_session_ids("http://h.test/a;jsessionid=A1?sid=x&b=2") == ["x", "A1"]
    assert find_session_ids("http://h.test/s/0a1b2c3d4e/x") == ["0a1b2c3d4e"]
    assert find_session_ids("http://h.test/a/123456789/long-words-of-a-title?side=left") == []


def test_copies_are_told_from_pages_that_only_come_again() -> None:
    memory = ContentMemory()
    assert not memory.is_copy("http://h.test/1", b"one")
    assert not memory.is_copy("http://h.test/1", b"one")
    assert memory.is_copy("http://h.test/2", b"one")
    assert not memory.is_copy("http://h.test/a/0a1b2c3d4e", b"to 0a1b2c3d4e")
    assert memory.is_copy("http://h.test/a/1a1b2c3d4e", b"to 1a1b2c3d4e")


def test_pages_with_other_headings_are_never_nearly_the_same() -> None:
    memory, text = ContentMemory(), " ".join(f"word{number}" for number in range(300))
    page = "<title>{}</title><script>x</script><p>{}</p><a href='{}'>on</a>"
    ends = [
        memory.is_near("h", f"http://h.test/{number}", page.format(title, body, number).encode())
        for number, (title, body) in enumerate(
            [("A", text), ("B", text), ("A", text), ("A", text[:900]), ("short", "few"), ("short", "few")]
        )
    ]
    assert ends == [False, False, True, False, False, True]
    assert read_text(b"<h1>A <b>b</b></h1><!-- no --><p>c") == ("A b c", "A b")


def test_witnesses_do_not_see_the_name_of_the_host() -> None:
    one = witness_of("a", "h.test", b"<a href='http://h.test/b'>")
    assert one == witness_of("a", "i.test", b"<a href='http://i.test/b'>")
    assert one != witness_of("b", "h.test", b"<a href='http://h.test/b'>")
