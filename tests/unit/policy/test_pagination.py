"""The pages of a listing: every page is asked for once, whoever works on which page, and it ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.policy.pagination import (
    PageFacts,
    PagingRules,
    PagingState,
    digest_entries,
    follow_state,
    plan_numbers,
    read_count,
    read_range,
)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1-16 of 4,213", 4213),
        ("4.213 Treffer", 4213),
        ("1\u201316 of 4 213 results", 4213),
        ("1\u201316 sur 4\u00a0213", 4213),
        ("4\u2019213 R\u00e9sultats", 4213),
        ("4\u202f213", 4213),
        ("1,23,456 results", 123456),
        ("1,299 products in 0.123 seconds", 1299),
        ("\u0664\u0662\u0661\u0663", 4213),
        ("Page 2 of 264 (4213 products).", 4213),
        ("12", 12),
        ("no results", None),
        ("", None),
        ("9" * 40, None),
    ],
)
def test_counts_are_read_with_any_separators(text: str, count: int | None) -> None:
    assert read_count(text) == count


def test_numbers_in_a_row_of_a_pager_are_not_one_number() -> None:
    assert read_count("1 2 3 12 100 101", has_spaces=False) == 101
    assert read_count("1 2 3 1,234", has_spaces=False) == 1234


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1-16 of 4,213", (1, 16)),
        ("1,201 \u2013 1,216 of 4,213", (1201, 1216)),
        ("1 to 16", (1, 16)),
        ("4,213 products", None),
        ("2024-01-16", None),
    ],
)
def test_which_entries_a_page_shows(text: str, found: tuple[int, int] | None) -> None:
    assert read_range(text) == found


class Listing:
    """A server with so many pages of entries, of which the last is not full."""

    def __init__(self, total: int, size: int, beyond: str = "empty") -> None:
        self.total, self.size, self.beyond = total, size, beyond

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // self.size))

    def entries(self, page: int) -> list[str]:
        if page > self.pages and self.beyond != "empty":
            page = self.pages if self.beyond == "last" else 1
        return [str(number) for number in range(self.total)][(page - 1) * self.size : page * self.size]


def crawl(rules: PagingRules, listing: Listing, *, says: str, start: int = 1, draw=None) -> list[int]:
    """The pages that are asked for, in any order of work, each as often as it is."""
    asked = [start]
    waiting = [(start, PagingState())]
    while waiting:
        page, state = waiting.pop(draw(st.integers(0, len(waiting) - 1)) if draw else 0)
        entries = listing.entries(page)
        first = (page - 1) * listing.size + 1
        facts = PageFacts(
            number=rules.first + (page - 1) * rules.step,
            pages=listing.pages if says == "pages" else None,
            total=listing.total if says in ("total", "range") else None,
            shown=(first, first + len(entries) - 1) if says == "range" and len(entries) > 1 else None,
            entries=digest_entries(entries),
        )
        plan = plan_numbers(rules, state, facts)
        for steps, number in enumerate(plan.numbers, 1):
            following = (number - rules.first) // rules.step + 1
            asked.append(following)
            waiting.append((following, follow_state(state, facts, plan, steps)))
        assert len(asked) < 1000, "it does not end"
    return asked


@pytest.mark.slow
@given(
    data=st.data(),
    total=st.integers(0, 300),
    size=st.integers(1, 40),
    says=st.sampled_from(["pages", "total", "range"]),
    is_offset=st.booleans(),
)
def test_every_page_of_a_known_total_is_asked_for_once(data, total, size, says, is_offset) -> None:
    listing = Listing(total, size)
    rules = (
        PagingRules(first=0, step=size) if is_offset else PagingRules(size=size if says == "total" else None)
    )
    asked = crawl(rules, listing, says=says, draw=data.draw)
    if listing.entries(1) or says == "pages":
        assert sorted(asked) == list(range(1, listing.pages + 1))
    else:
        assert asked == [1]


@given(total=st.integers(0, 200), size=st.integers(1, 40), beyond=st.sampled_from(["empty", "last", "first"]))
def test_a_chain_ends_one_page_behind_the_last(total: int, size: int, beyond: str) -> None:
    """Whether the server answers there with nothing, with the last page again, or with the first."""
    listing = Listing(total, size, beyond)
    asked = crawl(PagingRules(), listing, says="nothing")
    ended = 1 if not total else listing.pages + 1
    assert asked == list(range(1, ended + 1))


def test_a_listing_that_is_entered_in_its_midst_is_followed_from_there() -> None:
    assert crawl(PagingRules(size=10), Listing(95, 10), says="total", start=7) == [7, 8, 9, 10]
    assert crawl(PagingRules(), Listing(95, 10), says="range", start=10) == [10]


def test_pages_above_the_limit_are_counted_and_not_asked_for() -> None:
    facts = PageFacts(number=1, total=10**15)
    plan = plan_numbers(PagingRules(size=16, limit=100), PagingState(), facts)
    assert (len(plan.numbers), plan.numbers[-1], plan.refused) == (99, 100, 62500000000000 - 100)
    assert len(crawl(PagingRules(limit=5), Listing(95, 10), says="nothing")) == 5


def test_a_listing_that_has_grown_is_followed_from_its_last_page() -> None:
    rules = PagingRules(size=10)
    plan = plan_numbers(rules, PagingState(), PageFacts(number=1, total=30))
    told = follow_state(PagingState(), PageFacts(number=1, total=30), plan, 1)
    assert list(plan.numbers) == [2, 3]
    assert not plan_numbers(rules, told, PageFacts(number=2, total=50)).numbers
    last = follow_state(PagingState(), PageFacts(number=1, total=30), plan, 2)
    assert list(plan_numbers(rules, last, PageFacts(number=3, total=50)).numbers) == [4, 5]
