"""The contract of a ledger's reader, as named checks.

Use: ``await check_ledger_reader(make)``, or one by one from ``LEDGER_READER_CHECKS``; ``make(clock)`` is an
async context manager that gives a :class:`LedgerSubject` with nothing in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from gossamer.core.drops import DropSample
from gossamer.core.results import Attempt, AttemptFilter, Verdict
from gossamer.ports.job_store import JobStore
from gossamer.ports.ledger_reader import LedgerReader
from gossamer.ports.store import Store
from gossamer.testing.contracts.store_harness import make_item, make_visit_result
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["LEDGER_READER_CHECKS", "LedgerSubject", "check_ledger_reader"]


@dataclass
class LedgerSubject:
    """The reader under test, and the store that writes its rows."""

    ledger: LedgerReader
    store: Store
    book: JobStore


LEDGER_READER_CHECKS: ContractSuite[LedgerSubject] = ContractSuite()
"""The checks by name."""

ROWS = tuple(
    Attempt(
        at=50_000.0 * number,  # over several days
        url=f"http://{'odd' if number % 2 else 'even.example:81'}/{number}",
        fingerprint=number,
        verdict=Verdict.RETRY if number % 3 == 0 else Verdict.SUCCESS,
        reason="server" if number % 3 == 0 else "",
        status=500 if number % 3 == 0 else 200,
        method="POST" if number % 5 == 0 else "GET",
        worker="w-1" if number % 6 == 0 and number < 18 else "w-2",
        rung="browser+mobile" if number % 4 == 1 else "http",
        proxy="http://10.0.0.1:80" if number % 4 == 1 else "",
        flags=(("truncated", "parse_truncated"), ("truncated",), ())[number % 3],
    )
    for number in range(20)
)
"""Attempts of every kind that filters tell apart."""

FILTERS: tuple[tuple[AttemptFilter, list[int]], ...] = (
    (AttemptFilter(verdict="retry"), [18, 15]),
    (AttemptFilter(status=500, host="odd"), [15, 9]),
    (AttemptFilter(host="even.example:81"), [18, 16]),
    (AttemptFilter(host="even.example"), []),
    (AttemptFilter(reason="server"), [18, 15]),
    (
        AttemptFilter(
            urls=(
                "http://odd/7",
                "x",
            )
        ),
        [7],
    ),
    (AttemptFilter(urls=("http://odd/7",), status=500), []),
    (AttemptFilter(method="POST"), [15, 10]),
    (AttemptFilter(flag="truncated"), [19, 18]),
    (AttemptFilter(flag="parse_truncated"), [18, 15]),
    (AttemptFilter(flag="trunc"), []),
    (AttemptFilter(fingerprint=4), [4]),
    (AttemptFilter(statuses=(500, 600)), [18, 15]),
    (AttemptFilter(statuses=(0, 1)), []),
    (AttemptFilter(worker="w-1"), [12, 6]),
    (AttemptFilter(since=800_000.0, status=200), [19, 17]),
    (AttemptFilter(until=150_000.0), [2, 1]),
    (AttemptFilter(rung="browser+mobile"), [17, 13]),
    (AttemptFilter(rung="browser"), [17, 13]),
    (AttemptFilter(rung="brow"), []),
    (AttemptFilter(proxy="http://10.0.0.1:80"), [17, 13]),
    (AttemptFilter(proxy="http://10.0.0.2:80"), []),
)
"""Filters, and the fingerprints of the latest two attempts that fit."""


async def check_ledger_reader(make: Make[LedgerSubject]) -> None:
    """Run every check against a fresh ledger each. Raises ``AssertionError`` for a broken promise."""
    await LEDGER_READER_CHECKS.run(make)


@LEDGER_READER_CHECKS.register
async def attempts_come_newest_first(s: LedgerSubject) -> None:
    """Up to a limit, and each job's own."""
    job, other = await s.book.create("a", "a"), await s.book.create("b", "b")
    assert_equal(await s.ledger.find_attempts(job, 3), [], "nothing was tried yet")
    await s.store.record_attempts(job, ROWS)
    await s.store.record_attempts(other, ROWS[:1])
    assert_equal(await s.ledger.find_attempts(job, 100), [*ROWS[::-1]], "all of them, whole")
    assert_equal(await s.ledger.find_attempts(job, 3), [*ROWS[:-4:-1]], "the latest ones")
    assert_equal(await s.ledger.find_attempts(other, 3), [ROWS[0]], "those of another job are its own")


@LEDGER_READER_CHECKS.register
async def filters_look_as_far_back_as_needed(s: LedgerSubject) -> None:
    """All that are given have to fit."""
    job = await s.book.create("a", "a")
    await s.store.record_attempts(job, ROWS)
    for which, expected in FILTERS:
        found = await s.ledger.find_attempts(job, 2, which)
        assert_equal([row.fingerprint for row in found], expected, f"the attempts that fit {which}")
    retries = await s.ledger.find_attempts(job, 100, AttemptFilter(verdict="retry"))
    assert_equal(len(retries), sum(row.status == 500 for row in ROWS), "all that fit, however far back")


@LEDGER_READER_CHECKS.register
async def a_url_is_found_wherever_it_stands(s: LedgerSubject) -> None:
    """In a ledger of several jobs, however many rows were written before and since."""
    jobs = [await s.book.create(name, name) for name in ("a", "b")]
    rows = [replace(ROWS[1], url=f"http://a/{number % 400}", fingerprint=number) for number in range(1000)]
    for part in range(0, 1000, 100):
        for job in jobs:
            await s.store.record_attempts(job, rows[part : part + 100])
    for number in (0, 127, 255, 399):
        found = await s.ledger.find_attempts(jobs[0], 100, AttemptFilter(urls=(f"http://a/{number}", "x")))
        expected = [row.fingerprint for row in reversed(rows) if row.fingerprint % 400 == number]
        assert_equal([row.fingerprint for row in found], expected, "all of them, newest first")
    one = AttemptFilter(urls=("http://a/7",), fingerprint=407)
    assert_equal(await s.ledger.find_attempts(jobs[1], 9, one), [rows[407]], "that of one request")
    none = AttemptFilter(urls=("http://a/400",))
    assert_equal(await s.ledger.find_attempts(jobs[0], 9, none), [], "a URL that was not requested")


@LEDGER_READER_CHECKS.register
async def a_part_goes_on_where_the_former_ended(s: LedgerSubject) -> None:
    """With any filter, to the end."""
    job, other = await s.book.create("a", "a"), await s.book.create("b", "b")
    await s.store.record_attempts(job, ROWS)
    await s.store.record_attempts(other, ROWS[:1])
    for which, _ in (*FILTERS, (AttemptFilter(), [])):
        parts: list[Attempt] = []
        before: int | None = None
        while True:
            part = await s.ledger.page_attempts(job, 3, which, before)
            assert_holds(len(part.attempts) <= 3, "a part has no more rows than asked for")
            parts += part.attempts
            before = part.next_before
            if before is None:
                break
        expected = await s.ledger.find_attempts(job, 100, which)
        assert_equal([row.fingerprint for row in parts], [row.fingerprint for row in expected], f"{which}")
    (first,) = (await s.ledger.page_attempts(other, 3)).attempts
    plain = Attempt(**{name: getattr(first, name) for name in Attempt.__struct_fields__})
    assert_equal(plain, ROWS[0], "a row of a part is whole")


@LEDGER_READER_CHECKS.register
async def a_part_is_of_a_time(s: LedgerSubject) -> None:
    """From its beginning on, and before its end."""
    job = await s.book.create("a", "a")
    await s.store.record_attempts(job, ROWS)
    for since, until in (
        (None, 250_000.0),
        (700_000.0, None),
        (100_000.0, 200_000.0),
        (None, 0.0),
        (1e9, None),
    ):
        which = AttemptFilter(since=since, until=until)
        found = (await s.ledger.page_attempts(job, 100, which)).attempts
        low, high = (0.0 if since is None else since), (1e12 if until is None else until)
        expected = [row.fingerprint for row in reversed(ROWS) if low <= row.at < high]
        assert_equal([row.fingerprint for row in found], expected, f"from {since} to {until}")


@LEDGER_READER_CHECKS.register
async def a_page_is_found_as_it_was_the_last_time(s: LedgerSubject) -> None:
    """By the fingerprint of its request, in its own job."""
    job, other = await s.book.create("a", "a"), await s.book.create("b", "b")
    assert_equal(await s.ledger.find_page(job, 1), None, "it was not parsed yet")
    found = make_visit_result(make_item("1"), at=3)
    await s.store.write(job, [found])
    assert_equal(await s.ledger.find_page(job, 1), found.page, "a page")
    assert_equal(await s.ledger.find_page(other, 1), None, "another job has not parsed it")
    assert found.page is not None
    newer = replace(found.page, at=9.0, title="new")
    await s.store.write(job, [replace(found, page=newer)])
    assert_equal(await s.ledger.find_page(job, 1), newer, "when it was parsed again, the latest")
    await s.store.write(other, [make_visit_result(number=number, at=5) for number in range(2, 602)])
    for number in (2, 255, 256, 601):
        page = await s.ledger.find_page(other, number)
        assert_equal(page and page.url, f"http://a/{number}", "among many")
    assert_equal(await s.ledger.find_page(job, 601), None, "those of another job are its own")


@LEDGER_READER_CHECKS.register
async def all_pages_can_be_read(s: LedgerSubject) -> None:
    """Each once, however many parts they are read in."""
    job, other = await s.book.create("a", "a"), await s.book.create("b", "b")
    assert_equal([page async for page in s.ledger.read_pages(job)], [], "nothing was parsed yet")
    written = [make_visit_result(number=number, at=number) for number in range(1, 1101)]
    await s.store.write(job, written)
    await s.store.write(other, [make_visit_result(number=2000)])
    found = sorted([page async for page in s.ledger.read_pages(job)], key=lambda page: page.fingerprint)
    assert_equal(found, [result.page for result in written], "all of this job's")


def _sample(at: float, reason: str = "Product.price: not a number") -> DropSample:
    url = f"http://a/{at:.0f}\0\ud800"
    return DropSample(
        reason=reason, type="Product", url=url, at=at, data=b'{"n":%d, "\x00\xff' % at, stage="s"
    )


@LEDGER_READER_CHECKS.register
async def the_earliest_of_what_was_dropped_stays_as_an_example(s: LedgerSubject) -> None:
    """For each reason, with at most four later ones, in any order of writing."""
    job, other = await s.book.create("a", "a"), await s.book.create("b", "b")
    assert_equal(await s.ledger.read_samples(job), [], "nothing was dropped")
    one = _sample(50.0)
    await s.store.write(job, [make_visit_result(at=50, samples=(one,))])
    (kept,) = await s.ledger.read_samples(job)
    assert_equal((kept.at, kept.data, kept.stage, kept.type), (50.0, one.data, "s", "Product"), "an example")
    many = tuple(map(_sample, map(float, range(100, 140))))
    await s.store.write(
        job, [make_visit_result(at=139, samples=(*many, _sample(60.0, "Product.name: no\0")))]
    )
    await s.store.write(job, [make_visit_result(at=20, samples=(_sample(20.0),))])
    found = await s.ledger.read_samples(job, "Product.price: not a number")
    assert_equal(found[0].at, 20.0, "the earliest")
    assert_holds(3 <= len(found) <= 5, "no more than five of a reason")
    assert_holds(max(sample.at for sample in found) == 139.0, "the latest are among them")
    assert_equal([sample.at for sample in found[1:] if sample.at < 100.0], [], "later ones, not the first")
    reasons = {sample.reason.replace("\0", "\ufffd") for sample in await s.ledger.read_samples(job)}
    assert_equal(reasons, {"Product.name: no\ufffd", "Product.price: not a number"}, "every reason")
    assert_equal(len(await s.ledger.read_samples(job, limit=2)), 2, "no more than are asked for")
    assert_equal(await s.ledger.read_samples(other), [], "those of another job are its own")
    assert_equal((await s.store.read_totals(job)).dropped, {}, "they are examples, and counted elsewhere")
