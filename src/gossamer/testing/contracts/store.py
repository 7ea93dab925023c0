"""The contract of a store, as named checks.

Use: ``await check_store(make)``, or one by one from ``STORE_CHECKS``; ``make(clock)`` is an async context
manager that gives a :class:`StoreSubject` with nothing in it.
"""

from __future__ import annotations

import asyncio

import msgspec
from msgspec.structs import replace

from gossamer.core.jobs import ItemFilter, Job
from gossamer.core.requests import RequestPreview
from gossamer.core.results import Attempt, Verdict
from gossamer.testing.contracts import store_counters
from gossamer.testing.contracts.store_harness import (
    STORE_CHECKS,
    StoreSubject,
    by_lease,
    make_item,
    make_visit_result,
)
from gossamer.testing.contracts.suite import Make, assert_equal, assert_holds

__all__ = ["STORE_CHECKS", "StoreSubject", "check_store"]

MODULES = (store_counters,)
"""Where more of the checks are; they register themselves."""


async def check_store(make: Make[StoreSubject]) -> None:
    """Run every check against a fresh store each. Raises ``AssertionError`` for a broken promise."""
    await STORE_CHECKS.run(make)


@STORE_CHECKS.register
async def items_are_upserts(s: StoreSubject) -> None:
    """The same item again moves ``last_seen``; a changed one moves ``changed_at`` too."""
    job = await s.book.create("shop", "shop.py")
    await s.store.write(job, [make_visit_result(make_item("1"), at=10)])
    await s.store.write(job, [make_visit_result(replace(make_item("1"), url="http://a/2"), at=20)])
    (same,) = await s.read_items()
    assert_equal((same.first_seen, same.last_seen, same.changed_at), (10, 20, 10), "seen again, not changed")
    assert_equal(same.url, "http://a/1", "the page is that of the data")
    await s.store.write(job, [make_visit_result(make_item("1", b'{"name":"y"}', url="http://a/3"), at=30)])
    (new,) = await s.read_items()
    assert_equal((new.first_seen, new.last_seen, new.changed_at), (10, 30, 30), "changed")
    assert_equal(
        (new.data, new.url, new.id), ({"name": "y"}, "http://a/3", same.id), "the data is the latest"
    )


@STORE_CHECKS.register
async def older_news_changes_nothing(s: StoreSubject) -> None:
    """A late result does not overwrite a later value, and stays in the job's items."""
    job, other = await s.book.create("shop", ""), await s.book.create("shop", "")
    new, old = make_item("1", b'{"name":"new"}'), make_item("1", b'{"name":"old"}', url="http://a/9")
    await s.store.write(job, [make_visit_result(new, at=10)])
    await s.store.write(job, [make_visit_result(new, at=30)])
    await s.store.write(other, [make_visit_result(old, at=20)])
    (stored,) = await s.read_items(other)
    assert_equal((stored.data, stored.url), ({"name": "new"}, new.url), "the newer one stays")
    assert_equal((stored.last_seen, stored.changed_at), (30, 10), "and its times")
    await s.store.write(job, [make_visit_result(new, at=40)])
    assert_equal((await s.read_items())[0].changed_at, 10, "a refused item was not stored before")
    await s.store.write(job, [make_visit_result(old, at=40)])
    assert_equal(
        (await s.read_items())[0].data, {"name": "old"}, "at the same time, the one that comes later"
    )


@STORE_CHECKS.register
async def fields_keep_their_order(s: StoreSubject) -> None:
    """At every depth; numbers keep their kind, and any name can be a field's."""
    job = await s.book.create("shop", "")
    data = {
        "url": "u",
        "price": 1.5,
        "b": [{"zz": 1, "a": {"long name": None, "é": [], "e": {}}}, [], [{"y": 1, "x": 2}], "text"],
        "aa": {"only": {"2": True, "10": False, "1": 1.0}},
        "": 10**18,
        "wide": {f"field {n}": n for n in range(300, 0, -1)},
        "plain": {"a": 1, "b": 2},
    }
    await s.store.write(job, [make_visit_result(make_item("1", msgspec.json.encode(data)))])
    (stored,) = await s.read_items()
    assert_equal(msgspec.json.encode(stored.data), msgspec.json.encode(data), "the fields in their order")


@STORE_CHECKS.register
async def one_item_many_times_in_a_batch(s: StoreSubject) -> None:
    """The latest counts; each is an item once and a duplicate otherwise."""
    job = await s.book.create("shop", "")
    first, last = make_item("1", b'{"n":1}'), make_item("1", b'{"n":2}')
    late = make_item("1", b'{"n":3}')
    await s.store.write(
        job, [make_visit_result(first, last, at=20), make_visit_result(late, at=10, number=2)]
    )
    (stored,) = await s.read_items()
    assert_equal((stored.data, stored.last_seen), ({"n": 2}, 20), "the latest is stored")
    tally = await s.store.read_totals(job)
    assert_equal((tally.items, tally.duplicates, tally.pages), (1, 2, 2), "each is counted")


@STORE_CHECKS.register
async def concurrent_batches_are_all_stored(s: StoreSubject) -> None:
    """Batches that meet in the same items, in any order, from many writers."""
    job = await s.book.create("shop", "")
    keys = [str(n) for n in range(40)]

    async def write(number: int) -> None:
        turned = keys[number:] + keys[:number]
        found = [make_item(key, b'{"n":%d}' % number) for key in turned]
        await s.store.write(job, [make_visit_result(*found, at=number, number=number)])

    await asyncio.gather(*map(write, range(20)))
    assert_equal(len(await s.read_items(job)), 40, "each item once")
    assert_equal({stored.data["n"] for stored in await s.read_items()}, {19}, "as the latest batch has it")
    tally = await s.store.read_totals(job)
    assert_equal(
        (tally.pages, tally.items, tally.duplicates), (20, 40, 760), "nothing is lost or counted twice"
    )


@STORE_CHECKS.register
async def type_and_spider_tell_items_apart(s: StoreSubject) -> None:
    """The key alone does not."""
    one, two = await s.book.create("one", ""), await s.book.create("two", "")
    await s.store.write(one, [make_visit_result(make_item("1"), make_item("1", kind="Review"))])
    await s.store.write(two, [make_visit_result(make_item("1"))])
    assert_equal(len(await s.read_items()), 3, "spider, type and key identify an item")


@STORE_CHECKS.register
async def a_job_sees_its_own_items(s: StoreSubject) -> None:
    """A later job of the same spider shares items, and counts them as its own."""
    first, second = await s.book.create("shop", ""), await s.book.create("shop", "")
    await s.store.write(first, [make_visit_result(make_item("1"), make_item("2"))])
    await s.store.write(second, [make_visit_result(make_item("2"), make_item("3"))])
    assert_equal([found.key for found in await s.read_items(first)], ["1", "2"], "the first job's values")
    assert_equal([found.key for found in await s.read_items(second)], ["2", "3"], "the second job's values")
    assert_equal(len(await s.read_items()), 3, "all together, each once")
    tally = await s.store.read_totals(second)
    assert_equal((tally.items, tally.duplicates), (2, 0), "an item that another job saw is not a duplicate")


@STORE_CHECKS.register
async def a_job_keeps_the_values_it_saw(s: StoreSubject) -> None:
    """Whatever later jobs find; each has its own, and all together the latest."""
    jobs = [await s.book.create("shop", "") for _ in range(4)]
    values = [make_item("1", b'{"z":1,"n":%d}' % n, url=f"http://a/{n}") for n in (1, 2, 1, 3)]

    async def seen() -> list[object]:
        return [[(x.data, x.url) for x in await s.read_items(job)] for job in jobs]

    await s.store.write(
        jobs[0], [make_visit_result(values[1], make_item("2"), at=1), make_visit_result(values[0], at=2)]
    )
    await s.store.write(jobs[1], [make_visit_result(values[1], make_item("2"), at=3)])
    one, two, three = (({"z": 1, "n": n}, f"http://a/{n}") for n in (1, 2, 3))
    same = ({"name": "x"}, "http://a/1")
    assert_equal(await seen(), [[one, same], [two, same], [], []], "what each saw last")
    former = (await s.read_items(jobs[0]))[0]
    assert_equal(
        (former.changed_at, former.last_seen), (2, 2), "a former value was last seen before the news"
    )
    await s.store.write(jobs[2], [make_visit_result(values[2], at=4), make_visit_result(values[0], at=5)])
    assert_equal(await seen(), [[one, same], [two, same], [one], []], "a value may come back")
    await s.store.write(jobs[3], [make_visit_result(values[0], at=6)])
    await s.store.write(jobs[3], [make_visit_result(values[3], at=7)])
    assert_equal(await seen(), [[one, same], [two, same], [one], [three]], "also one that several saw")
    await s.store.write(jobs[0], [make_visit_result(values[3], at=8)])
    assert_equal(
        await seen(), [[three, same], [two, same], [one], [three]], "a job that continues sees the new values"
    )
    assert_equal((await s.read_items())[0].data, {"z": 1, "n": 3}, "all together, the latest")
    tallies = [await s.store.read_totals(job) for job in jobs]
    assert_equal(
        [(t.items, t.duplicates) for t in tallies], [(2, 2), (2, 0), (1, 1), (1, 1)], "counted as ever"
    )


@STORE_CHECKS.register
async def items_come_in_order_and_from_an_id(s: StoreSubject) -> None:
    """More than any page of a listing holds."""
    job = await s.book.create("shop", "")
    await s.store.write(job, [make_visit_result(*[make_item(str(n)) for n in range(1201)])])
    found = await s.read_items(job)
    assert_equal([x.key for x in found], [str(n) for n in range(1201)], "in the order they were stored")
    assert_equal((await s.read_items(job, found[999].id))[0].key, "1000", "from an id on")


@STORE_CHECKS.register
async def items_that_fit_are_read(s: StoreSubject) -> None:
    """By the values that the job saw, whichever part of a listing they are in."""
    first, second = await s.book.create("shop", ""), await s.book.create("shop", "")
    many = [make_item(str(n), b'{"name":"x"}') for n in range(1200)]
    await s.store.write(first, [make_visit_result(*many, at=1)])
    lamp = make_item("lamp", b'{"name":null,"text":"A lamp"}', kind="Offer")
    await s.store.write(first, [make_visit_result(lamp, at=5)])
    await s.store.write(second, [make_visit_result(make_item("7", b'{"name":""}'), at=9)])
    cases: list[tuple[Job | None, ItemFilter, list[str]]] = [
        (first, ItemFilter(type="Offer"), ["lamp"]),
        (first, ItemFilter(changed_since=5.0), ["lamp"]),
        (first, ItemFilter(missing="name"), ["lamp"]),
        (first, ItemFilter(text="A LAMP"), ["lamp"]),
        (first, ItemFilter(type="Offer", changed_since=6.0), []),
        (second, ItemFilter(missing="name"), ["7"]),
        (None, ItemFilter(changed_since=5.0), ["7", "lamp"]),
    ]
    for job, which, keys in cases:
        assert_equal([x.key for x in await s.read_items(job, which=which)], keys, f"items for {which}")
    (item,) = await s.read_items(first, which=ItemFilter(type="Offer"))
    assert_equal(await s.read_items(first, item.id, ItemFilter(type="Offer")), [], "behind an id")


@STORE_CHECKS.register
async def totals_are_counted(s: StoreSubject) -> None:
    """By status, reason and dropped items; duplicates within a page and over pages."""
    job = await s.book.create("shop", "")
    retry = Attempt(at=1, url="u", fingerprint=2, verdict=Verdict.RETRY, reason="server", status=503)
    await s.store.write(
        job, [make_visit_result(make_item("1"), make_item("1"), dropped={"item:price": 2, "link:scheme": 1})]
    )
    await s.store.write(job, [make_visit_result(make_item("1"), number=2, dropped={"item:price": 1})])
    await s.store.write(job, [replace(make_visit_result(attempt=retry), page=None)])
    t = await s.store.read_totals(job)
    assert_equal((t.pages, t.items, t.duplicates, t.attempts, t.retries), (2, 1, 2, 3, 1), "totals")
    assert_equal((t.by_status, t.by_reason), ({"200": 2, "503": 1}, {"server": 1}), "by status and reason")
    assert_equal((t.dropped, t.bytes), ({"item:price": 3, "link:scheme": 1}, 20), "dropped and bytes")
    assert_equal(t.successes, 2, "requests that were handled without a fault")
    other = await s.store.read_totals(await s.book.create("shop", ""))
    assert_equal((other.pages, other.by_status), (0, {}), "each job has its own")


@STORE_CHECKS.register
async def what_callbacks_give_is_counted(s: StoreSubject) -> None:
    """By their names, over all pages that they did not fail on; so one that never gives anything is known."""
    job = await s.book.create("shop", "")
    made = make_visit_result(make_item("1"), dropped={"item:price": 2, "link:scheme": 1})
    (attempt,) = made.attempts
    failed = replace(attempt, verdict=Verdict.DEAD, reason="callback")
    given = replace(made.outcome, is_page=True, outlinks=(made.outcome.lease.entry,))
    request = made.outcome.lease.entry.request.replace(callback="parse_product")
    entry = replace(made.outcome.lease.entry, request=request)
    other = replace(given, outlinks=(), lease=replace(given.lease, entry=entry))
    dead = replace(other, verdict=Verdict.DEAD, reason="callback")
    results = [
        replace(made, outcome=given),
        replace(made, outcome=other, items=(), dropped={}),
        replace(made, outcome=dead, attempts=(failed,)),
    ]
    await s.store.write(job, results[:2])
    await s.store.write(job, results[2:])
    t = await s.store.read_totals(job)
    assert_equal(t.callback_pages, {"parse": 1, "parse_product": 1}, "pages")
    assert_equal(t.callback_items, {"parse": 3}, "items, those included that were dropped")
    assert_equal(t.callback_requests, {"parse": 1}, "new requests")


@STORE_CHECKS.register
async def a_page_that_is_stored_again_is_the_same_page(s: StoreSubject) -> None:
    """Its lease was lost before it was settled. One that was asked for again on purpose is another one."""
    job = await s.book.create("shop", "")
    page = make_visit_result(make_item("1"), at=10)
    await s.store.write(job, [page])
    await s.store.write(
        job, [by_lease(page, 9), make_visit_result(make_item("1"), at=5), make_visit_result(number=2)]
    )
    tally = await s.store.read_totals(job)
    assert_equal(
        (tally.pages, tally.items, tally.attempts), (2, 1, 4), "the page is one, its tries are all there"
    )
    await s.store.write(job, [by_lease(page, 10, dont_filter=True), by_lease(page, 11, dont_filter=True)])
    assert_equal(
        (await s.store.read_totals(job)).pages, 4, "one more for each time it was asked for on purpose"
    )
    await s.store.write(job, [by_lease(page, 11, dont_filter=True)])
    await s.store.write(job, [by_lease(page, 12, dont_filter=True, expiries=1)])
    assert_equal(
        (await s.store.read_totals(job)).pages,
        4,
        "done again after its worker was lost, it is the one before",
    )
    first = by_lease(make_visit_result(number=2), 13, dont_filter=True, expiries=1)
    await s.store.write(job, [first])
    assert_equal((await s.store.read_totals(job)).pages, 5, "unless that one was never stored")
    other = await s.book.create("shop", "")
    await s.store.write(other, [page])
    assert_equal((await s.store.read_totals(other)).pages, 1, "each job has its own")


@STORE_CHECKS.register
async def the_ledger_keeps_every_attempt(s: StoreSubject) -> None:
    """Newest first, whole, by URL, up to a limit."""
    job = await s.book.create("shop", "")
    full = Attempt(
        at=5.5, url="http://a/x", fingerprint=-(2**63), verdict=Verdict.DEAD, reason="timeout_body",
        detail="line\nline \u00e9 end", attempt=3, status=206, size_bytes=2**40, elapsed_ms=1.25, worker="w",
        rung="http", depth=2, via="http://a/", method="POST", flags=("truncated", "parse_truncated"),
        request=RequestPreview(
            callback="parse_found", headers=("X-A",), body="q=\u00e9&\x00", body_bytes=2**33,
            cb_kwargs={"page": 2, "of": ["a", None], "why": "\u2026"}, meta=("key",),
        ),
        proxy="proxy.example:3128", session="s\u00e9ssion 1", cost=0.0125, wire_bytes=2**40 + 1,
        address="2001:db8::1",
    )  # fmt: skip
    await s.store.write(
        job, [make_visit_result(number=1), make_visit_result(attempt=full), make_visit_result(number=3)]
    )
    found = await s.store.latest_attempts(job)
    assert_equal([x.url for x in found], ["http://a/3", "http://a/x", "http://a/1"], "newest first")
    assert_equal(await s.store.latest_attempts(job, "http://a/x"), [full], "whole, by URL")
    assert_equal(len(await s.store.latest_attempts(job, limit=2)), 2, "up to a limit")


@STORE_CHECKS.register
async def rows_of_lost_leases_are_marked(s: StoreSubject) -> None:
    """Each counts once as an attempt and not as a success; its results stay."""
    job = await s.book.create("shop", "")
    made = [make_visit_result(make_item(str(number)), number=number) for number in (1, 2, 3)]
    retry = replace(made[2].attempts[0], verdict=Verdict.RETRY, reason="server", status=503)
    made[2] = replace(made[2], attempts=(retry,), page=None)
    await s.store.write(job, made)
    lost = [attempt for found in made[1:] for attempt in found.attempts]
    for _ in range(2):
        await s.store.mark_stale(job, lost)
    rows = await s.store.latest_attempts(job)
    assert_equal([row.reason for row in rows], ["stale", "stale", ""], "rows of the ledger")
    expected = [replace(attempt, reason="stale") for attempt in lost[::-1]]
    assert_equal(rows[:2], expected, "the rest of them")
    t = await s.store.read_totals(job)
    assert_equal((t.attempts, t.successes, t.retries, t.by_status), (3, 1, 1, {"200": 2, "503": 1}), "totals")
    assert_equal(t.by_reason, {"stale": 2}, "by reason")
    assert_equal((t.pages, t.items), (2, 3), "pages and items")
    await s.store.mark_stale(await s.book.create("shop", ""), [made[0].attempts[0]])
    assert_equal((await s.store.read_totals(job)).successes, 1, "each job has its own rows")
    await s.store.mark_stale(job, [])


@STORE_CHECKS.register
async def strange_text_is_stored(s: StoreSubject) -> None:
    """NUL, lone surrogates, non-characters, SQL; other items are unaffected."""
    job = await s.book.create("shop", "")
    strange = ["\x00", "\ud800", "\ufffe", "'); DROP TABLE item; --", "\U0001f577"]
    attempt = Attempt(
        at=1, url="u\ud800", fingerprint=1, verdict=Verdict.DEAD, detail="\udfff", reason="x\ud800"
    )
    await s.store.write(
        job,
        [make_visit_result(*[make_item(f"{n}{text}") for n, text in enumerate(strange)], attempt=attempt)],
    )
    assert_equal(len(await s.read_items(job)), 5, "strange text is stored")
    rows = await s.store.latest_attempts(job, "u\ud800")
    assert_equal(len(rows), 1, "a row is found under the URL that it was written with")
    for row in rows:  # an implementation in memory may keep it
        assert_holds(row.detail in ("\udfff", "\ufffd"), "half a pair becomes U+FFFD")
    hidden = make_item("\\u0000", rb'{"nul":"a\u0000b","not":"\\u0000","pair":"\ud83d\ude00"}')
    cut = Attempt(at=2, url="http://a/nul", fingerprint=2, verdict=Verdict.DEAD, detail="a\x00b")
    await s.store.write(job, [make_visit_result(hidden, make_item("last"), attempt=cut, number=2)])
    *_, stored, last = await s.read_items(job)
    assert_equal((stored.key, last.key), ("\\u0000", "last"), "what only looks strange is stored as it is")
    assert_holds(stored.data["nul"] in ("a\x00b", "a\ufffdb"), "NUL is kept or replaced")
    assert_equal((stored.data["not"], stored.data["pair"]), ("\\u0000", "\U0001f600"), "and nothing else is")
    (kept,) = await s.store.latest_attempts(job, "http://a/nul")
    assert_holds(kept.detail in ("a\x00b", "a\ufffdb"), "also in the ledger")
