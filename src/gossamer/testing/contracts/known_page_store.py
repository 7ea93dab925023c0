"""The contract of a store of known pages, as named checks.

Use: ``await check_known_page_store(make)``, or one by one from ``KNOWN_PAGE_STORE_CHECKS``; ``make(clock)``
is an async context manager that gives a :class:`KnownPageSubject` with nothing in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from gossamer.core.freshness import FIRST_PLACE, FreshnessCounts, KnownPage, RateEstimate
from gossamer.ports.job_store import JobStore
from gossamer.ports.known_page_store import KnownPageStore
from gossamer.ports.store import Store
from gossamer.testing.contracts.store_harness import make_visit_result
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["KNOWN_PAGE_STORE_CHECKS", "KnownPageSubject", "check_known_page_store"]

PAGE = KnownPage(
    fingerprint=-(2**63) + 7,
    url="http://a.example/é?q=\u2028",
    host="a.example",
    request='s/é\t\t\t\t\t\t{"meta":{"a":1}}',
    due_at=50.5,
    etag='W/"1"',
    modified="Tue, 15 Nov 1994 12:45:26 GMT",
    body_hash=2**63 - 1,
    job="shop-1",
    checked_at=10.25,
    changed_at=10.25,
    checks=3,
    changes=2,
    rate=RateEstimate(shape=0.75, span_s=86_400.5),
    interval_s=40.25,
)
WAITING = KnownPage(
    fingerprint=8, url="http://a.example/2", host="a.example", request="p/2", due_at=20.0, rate=PAGE.rate
)


@dataclass
class KnownPageSubject:
    """The store under test, and a way to fill it: with results of visits."""

    known: KnownPageStore
    store: Store
    book: JobStore

    async def save_pages(self, spider: str, *pages: KnownPage) -> None:
        """Store pages as those of a spider, with a result of a visit."""
        job = await self.book.create(spider, spider)
        await self.store.write(job, [replace(make_visit_result(), known=pages)])


KNOWN_PAGE_STORE_CHECKS: ContractSuite[KnownPageSubject] = ContractSuite()
"""The checks by name."""


async def check_known_page_store(make: Make[KnownPageSubject]) -> None:
    """Run every check against a fresh store each. Raises ``AssertionError`` for a broken promise."""
    await KNOWN_PAGE_STORE_CHECKS.run(make)


@KNOWN_PAGE_STORE_CHECKS.register
async def a_page_comes_back_as_it_was_stored(s: KnownPageSubject) -> None:
    """All that is known of it, by its fingerprint; that of another spider is another one."""
    gone = replace(PAGE, fingerprint=9, gone_at=10.25)
    await s.save_pages("shop", PAGE, gone, WAITING)
    found = await s.known.find_pages("shop", [PAGE.fingerprint, 9, 8, 12345])
    assert_equal(found, {page.fingerprint: page for page in (PAGE, gone, WAITING)}, "as they were stored")
    assert_equal(await s.known.find_pages("other", [PAGE.fingerprint]), {}, "of another spider")
    assert_equal(await s.known.find_pages("shop", []), {}, "of none, none")


@KNOWN_PAGE_STORE_CHECKS.register
async def the_later_check_stays(s: KnownPageSubject) -> None:
    """In any order, also within a batch; an earlier check, or a record without one, changes nothing."""
    later = replace(PAGE, checked_at=30.0, etag="later", checks=4)
    await s.save_pages("shop", WAITING, PAGE, later, PAGE)
    assert_equal(
        await s.known.find_pages("shop", [PAGE.fingerprint]), {PAGE.fingerprint: later}, "in a batch"
    )
    heard_of = replace(WAITING, fingerprint=PAGE.fingerprint)
    await s.save_pages("shop", PAGE)
    await s.save_pages("shop", heard_of)
    assert_equal(await s.known.find_pages("shop", [PAGE.fingerprint]), {PAGE.fingerprint: later}, "of two")
    seen = replace(PAGE, fingerprint=WAITING.fingerprint)
    await s.save_pages("shop", seen, replace(WAITING, due_at=3.0))
    assert_equal(await s.known.find_pages("shop", [8]), {8: seen}, "a page that was seen at last")


@KNOWN_PAGE_STORE_CHECKS.register
async def of_one_check_the_later_record_stays(s: KnownPageSubject) -> None:
    """In one batch, and in two; a report of links to a page is not a check."""
    fetched, read = replace(PAGE, etag=""), replace(PAGE, etag='"read"')
    await s.save_pages("shop", fetched, read)
    assert_equal(await s.known.find_pages("shop", [PAGE.fingerprint]), {PAGE.fingerprint: read}, "in a batch")
    again = replace(PAGE, etag='"again"')
    await s.save_pages("shop", again)
    assert_equal(await s.known.find_pages("shop", [PAGE.fingerprint]), {PAGE.fingerprint: again}, "of two")
    await s.save_pages("shop", WAITING)
    await s.save_pages("shop", replace(WAITING, due_at=99.0))
    assert_equal(await s.known.find_pages("shop", [8]), {8: WAITING}, "a page without a check")


@KNOWN_PAGE_STORE_CHECKS.register
async def due_pages_come_in_order_and_part_by_part(s: KnownPageSubject) -> None:
    """Each once, the first due first, also where many are due at one time; none that is due later."""
    pages = [replace(PAGE, fingerprint=number, due_at=float(abs(number) // 3)) for number in range(-9, 9)]
    await s.save_pages("shop", *pages)
    await s.save_pages("other", replace(PAGE, due_at=0.0))
    found: list[KnownPage] = []
    place = FIRST_PLACE
    while part := await s.known.read_due("shop", 2.0, place, limit=4):
        assert_holds(len(part) <= 4, "no part is larger than asked for")
        found += part
        place = (part[-1].due_at, part[-1].fingerprint)
    due = sorted((page.due_at, page.fingerprint) for page in pages if page.due_at <= 2.0)
    assert_equal([(page.due_at, page.fingerprint) for page in found], due, "in the order of their times")
    everything = await s.known.read_due("shop", float("inf"))
    assert_equal(len(everything), len(pages), "all of them, whenever they are due")


@KNOWN_PAGE_STORE_CHECKS.register
async def pages_are_counted(s: KnownPageSubject) -> None:
    """Each as one of five, and what their checks have found together."""
    assert_equal(await s.known.count_pages("shop", 0.0), FreshnessCounts(), "of no pages")
    pages = [
        WAITING,
        replace(PAGE, fingerprint=1, interval_s=5.0),
        replace(PAGE, fingerprint=2, changed_at=4.0, due_at=10.0, interval_s=7.0),
        replace(PAGE, fingerprint=3, checks=1, changes=0, changed_at=0.0, interval_s=90.0),
        replace(PAGE, fingerprint=4, gone_at=10.25, interval_s=500.0),
    ]
    await s.save_pages("shop", *pages)
    expected = FreshnessCounts(
        known=5,
        due=2,
        waiting=1,
        new=1,
        changed=1,
        unchanged=1,
        gone=1,
        checks=10,
        changes=6,
        median_interval_s=7.0,
    )
    assert_equal(await s.known.count_pages("shop", 20.0), expected, "counted")
    assert_equal(await s.known.count_pages("other", 20.0), FreshnessCounts(), "of another spider")


@KNOWN_PAGE_STORE_CHECKS.register
async def rates_are_counted_by_their_classes(s: KnownPageSubject) -> None:
    """Only existing pages with a check count; four classes are a factor of two."""
    rates = {1: 1.0, 2: 1.0, 3: 2.0, 4: 1 / 1024}
    seen = [
        replace(PAGE, fingerprint=number, rate=RateEstimate(shape=rate, span_s=1.0))
        for number, rate in rates.items()
    ]
    await s.save_pages("shop", WAITING, replace(PAGE, gone_at=10.25), *seen)
    assert_equal(await s.known.count_rates("shop"), {0: 2, 4: 1, -40: 1}, "by class")
    assert_equal(await s.known.count_rates("other"), {}, "of another spider")
