"""Forty ordinary crawls raise at most one alarm, and of a dozen real losses each is found."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from gossamer.policy.drift import FindingKind
from kit.item_streams import (
    HOST,
    Crawl,
    History,
    Page,
    book,
    changed,
    empty,
    pages_of,
    record,
    shop,
    shuffled,
    without,
)

Jobs = Callable[[], Sequence[Crawl]]
BOOKS, RECORDS = range(60), range(60)


def days(size: int, number: int = 6, **more: bool) -> list[Crawl]:
    return [Crawl(shop(size, day), **more) for day in range(number)]


def media(books: int, records: int, *, places: tuple[str, str] = ("books", "records")) -> list[Page]:
    """Books, and then records: two templates of one spider."""
    return [
        *pages_of(map(book, range(books)), places[0], "Thing"),
        *pages_of(map(record, range(books, books + records)), places[1], "Thing"),
    ]


def plain_media(books: int, records: int) -> list[Page]:
    """The same in one directory, and with all fields in each item."""
    every = {"isbn": None, "label": None}
    pages = media(books, records, places=("p", "p"))
    return [Page(f"{HOST}/p/{n}", {**every, **(page.data or {})}, "Thing") for n, page in enumerate(pages)]


def kindless(pages: Sequence[Page]) -> list[Page]:
    return changed(pages, lambda data: {name: value for name, value in data.items() if name != "kind"})


def growing(*sizes: int) -> list[Crawl]:
    return [Crawl(shop(size, day)) for day, size in enumerate(sizes)]


def dicts(pages: Sequence[Page]) -> list[Page]:
    """As a spider gives them that yields dicts and leaves out what is empty."""
    return [
        Page(
            page.url, {name: value for name, value in (page.data or {}).items() if value is not None}, "item"
        )
        for page in pages
    ]


def with_sizes(pages: Sequence[Page], share: float) -> list[Page]:
    """Sizes are numbers for shoes and letters for shirts."""
    own = random.Random(3)
    return changed(pages, lambda data: {
        **data, "size": str(own.randint(36, 46)) if own.random() < share else own.choice("SML")
    })  # fmt: skip


def stocked(pages: Sequence[Page], day: int) -> list[Page]:
    own = random.Random(day)
    return changed(pages, lambda data: {**data, "stock": own.choice([0, 0, 1, own.randint(1, 400)])})


def coded(pages: Sequence[Page], make: Callable[[int], str]) -> list[Page]:
    return [Page(page.url, {**(page.data or {}), "sku": make(n)}, page.type) for n, page in enumerate(pages)]


DECLARED = {"Product.sku": "text", "Product.name": "text", "Product.price": "decimal"}

ORDINARY: dict[str, Jobs] = {
    "a shop of 12 for six days": lambda: days(12),
    "a shop of 24 for six days": lambda: days(24),
    "a shop of 48 for six days": lambda: days(48),
    "a shop of 300 for six days": lambda: days(300),
    "a shop of 2,000, of which some are looked at": lambda: days(2000, 3),
    "a shop in another order each day": lambda: [Crawl(shuffled(shop(100, day), day)) for day in range(6)],
    "a shop of dicts": lambda: [Crawl(dicts(shop(80, day))) for day in range(6)],
    "a shop of few dicts": lambda: [Crawl(dicts(shop(15, day))) for day in range(6)],
    "a catalogue that grows by a tenth": lambda: growing(100, 110, 121, 133, 146, 160),
    "a catalogue that grows tenfold": lambda: growing(50, 50, 500, 520),
    "a catalogue that shrinks to a half": lambda: growing(200, 200, 200, 100),
    "another part of the catalogue each day": lambda: [Crawl(shop(60, d, first=60 * d)) for d in range(6)],
    "crawls that are stopped after some pages": lambda: [
        Crawl(shop(400)), Crawl(shop(400, 1)), Crawl(shop(30, 2), is_whole=False),
    ],
    "books and then records": lambda: [Crawl(media(60, 60))],
    "books and then records, day by day": lambda: [Crawl(media(60, 60)) for _ in range(4)],
    "a few books and then many records": lambda: [Crawl(media(24, 120))],
    "many books and then a few records": lambda: [Crawl(media(200, 24))],
    "books and records in one directory": lambda: [Crawl(plain_media(60, 60))],
    "books and records that only their fields tell apart": lambda: [Crawl(kindless(plain_media(60, 60)))],
    "books and records in turn": lambda: [Crawl(shuffled(plain_media(60, 60)))],
    "books and records, once in turn and once not": lambda: [
        Crawl(shuffled(plain_media(60, 60))), Crawl(plain_media(60, 60)),
    ],
    "more records each day": lambda: [Crawl(media(60, 60 + 60 * day)) for day in range(5)],
    "more records each day, in turn": lambda: [
        Crawl(shuffled(plain_media(60, 60 + 60 * day), day)) for day in range(5)
    ],
    "records are new in the shop": lambda: [*[Crawl(media(60, 0))] * 3, Crawl(media(60, 90))],
    "records and then books, the other way round": lambda: [
        Crawl(media(60, 60)), Crawl([*media(60, 60)[60:], *media(60, 60)[:60]]),
    ],
    "two types of items": lambda: [
        Crawl([*shop(40, day), *pages_of(map(book, range(40)), "books", "Book")]) for day in range(3)
    ],
    "help pages at the end": lambda: [Crawl([*shop(100), *empty(40)])],
    "more help pages than before": lambda: [Crawl([*empty(20 + 60 * d), *shop(100, d)]) for d in range(4)],
    "a week of bargains": lambda: [
        *days(80, 4),
        Crawl(changed(shop(80, 4), lambda data: {**data, "bargain": data["price"]})),
        Crawl(shop(80, 5)),
    ],
    "a week of bargains, in dicts": lambda: [
        Crawl(dicts(shop(80))),
        Crawl(dicts(changed(shop(80, 1), lambda data: {**data, "bargain": "yes"}))),
        *[Crawl(dicts(shop(80, day))) for day in (2, 3, 4)],
    ],
    "a sale": lambda: [
        *days(80, 3),
        Crawl(changed(shop(80, 3), lambda data: {**data, "price": f"{float(data['price']) / 2:.2f}"})),
    ],
    "sizes of shoes and shirts": lambda: [
        Crawl(with_sizes(shop(60, day), 0.93 - 0.1 * day)) for day in range(5)
    ],
    "shoes and then shirts": lambda: [
        Crawl([*with_sizes(shop(60), 1.0), *with_sizes(shop(60, first=60), 0.0)])
    ],
    "skus of digits, and then of letters": lambda: [
        Crawl([*coded(shop(60), lambda n: f"{1000 + n}"), *coded(shop(60, first=60), lambda n: f"A-{n}")],
              declared=DECLARED)
    ],
    "skus become of letters": lambda: [
        *[Crawl(coded(shop(60), lambda n: f"{1000 + n}"))] * 3, Crawl(coded(shop(60), lambda n: f"A-{n}")),
    ],
    "skus become longer": lambda: [
        *[Crawl(coded(shop(60), lambda n: f"{1000 + n}"), declared=DECLARED)] * 3,
        Crawl(coded(shop(60), lambda n: f"{900000 + n}"), declared=DECLARED),
    ],
    "stock that sells": lambda: [Crawl(stocked(shop(60, day), day)) for day in range(6)],
    "reviews that come": lambda: [
        Crawl(changed(shop(60, day), lambda data, day=day: {**data, "reviews": data["reviews"] * (1 + day)}))
        for day in range(6)
    ],
    "the day in every item": lambda: [
        Crawl(changed(shop(60, day), lambda data, day=day: {**data, "seen": f"2026-11-{day + 1:02d}"}))
        for day in range(6)
    ],
    "a list that is mostly empty": lambda: [
        Crawl(changed(shop(40, day), lambda data, day=day: {
            **data, "tags": ["new"] if random.Random(f"{data['sku']}{day}").random() < 0.5 else []
        })) for day in range(6)
    ],
    "items that are dropped now and then": lambda: [
        Crawl([Page(page.url, None, dropped="Product.price: not a number") if n % 9 == day else page
               for n, page in enumerate(shop(90, day))]) for day in range(4)
    ],
    "a field that is filled at last": lambda: [
        *[Crawl(without(shop(60, day), "colour")) for day in range(3)], Crawl(shop(60, 3)),
    ],
    "fourteen items": lambda: [Crawl(shuffled(shop(14, day), day)) for day in range(6)],
}  # fmt: skip


def halved(size: int, day: int, *names: str) -> list[Page]:
    return without(shop(size, day), *names, since=size // 2)


LOSSES: dict[str, tuple[Jobs, FindingKind, str]] = {
    "the price is gone half-way in the first job": (
        lambda: [Crawl(halved(48, 0, "price"))], FindingKind.FILL, "Product.price"),
    "the price is gone near the end of a large job": (
        lambda: [Crawl(without(shop(400), "price", since=360))], FindingKind.FILL, "Product.price"),
    "two fields are gone half-way in the first job": (
        lambda: [Crawl(halved(60, 0, "price", "name"))], FindingKind.FILL, "Product.price"),
    "the price is gone from the first page": (
        lambda: [*days(60, 2), Crawl(without(shop(60, 2), "price"))], FindingKind.FILL, "Product.price"),
    "the price is gone in a shop of twelve": (
        lambda: [*days(12, 2), Crawl(without(shop(12, 2), "price"))], FindingKind.FILL, "Product.price"),
    "half of the prices are gone, everywhere": (
        lambda: [*days(80, 3), Crawl(without(shop(80, 3), "price", share=0.5))],
        FindingKind.FILL, "Product.price"),
    "the price is gone in a catalogue that grew": (
        lambda: [*days(80, 3), Crawl(without(shop(400, 3), "price"))], FindingKind.FILL, "Product.price"),
    "the price of books and records is gone half-way": (
        lambda: [Crawl([*media(60, 30), *without(pages_of(map(record, range(90, 150)), "records", "Thing"),
                                                "price")])],
        FindingKind.FILL, "Thing.price"),
    "an optional field is gone": (
        lambda: [*days(120, 3), Crawl(without(shop(120, 3), "colour"))], FindingKind.FILL, "Product.colour"),
    "a field of dicts is gone": (
        lambda: [*[Crawl(dicts(shop(60, day))) for day in range(3)],
                 Crawl(dicts(without(shop(60), "price")))],
        FindingKind.FILL, "item.price"),
    "the price is a text, in dicts": (
        lambda: [*[Crawl(dicts(shop(60, day))) for day in range(3)],
                 Crawl(dicts(changed(shop(60), lambda data: {**data, "price": "call us"})))],
        FindingKind.TYPE_ERRORS, "item.price"),
    "items are dropped for their price": (
        lambda: [*days(60, 3), Crawl([Page(page.url, None, dropped="Product.price: not a number")
                                      for page in shop(60, 3)])],
        FindingKind.TYPE_ERRORS, "Product.price"),
    "items are dropped for their price from a page on": (
        lambda: [Crawl([*shop(40), *[Page(page.url, None, dropped="Product.price: not a number")
                                     for page in shop(40, first=40)]])],
        FindingKind.TYPE_ERRORS, "Product.price"),
    "prices are in cents": (
        lambda: [*days(80, 3), Crawl(changed(shop(80, 3), lambda data: {
            **data, "price": str(round(float(data["price"]) * 100))}))],
        FindingKind.RANGE, "Product.price"),
    "every name is that of a page for robots": (
        lambda: [*days(80, 3), Crawl(changed(shop(80, 3), lambda data: {**data, "name": "Access denied"}))],
        FindingKind.DISTINCT, "Product.name"),
    "no item comes any more": (
        lambda: [*days(60, 3), Crawl(empty(60, "p"))], FindingKind.NO_ITEMS, ""),
    "no item comes from a page on": (
        lambda: [Crawl([*shop(60), *empty(40, "p")])], FindingKind.NO_ITEMS, ""),
}  # fmt: skip


def alarms_of(jobs: Sequence[Crawl]) -> list[str]:
    history = History()
    found = []
    for crawl in jobs:
        profile = history.look_at(crawl)
        found += [f"{profile.job}: {one.kind} {one.field}" for one in profile.findings]
    return found


def test_ordinary_crawls_raise_no_alarm() -> None:
    assert len(ORDINARY) >= 40
    alarms = {name: found for name, jobs in ORDINARY.items() if (found := alarms_of(jobs()))}
    assert not alarms


@pytest.mark.parametrize("name", LOSSES)
def test_a_real_loss_is_found_in_the_last_job_and_in_no_job_before(name: str) -> None:
    jobs, kind, field = LOSSES[name]
    history = History()
    *before, last = [history.look_at(crawl) for crawl in jobs()]
    assert [one.findings for one in before] == [()] * len(before)
    assert (kind, field) in {(one.kind, one.field) for one in last.findings}


def test_a_known_loss_is_found_again_in_each_job_until_it_is_accepted() -> None:
    """However many jobs have it; and what was usual before stays so for its field alone."""
    history = History()
    for crawl in days(60, 3):
        history.look_at(crawl)
    for day in range(3, 12):
        profile = history.look_at(Crawl(without(shop(60, day), "price")))
        assert [(one.kind, one.field, one.usual) for one in profile.findings] == [
            (FindingKind.FILL, "Product.price", 1.0)
        ]
    twice = history.look_at(Crawl(without(shop(60, 12), "price", "name")))
    assert {one.field for one in twice.findings} == {"Product.price", "Product.name"}
    history.profiles[0] = replace(history.profiles[0], accepted_at=1.0)
    for day in (13, 14):
        assert history.look_at(Crawl(without(shop(60, day), "price", "name"))).findings == ()
    assert history.look_at(Crawl(shop(60, 15))).findings == ()
    (again,) = history.look_at(Crawl(without(shop(60, 16), "sku"))).findings
    assert again.field == "Product.sku"


def test_the_job_that_was_accepted_last_says_what_is_usual_also_if_it_is_older() -> None:
    """So a wrong acceptance is undone: by accepting the last job that was right."""
    history = History()
    history.look_at(Crawl(shop(60)))
    history.look_at(Crawl(without(shop(60, 1), "price")))
    history.profiles[0] = replace(history.profiles[0], accepted_at=2.5)
    assert history.look_at(Crawl(without(shop(60, 2), "price"))).findings == ()
    history.profiles[2] = replace(history.profiles[2], accepted_at=3.5)
    for day in (3, 4):
        (found,) = history.look_at(Crawl(without(shop(60, day), "price"))).findings
        assert (found.field, found.usual) == ("Product.price", 1.0)


def test_pages_without_items_do_not_become_usual() -> None:
    history = History()
    history.look_at(Crawl(shop(60)))
    for _ in range(8):
        (found,) = history.look_at(Crawl(empty(60, "p"))).findings
        assert (found.kind, found.usual, found.now) == (FindingKind.NO_ITEMS, 1.0, 0.0)
    history.profiles[0] = replace(history.profiles[0], accepted_at=1.0)
    assert history.look_at(Crawl(empty(60, "p"))).findings == ()
