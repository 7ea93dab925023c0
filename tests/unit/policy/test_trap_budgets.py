"""Budgets of patterns: what closes a group, what it is called, and what is refused then."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.results import ItemRecord, PageReading
from gossamer.policy.content_memory import ContentMemory, witness_of
from gossamer.policy.trap_budgets import (
    ITEM_PAGE,
    PATTERN_MERCY,
    DescentKind,
    PageWorth,
    TrapBudgetRules,
    TrapCounts,
    add_counts,
    count_since,
)
from gossamer.policy.trap_closing import describe_trap, find_closed, find_rule
from gossamer.policy.trap_descent import find_descents
from gossamer.policy.url_groups import family_of, groups_of, pattern_of
from gossamer.policy.url_signs import find_month, find_session_ids, is_far_date

RULES = TrapBudgetRules(max_worthless=100)
NOW = datetime(2026, 11, 23, tzinfo=UTC).timestamp()
URL = "http://h.test/list/7?page=3"
COPY, ITEM, TEXT = PageWorth(copies=1), ITEM_PAGE, PageWorth(texts=8)
PATTERN, FAMILY, HOST = groups_of(URL)


def counts_of(pages: list[PageWorth], group: str = PATTERN, url: str = URL) -> TrapCounts:
    """What is known of a group after these pages."""
    known = TrapCounts(since=1.0, example=url)
    for page in pages:
        known.add_page(page, 10)
        known.rule = known.rule or find_rule(group, known, RULES, {})
    return known


def closed(rule: str, **numbers: Any) -> TrapCounts:
    return TrapCounts(rule=rule, **numbers)


PAGES = st.sampled_from([ITEM, COPY, PageWorth(near=4), PageWorth(barren=1), PageWorth()])


@given(st.lists(st.lists(PAGES)))
def test_what_is_saved_in_parts_is_what_was_counted(parts: list[list[PageWorth]]) -> None:
    known, saved, shared = counts_of([]), TrapCounts(), TrapCounts()
    for part in parts:
        for page in part:
            known.add_page(page, 10)
        shared = add_counts(shared, count_since(known, saved))
        known, saved = add_counts(shared, TrapCounts()), shared
    whole = counts_of([page for part in parts for page in part])
    assert (shared.pages, shared.gained, shared.wasted) == (whole.pages, whole.gained, whole.wasted)
    assert shared.spent == whole.spent


@given(st.lists(st.tuples(st.booleans(), PAGES)))
def test_what_two_workers_count_is_added_up(pages: list[tuple[bool, PageWorth]]) -> None:
    one, other = TrapCounts(), TrapCounts()
    for is_first, page in pages:
        (one if is_first else other).add_page(page, 10)
    both, whole = add_counts(one, other), counts_of([page for _, page in pages])
    assert (both.pages, both.items, both.wasted, both.size_bytes) == (
        whole.pages,
        whole.items,
        whole.wasted,
        whole.size_bytes,
    )
    assert both.spent == one.spent + other.spent


def test_what_others_have_spent_is_given_back_only_once() -> None:
    shared = TrapCounts(spent=20)
    saved = add_counts(shared, TrapCounts())
    for _ in range(10):
        shared.add_page(ITEM, 10)
    assert add_counts(saved, count_since(shared, saved)).spent == 0
    shared.add_page(COPY, 10)
    assert add_counts(TrapCounts(spent=30), count_since(shared, saved)).spent == 11


def test_only_pages_that_were_found_in_a_group_and_lead_on_in_it_spend() -> None:
    known = TrapCounts()
    for _ in range(100):
        known.add_page(COPY, 10, DescentKind.OUTSIDE)
        known.add_page(COPY, 10, DescentKind.LEAF)
    assert (known.wasted, known.spent) == (200, 0), "a finite set is fetched whole, whatever is on it"
    for _ in range(10):
        known.add_page(COPY, 10, DescentKind.BREEDER)
    assert known.spent == 10
    for _ in range(100):
        known.add_page(COPY, 10, DescentKind.LEAF)
    assert known.spent == 10 + 4 * 10, "beside pages that breed some leaves spend, too"


def test_a_pattern_of_which_few_ids_are_in_use_stays_open() -> None:
    known = TrapCounts()
    for _ in range(100):
        for page in [*[COPY] * 19, ITEM]:
            known.add_page(page, 10, mercy=PATTERN_MERCY)
    assert known.spent == 0


URLS = {
    "listing": "http://h.test/list/1",
    "more": "http://h.test/list/2",
    "item": "http://h.test/product/1",
    "seed": "",
    "home": "http://h.test/",
    "other": "http://i.test/list/9",
}


@pytest.mark.parametrize(
    ("via", "children", "bad", "descents"),
    [
        ("listing", ["more"], (), (DescentKind.BREEDER,) * 3),
        ("listing", [], (), (DescentKind.LEAF,) * 3),
        ("home", ["more"], (), (DescentKind.OUTSIDE,) * 3),
        ("seed", ["more"], (), (DescentKind.OUTSIDE,) * 3),
        ("other", ["more"], (), (DescentKind.OUTSIDE,) * 3),
        ("item", ["more"], (), (DescentKind.OUTSIDE, DescentKind.OUTSIDE, DescentKind.BREEDER)),
        ("item", [], (), (DescentKind.OUTSIDE, DescentKind.OUTSIDE, DescentKind.LEAF)),
        ("listing", ["more", "item"], (), (DescentKind.OUTSIDE, DescentKind.OUTSIDE, DescentKind.BREEDER)),
        ("listing", ["more", "item"], ("item",), (DescentKind.BREEDER,) * 3),
        ("listing", ["other"], ("other",), (DescentKind.LEAF,) * 3),
    ],
)
def test_descents(
    via: str, children: list[str], bad: tuple[str, ...], descents: tuple[DescentKind, ...]
) -> None:
    groups, worthless = groups_of("http://h.test/list/7"), TrapCounts(pages=9, copies=9)
    known = {pattern_of(URLS[name]): worthless for name in bad}
    found = find_descents(groups, URLS[via], (URLS[name] for name in children), known.get)
    assert tuple(found) == descents


def test_a_closed_group_is_probed_ever_more_rarely() -> None:
    known = closed("trap_calendar")
    assert [number for number in range(1, 2000) if known.claim_probe()] == [16, 65, 258, 1027]
    assert (known.refused, known.probes) == (1999 - 4, 4)
    for rule in ("trap_mirror", "trap_pattern", "trap_domain"):
        known = closed(rule)
        assert not any(known.claim_probe() for _ in range(100))


def test_a_group_that_was_opened_again_may_spend_a_little() -> None:
    known = closed("trap_calendar", spent=70)
    stale = add_counts(known, TrapCounts())
    known.forgive(RULES)
    known.rule, known.opened = "", 1
    assert known.spent == 45
    assert add_counts(stale, known).rule == add_counts(known, stale).rule == "", "the other does not know yet"
    again = closed("trap_calendar", opened=1)
    assert add_counts(known, again).rule == "trap_calendar"


def test_a_catalogue_of_any_size_stays_open() -> None:
    """One page in six with a new item is enough; so is every third with a text of its own."""
    assert counts_of([COPY, COPY, COPY, COPY, COPY, ITEM] * 3_000).rule == ""
    assert counts_of([PageWorth()] * 20_000).rule == ""
    assert counts_of([*[PageWorth(near=8)] * 2, TEXT] * 1_000).rule == ""


def test_a_good_beginning_does_not_pay_for_an_endless_rest() -> None:
    assert counts_of([*[ITEM] * 10_000, *[COPY] * 99]).rule == ""
    assert counts_of([*[ITEM] * 10_000, *[COPY] * 100]).rule == "trap_same_content"
    assert counts_of([*[ITEM] * 10, *[COPY] * 52]).rule == "trap_same_content"


def test_a_trap_of_many_families_has_one_budget() -> None:
    spending: dict[str, TrapCounts] = {}
    for name in "abcdefgh":
        group, known = f"http://h.test/{name}/*", TrapCounts(example="http://h.test/x/y")
        while not known.rule:
            known.add_page(COPY, 10)
            known.rule = find_rule(group, known, RULES, spending)
        spending[group] = known
    assert [known.spent for known in spending.values()] == [50, 25, 12, 6, 6, 6, 6, 6]
    alike = {f"http://h.test/{name}/*": TrapCounts(spent=25) for name in "ab"}
    assert find_rule("http://h.test/a/*", TrapCounts(spent=25), RULES, alike) == "trap_soft_404"
    assert find_rule("http://i.test/a/*", TrapCounts(spent=49), RULES, alike) == ""


def test_what_groups_have_spent_is_not_held_against_the_good_pages_around_them() -> None:
    spending = {PATTERN: closed("trap_session", spent=50)}
    assert find_rule(FAMILY, TrapCounts(spent=74), RULES, spending) == ""
    assert find_rule(FAMILY, TrapCounts(spent=75), RULES, spending) == "trap_parameters"
    spending[FAMILY] = TrapCounts(spent=60)
    assert find_rule(HOST, TrapCounts(spent=109), RULES, spending) == ""
    assert find_rule(HOST, TrapCounts(spent=110), RULES, spending) == "trap_soft_404"
    assert find_rule("http://i.test/**", TrapCounts(spent=49), RULES, spending) == ""
    assert find_rule("http://i.test/**", TrapCounts(spent=50), RULES, spending) == "trap_soft_404"


@pytest.mark.parametrize(
    ("host", "family", "times_seen", "weight"),
    [
        (30, 20, None, 31),
        (31, 20, None, 0),
        (40, 15, None, 16),
        (40, 31, 1, 16),
        (1_239, 300, None, 124),
        (1_022, 300, None, 0),
        (7_000, 301, 2, 2),
        (7_000, 300, 2, 0),
    ],
)
def test_a_page_that_is_looked_into_stands_for_others(
    host: int, family: int, times_seen: int | None, weight: int
) -> None:
    found = TrapBudgetRules().weigh_sample(TrapCounts(pages=host), TrapCounts(pages=family), times_seen)
    assert found == weight


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
    known = counts_of([page] * 50, group, url)
    assert known.rule == rule
    assert counts_of([page] * 49, group, url).rule == ""
    assert describe_trap(group, known) == (
        f"{rule}: 50 of 50 pages of {group.removesuffix('?')} brought nothing new"
    )


def test_a_host_with_the_pages_of_another_one_is_a_mirror() -> None:
    host, domain = "http://www2.h.test/**", "*.h.test"
    for group in (host, domain):
        assert find_rule(group, TrapCounts(witnesses=4, foreign=4), RULES, {}) == "trap_mirror"
        assert find_rule(group, TrapCounts(witnesses=3, foreign=3), RULES, {}) == ""
        assert find_rule(group, TrapCounts(witnesses=40, foreign=19), RULES, {}) == ""
    shut = {domain: closed("trap_mirror", foreign=13, witnesses=13)}
    assert find_closed("http://new.h.test/a", "http://h.test/", shut, {}.get) == domain
    own = {"http://old.h.test/**": TrapCounts(witnesses=5, foreign=1)}
    assert find_closed("http://old.h.test/a", "http://h.test/", shut, own.get) is None
    assert find_closed("http://other.test/a", "http://h.test/", shut, own.get) is None


def test_the_hosts_of_start_urls_are_never_mirrors() -> None:
    mirror = TrapCounts(witnesses=40, foreign=40)
    assert find_rule("http://h.test:81/**", mirror, RULES, {}) == "trap_mirror"
    mirror.seeds = 1
    assert find_rule("http://h.test:81/**", mirror, RULES, {}) == ""
    shut, hosts = {"*.h.test": closed("trap_mirror")}, {"http://h.test:81/**": mirror}
    assert find_closed("http://h.test:81/a", "http://h.test:81/", shut, hosts.get) is None
    assert find_closed("http://h.test:82/a", "http://h.test:81/", shut, hosts.get) == "*.h.test"


def test_limits_of_pages_count_all_pages() -> None:
    rules = TrapBudgetRules(max_worthless=None, max_per_pattern=10, max_per_domain=50)
    pattern = groups_of(URL)[0]
    assert find_rule(pattern, TrapCounts(pages=9, spent=10_000), rules, {}) == ""
    assert find_rule(pattern, TrapCounts(pages=10), rules, {}) == "trap_pattern"
    assert find_rule(family_of(URL), TrapCounts(pages=10), rules, {}) == ""
    assert find_rule("*.h.test", TrapCounts(pages=50), rules, {}) == "trap_domain"
    told = describe_trap(pattern, TrapCounts(pages=10, rule="trap_pattern"))
    assert told == "trap_pattern: 10 pages of http://h.test/list/#?page were fetched"
    told = describe_trap(pattern, TrapCounts(pages=1, rule="trap_pattern"))
    assert told == "trap_pattern: 1 page of http://h.test/list/#?page was fetched"


def test_good_pages_beside_a_trap_are_not_refused() -> None:
    good = {"http://h.test/product/#?": TrapCounts(items=20, pages=30, copies=10)}
    product, made_up = "http://h.test/product/9", "http://h.test/product/oak"
    family = {"http://h.test/product/*": closed("trap_soft_404")}
    assert find_closed(product, made_up, family, good.get) is None
    assert find_closed(made_up, made_up, family, good.get) == "http://h.test/product/*"
    few, some = TrapCounts(pages=2), TrapCounts(pages=3)
    assert find_closed(made_up, made_up, family, {groups_of(made_up)[0]: few}.get) is not None
    assert find_closed(made_up, made_up, family, {groups_of(made_up)[0]: some}.get) is None
    host = {"http://h.test/**": closed("trap_soft_404")}
    assert find_closed(made_up, product, host, good.get) is None  # a good page leads there
    assert find_closed(made_up, made_up, host, good.get) == "http://h.test/**"
    assert (
        find_closed(product, made_up, {"http://h.test/product/#?": closed("trap_session")}, {}.get)
        is not None
    )


@pytest.mark.parametrize(
    ("url", "is_far"),
    [
        ("http://h.test/events/2026/12", False),
        ("http://h.test/events/2028/01", True),
        ("http://h.test/events/1901-05-07", False),  # a newspaper's archive
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
    ids = ("0a1b2c3d4e", "1a1b2c3d4e", "2a1b2c3d4e")
    found = [memory.is_copy(f"http://h.test/a/{own}", f"to {own}".encode()) for own in ids]
    assert found == [False, False, True], "the first of a size is not looked at"


def test_pages_with_other_headings_are_never_nearly_the_same() -> None:
    memory, words = ContentMemory(), [f"word{number}" for number in range(300)]
    text, changed = " ".join(words), " ".join([*words[:150], "other", *words[151:]])
    pages = [("A", text), ("B", text), ("A", changed), ("A", text[:900]), ("short", "few"), ("short", "few")]
    ends = [
        memory.judge_text("h", f"http://h.test/{number}", PageReading(heading, body), 1)
        for number, (heading, body) in enumerate([*pages, ("short", "little")])
    ]
    own, near = PageWorth(texts=1), PageWorth(near=1)
    assert ends == [own, own, near, own, own, near, own]


def _empty_month(name: str) -> PageReading:
    return PageReading(f"In {name}", f"In {name} Nothing is on in {name}.")


def test_numbers_do_not_tell_the_months_of_a_calendar_apart() -> None:
    memory = ContentMemory()
    urls = [f"http://h.test/events/{year}/05" for year in (2019, 2020)]
    found = [memory.judge_text("h", url, _empty_month(url[-7:]), 4) for url in urls]
    assert found == [PageWorth(texts=4), PageWorth(near=4)]
    urls = [f"http://h.test/part/{number}" for number in (2019, 2020)]
    found = [memory.judge_text("h", url, _empty_month(url[-4:]), 4) for url in urls]
    assert found == [PageWorth(texts=4), PageWorth(texts=4)]


def record(data: str, key: str = "", kind: str = "item") -> ItemRecord:
    return ItemRecord(type=kind, key=key, data=data.encode(), hash=0)


def test_items_are_counted() -> None:
    memory = ContentMemory()
    one, two = record("{}", "1"), record("{}", "2")
    given = [(one,), (one, two), (one, two), (), (one,)]
    assert [memory.count_items("http://h.test/a", items) for items in given] == [0, 0, 1, None, 3]


@pytest.mark.parametrize(
    ("data", "is_new"),
    [
        ('{"url": "URL", "price": "PRICE"}', True),
        ('{"url": "URL", "price": 1}', False),
        ('{"url": "URL", "depth": PRICE, "title": "Sorry"}', False),
        ('{"url": "URL", "name": "Lamp", "text": "TEXT"}', False),  # the page's own text is looked at, too
        ('{"url": "URL", "name": "Lamp", "html": "<p>' + "x" * 200 + '</p>PRICE"}', False),
        ('{"url": "URL", "name": "Lamp PRICE", "text": "TEXT"}', True),
    ],
)
def test_an_item_is_new_if_it_is_new_without_the_url_of_its_page(data: str, is_new: bool) -> None:
    memory, found = ContentMemory(), []
    for number in range(100, 104):
        url, text = f"http://h.test/product/{number}", f"{'A word or more. ' * 30}{number}"
        item = data.replace("URL", url).replace("PRICE", str(7 * number)).replace("TEXT", text)
        found.append(memory.count_items(url, [record(item, str(number))]))
    assert found == ([0, 0, 0, 0] if is_new else [0, 1, 2, 3])


@pytest.mark.parametrize(
    ("url", "data"),
    [
        ("http://h.test/events/{}/05", '{"url": "%", "title": "Nothing is on in 5/{}"}'),
        ("http://h.test/visit/0a1b2c3d{}/item/7", '{"url": "%", "next": "/visit/0a1b2c3d{}/item/8"}'),
        ("http://h.test/item/7?sid={}", '{"url": "%", "next": "/item/8?sid={}"}'),
    ],
)
def test_an_item_without_an_end_is_not_new(url: str, data: str) -> None:
    """Months, and ids of a visit, are taken out like the URL that names them."""
    memory = ContentMemory()
    pages = [(url.format(number), data.replace("{}", str(number))) for number in range(2031, 2035)]
    found = [memory.count_items(at, [record(text.replace("%", at), at)]) for at, text in pages]
    assert found == [0, 1, 2, 3]


def test_the_words_of_a_path_that_repeats_itself_do_not_count() -> None:
    """A bug it would catch: each page of a loop of relative links has a title of its own, so it seems new."""
    memory = ContentMemory()
    paths = ["products/about/products", "about/products/about/us.php", "about/about/products/list.php"]
    urls = [f"http://h.test/{path}" for path in paths]
    items = [record(f'{{"url": "http://h.test/{path}", "title": "At {path}"}}') for path in paths]
    assert [memory.count_items(url, [item]) for url, item in zip(urls, items, strict=True)] == [0, 1, 2]
    pages = [PageReading(f"At {path.title()}", f"This is {path}") for path in paths]
    worth = [memory.judge_text("h", url, page, 1) for url, page in zip(urls, pages, strict=True)]
    assert worth == [PageWorth(texts=1), PageWorth(near=1), PageWorth(near=1)]


def test_the_long_texts_of_a_loop_are_left_out_of_its_items() -> None:
    """A bug it would catch: without its words such an item has no texts any more, so all of it is new."""
    memory = ContentMemory()
    found = []
    for path in ("help/oak/ash", "help/elm", "help/oak/oak", "help/ash/help", "help/elm/elm"):
        url, text = f"http://h.test/{path}", f"{'A word, or more. ' * 30}{path}"
        item = record(f'{{"url": "{url}", "title": "Sorry", "text": "{text}"}}')
        found.append(memory.count_items(url, [item]))
    assert found == [0, 1, 2, 3, 4]


def test_a_page_that_only_combines_parameters_is_not_new_without_new_words() -> None:
    """A bug it would catch: a search whose title names its filters has a new title for each combination."""
    memory = ContentMemory()

    def is_new(query: str, title: str, price: str = "") -> bool:
        url = f"http://h.test/search?{query}"
        item = record(f'{{"url": "{url}", "title": "{title}", "price": "{price}"}}')
        return memory.count_items(url, [item], has_many_queries=True) == 0

    assert is_new("color=1", "Red things")
    assert is_new("size=2", "Small things"), "these parameters are new"
    assert not is_new("color=1&size=2", "Small red things", "17")
    assert is_new("color=1&size=2&sort=3", "Small red things", "18")
    assert is_new("size=2&sort=3", "Small blue things"), "it has a word that no other has"
    assert is_new("id=17", "Small red things", "19")
    assert is_new("id=18", "Small red things", "20"), "a product with an id of its own"


@pytest.mark.parametrize(
    ("fields", "is_new"),
    [
        ('"people": PRICE, "rain_mm": 3', True),
        ('"people": "PRICE", "rain": "3 mm"', True),
        ('"people": "12,PRICE", "share": "-0.5 %", "rain": null', True),
        ('"people":PRICE,"rain":3', True),
        ('"places": {"people": PRICE, "rain": 3}', True),
        ('"found": PRICE', False),  # a search counts what it has found
        ('"found": "PRICE things", "year": 7, "page": "9"', False),  # the URL names the other numbers
        ('"title": "PRICE red things of 4"', False),
        ('"prices": [PRICE, 3], "of": [{"price": PRICE, "mark": 2}]', False),  # products that a search found
        ('"depth": PRICE, "pages": 4', False),
        ('"found": PRICE, "at": "2026-11-27T22:10:PRICE", "is_last": true', False),
        ('"people": 3, "rain_mm": 4', False),
    ],
)
def test_figures_that_a_page_of_known_parameters_gives_are_new(fields: str, is_new: bool) -> None:
    """A bug it would catch: a table by town and year has the same few words on all pages."""
    memory, found = ContentMemory(), []
    for town, year, price in (("a", 7, 100), ("b", 8, 200), ("a", 9, 300), ("b", 7, 400), ("b", 9, 500)):
        url = f"http://h.test/stat?town={town}&year={year}&page=9"
        data = fields.replace("PRICE", str(price)).replace('"year": 7', f'"year": {year}')
        item = record(f'{{"url": "{url}", "town": "{town}", "kind": "Red things", {data}}}')
        found.append(memory.count_items(url, [item], has_many_queries=True) == 0)
    assert found[3:] == [is_new, is_new]


def test_witnesses_do_not_see_the_name_of_the_host() -> None:
    one = witness_of("a", "h.test", b"<a href='http://h.test/b'>")
    assert one == witness_of("a", "i.test", b"<a href='http://i.test/b'>")
    assert one != witness_of("b", "h.test", b"<a href='http://h.test/b'>")


def test_large_pages_of_one_size_with_other_words_are_no_witnesses() -> None:
    page = b"<p>the same as everywhere</p>" * 10_000
    other = page[:150_000] + b"other words that are as long" + page[150_028:]
    assert len(other) == len(page)
    assert witness_of("a", "h.test", page) == witness_of("a", "i.test", page)
    assert witness_of("a", "h.test", page) != witness_of("a", "i.test", other)
