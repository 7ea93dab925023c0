"""The contract of a store, its job book and its shared state, as named checks.

Use: ``await check_store(make)``, or one by one from ``STORE_CHECKS``; ``make(clock)`` is an async context
manager that gives a :class:`StoreSubject` with nothing in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from gossamer.core.jobs import Job, StoredItem
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.requests import Entry, Lease, Request, RequestPreview
from gossamer.core.results import Attempt, ItemRecord, Outcome, PageRecord, Verdict, VisitResult
from gossamer.ports.job_store import JobStore
from gossamer.ports.shared_state import SharedState
from gossamer.ports.store import Store
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.suite import assert_equal, assert_holds


@dataclass
class StoreSubject:
    """What is checked."""

    store: Store
    book: JobStore
    shared: SharedState
    clock: ManualClock

    async def read_items(self, job: Job | None = None, after_id: int = 0) -> list[StoredItem]:
        """All items at once."""
        return [item async for item in self.store.read_items(job, after_id)]


Make = Callable[[ManualClock], AbstractAsyncContextManager[StoreSubject]]
Check = Callable[[Make], Awaitable[None]]

STORE_CHECKS: dict[str, Check] = {}
"""The checks by name."""


async def check_store(make: Make) -> None:
    """Run every check against a fresh store each. Raises ``AssertionError`` for a broken promise."""
    for check in STORE_CHECKS.values():
        await check(make)


def _register_check(body: Callable[[StoreSubject], Awaitable[None]]) -> Check:
    async def check(make: Make) -> None:
        async with make(ManualClock()) as subject:
            await body(subject)

    check.__name__, check.__doc__ = body.__name__, body.__doc__
    STORE_CHECKS[body.__name__] = check
    return check


def make_item(
    key: str, data: bytes = b'{"name":"x"}', kind: str = "Product", url: str = "http://a/1"
) -> ItemRecord:
    """An item; its hash follows its data."""
    return ItemRecord(type=kind, key=key, data=data, hash=hash(data), url=url)


def make_visit_result(
    *items: ItemRecord,
    at: float = 0.0,
    number: int = 1,
    attempt: Attempt | None = None,
    dropped: dict[str, int] | None = None,
) -> VisitResult:
    """The result of a page's visit at a time."""
    url = f"http://a/{number}"
    lease = Lease(
        entry=Entry(request=Request(url), fingerprint=number, host="a"),
        token=number,
        granted_at=at,
        start_by=at,
        deadline=at,
        attempt=1,
    )
    made = Attempt(at=at, url=url, fingerprint=number, verdict=Verdict.SUCCESS, status=200, size_bytes=10)
    return VisitResult(
        outcome=Outcome(lease=lease, verdict=Verdict.SUCCESS),
        attempts=(attempt or made,),
        items=items,
        page=PageRecord(url=url, fingerprint=number, status=200, at=at),
        dropped=dropped or {},
    )


def by_lease(found: VisitResult, token: int, *, dont_filter: bool = False, expiries: int = 0) -> VisitResult:
    """The same page, brought by another lease."""
    lease = found.outcome.lease
    request = replace(lease.entry.request, dont_filter=dont_filter)
    lease = replace(lease, token=token, expiries=expiries, entry=replace(lease.entry, request=request))
    return replace(found, outcome=replace(found.outcome, lease=lease))


@_register_check
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


@_register_check
async def older_news_changes_nothing(s: StoreSubject) -> None:
    """A late result neither overwrites what was seen after it, nor is it lost from the job's items."""
    job, other = await s.book.create("shop", ""), await s.book.create("shop", "")
    new, old = make_item("1", b'{"name":"new"}'), make_item("1", b'{"name":"old"}', url="http://a/9")
    await s.store.write(job, [make_visit_result(new, at=10)])
    await s.store.write(job, [make_visit_result(new, at=30)])
    await s.store.write(other, [make_visit_result(old, at=20)])
    (stored,) = await s.read_items(other)
    assert_equal((stored.data, stored.url), ({"name": "new"}, new.url), "the newer one stays")
    assert_equal((stored.last_seen, stored.changed_at), (30, 10), "and its times")
    await s.store.write(job, [make_visit_result(new, at=40)])
    assert_equal((await s.read_items())[0].changed_at, 10, "what was refused is not what was there")
    await s.store.write(job, [make_visit_result(old, at=40)])
    assert_equal(
        (await s.read_items())[0].data, {"name": "old"}, "at the same time, the one that comes later"
    )


@_register_check
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


@_register_check
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


@_register_check
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


@_register_check
async def type_and_spider_tell_items_apart(s: StoreSubject) -> None:
    """The key alone does not."""
    one, two = await s.book.create("one", ""), await s.book.create("two", "")
    await s.store.write(one, [make_visit_result(make_item("1"), make_item("1", kind="Review"))])
    await s.store.write(two, [make_visit_result(make_item("1"))])
    assert_equal(len(await s.read_items()), 3, "spider, type and key identify an item")


@_register_check
async def a_job_sees_its_own_items(s: StoreSubject) -> None:
    """A later job of the same spider shares items, and counts them as its own."""
    first, second = await s.book.create("shop", ""), await s.book.create("shop", "")
    await s.store.write(first, [make_visit_result(make_item("1"), make_item("2"))])
    await s.store.write(second, [make_visit_result(make_item("2"), make_item("3"))])
    assert_equal([found.key for found in await s.read_items(first)], ["1", "2"], "what the first job saw")
    assert_equal([found.key for found in await s.read_items(second)], ["2", "3"], "what the second job saw")
    assert_equal(len(await s.read_items()), 3, "all together, each once")
    tally = await s.store.read_totals(second)
    assert_equal((tally.items, tally.duplicates), (2, 0), "an item another job saw is no duplicate")


@_register_check
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
        await seen(), [[three, same], [two, same], [one], [three]], "a job that goes on sees the news"
    )
    assert_equal((await s.read_items())[0].data, {"z": 1, "n": 3}, "all together, the latest")
    tallies = [await s.store.read_totals(job) for job in jobs]
    assert_equal(
        [(t.items, t.duplicates) for t in tallies], [(2, 2), (2, 0), (1, 1), (1, 1)], "counted as ever"
    )


@_register_check
async def items_come_in_order_and_from_an_id(s: StoreSubject) -> None:
    """More than any page of a listing holds."""
    job = await s.book.create("shop", "")
    await s.store.write(job, [make_visit_result(*[make_item(str(n)) for n in range(1201)])])
    found = await s.read_items(job)
    assert_equal([x.key for x in found], [str(n) for n in range(1201)], "in the order they were stored")
    assert_equal((await s.read_items(job, found[999].id))[0].key, "1000", "from an id on")


@_register_check
async def totals_are_counted(s: StoreSubject) -> None:
    """By status, reason and what was dropped; duplicates within a page and over pages."""
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


@_register_check
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


@_register_check
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


@_register_check
async def the_ledger_keeps_every_attempt(s: StoreSubject) -> None:
    """Newest first, whole, by URL, up to a limit."""
    job = await s.book.create("shop", "")
    full = Attempt(
        at=5.5,
        url="http://a/x",
        fingerprint=-(2**63),
        verdict=Verdict.DEAD,
        reason="timeout_body",
        detail="line\nline \u00e9 end",
        attempt=3,
        status=206,
        size_bytes=2**40,
        elapsed_ms=1.25,
        worker="w",
        rung="http",
        depth=2,
        via="http://a/",
        method="POST",
        flags=("truncated", "parse_truncated"),
        request=RequestPreview(
            callback="parse_found",
            headers=("X-A",),
            body="q=\u00e9&\x00",
            body_bytes=2**33,
            cb_kwargs={"page": 2, "of": ["a", None], "why": "\u2026"},
            meta=("key",),
        ),
    )
    await s.store.write(
        job, [make_visit_result(number=1), make_visit_result(attempt=full), make_visit_result(number=3)]
    )
    found = await s.store.latest_attempts(job)
    assert_equal([x.url for x in found], ["http://a/3", "http://a/x", "http://a/1"], "newest first")
    assert_equal(await s.store.latest_attempts(job, "http://a/x"), [full], "whole, by URL")
    assert_equal(len(await s.store.latest_attempts(job, limit=2)), 2, "up to a limit")


@_register_check
async def rows_of_lost_leases_are_marked(s: StoreSubject) -> None:
    """They count as attempts and not as successes, each once; what they brought stays."""
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


@_register_check
async def strange_text_is_stored(s: StoreSubject) -> None:
    """NUL, lone surrogates, non-characters, SQL; and it loses nobody else's item."""
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
    assert_holds(kept.detail in ("a\x00b", "a\ufffdb"), "in the ledger, too")


@_register_check
async def jobs_have_ids_of_their_own(s: StoreSubject) -> None:
    """Safe as file names, found by id or by name."""
    first, second = await s.book.create("shop", "shop.py"), await s.book.create("shop", "shop.py")
    assert_equal((first.id, second.id), ("shop-1", "shop-2"), "named and numbered")
    assert_holds(first.key != second.key and len(first.key) >= 16, "keys are random")
    wild = await s.book.create("../../etc/pass wd\x00", "x")
    assert_holds(
        not set(wild.id) & set("/\\ \x00") and not wild.id.startswith("."), "an id is a safe file name"
    )
    assert_equal(await s.book.get("shop-1"), first, "by id")
    assert_equal(await s.book.get("shop"), second, "the latest of a name")
    assert_equal(await s.book.get("nothing"), None, "or none")
    assert_equal([job.id for job in await s.book.list_jobs()], [wild.id, "shop-2", "shop-1"], "newest first")
    await s.book.update(replace(second, state=JobState.FINISHED, finished_at=1.0))
    await s.book.update(replace(wild, state=JobState.PAUSED))
    unfinished = [job.id for job in await s.book.list_jobs(unfinished=True)]
    assert_equal(unfinished, [wild.id, "shop-1"], "those that run or are paused")


@_register_check
async def jobs_made_at_once_are_told_apart(s: StoreSubject) -> None:
    """However many, of one name."""
    made = await asyncio.gather(*[s.book.create("shop", "") for _ in range(10)])
    assert_equal({job.id for job in made}, {f"shop-{n}" for n in range(1, 11)}, "each has an id of its own")
    assert_equal(len({job.key for job in made}), 10, "and a key")


@_register_check
async def plans_are_kept(s: StoreSubject) -> None:
    """Byte for byte, whatever is updated."""
    plan = bytes(range(256))
    job = await s.book.create("shop", "shop.py", plan)
    assert_equal(job.plan, plan, "a job is made with its plan")
    await s.book.update(replace(job, state=JobState.PAUSED, plan=b"other"))
    assert_equal(await s.book.get(job.id), replace(job, state=JobState.PAUSED), "and keeps it")
    assert_equal([found.plan for found in await s.book.list_jobs()], [plan], "in a listing, too")
    assert_equal((await s.book.create("shop", "shop.py")).plan, b"", "it may have none")


@_register_check
async def jobs_can_be_updated(s: StoreSubject) -> None:
    """State, end and reason; nothing else."""
    job = await s.book.create("shop", "shop.py")
    done = replace(job, state=JobState.FINISHED, finished_at=9.0, end_reason=FinishReason.FINISHED)
    await s.book.update(replace(done, target="other"))
    assert_equal(await s.book.get(job.id), done, "state, end and reason are stored")


@_register_check
async def every_end_is_kept(s: StoreSubject) -> None:
    """Every state, reason and error; what is listed as unfinished is what a job says of itself."""
    job = await s.book.create("shop", "shop.py")
    for state in JobState:
        for at in (None, 9.0):
            ended = replace(job, state=state, finished_at=at)
            await s.book.update(ended)
            unfinished = await s.book.list_jobs(unfinished=True)
            assert_equal(unfinished, [ended] if ended.is_unfinished else [], f"{state}, ended at {at}")
    for reason in (*FinishReason, None):
        ended = replace(job, end_reason=reason, end_error="" if reason is None else f"error: {reason}")
        await s.book.update(ended)
        assert_equal(await s.book.get(job.id), ended, "reason and error")


@_register_check
async def stale_updates_are_refused(s: StoreSubject) -> None:
    """An update for what a job no longer is changes nothing, and says so."""
    job = await s.book.create("shop", "shop.py")
    done = replace(job, state=JobState.FINISHED, finished_at=9.25, end_reason=FinishReason.FINISHED)
    paused = replace(job, state=JobState.PAUSED, end_reason=FinishReason.PAUSED)
    assert_equal(await s.book.update(paused, expected=job), True, "as expected")
    assert_equal(await s.book.update(done, expected=job), False, "another state")
    assert_equal(await s.book.get(job.id), paused, "nothing was stored")
    assert_equal(await s.book.update(done, expected=paused), True, "what it is now")
    assert_equal(
        await s.book.update(job, expected=replace(done, finished_at=None)), False, "it has ended since"
    )
    assert_equal(
        await s.book.update(job, expected=replace(done, finished_at=8.0)), False, "or at another time"
    )
    assert_equal(await s.book.update(job, expected=done), True, "to the digit")
    assert_equal(await s.book.update(paused), True, "whatever it is")
    assert_equal(await s.book.update(replace(job, id="shop-9")), False, "no such job")


@_register_check
async def shared_values_expire(s: StoreSubject) -> None:
    """At their time; a space does not see another's."""
    await s.shared.put("robots", "http://a", b"\x00body", 10)
    assert_equal(await s.shared.get("robots", "http://a"), b"\x00body", "a value is shared")
    assert_equal(await s.shared.get("ladder", "http://a"), None, "in its space")
    s.clock.advance(9)
    await s.shared.put("robots", "http://b", b"", 10)
    assert_equal(await s.shared.get("robots", "http://a"), b"\x00body", "until it expires")
    s.clock.advance(1)
    assert_equal(await s.shared.get("robots", "http://a"), None, "and not longer")
    assert_equal(await s.shared.get("robots", "http://b"), b"", "an empty value is a value")


@_register_check
async def one_claim_wins(s: StoreSubject) -> None:
    """Until it is fulfilled, or lapses."""
    assert_holds(await s.shared.claim("robots", "k", 5), "the first may make it")
    assert_holds(not await s.shared.claim("robots", "k", 5), "the second may not")
    s.clock.advance(5)
    assert_holds(await s.shared.claim("robots", "k", 5), "a claim lapses")
    await s.shared.put("robots", "k", b"v", 100)
    assert_equal(await s.shared.get("robots", "k"), b"v", "a put is seen")
    assert_holds(await s.shared.claim("robots", "k", 5), "a put ends the claim")
    assert_equal(await s.shared.get("robots", "k"), b"v", "a claim leaves the value")


@_register_check
async def a_value_is_swapped_only_for_the_expected_one(s: StoreSubject) -> None:
    """So that of all who change a value at the same time nobody undoes what another has done."""
    assert_holds(
        not await s.shared.compare_and_swap("cookies", "k", b"other", b"v", 9),
        "a value was expected, there is none",
    )
    assert_equal(await s.shared.get("cookies", "k"), None, "then nothing is set")
    won = await asyncio.gather(
        *(s.shared.compare_and_swap("cookies", "k", None, b"%d" % n, 9) for n in range(5))
    )
    assert_equal(sum(won), 1, "one of several at the same time sets it")
    first = b"%d" % won.index(True)
    assert_equal(await s.shared.get("cookies", "k"), first, "and what it set is there")
    assert_holds(
        await s.shared.compare_and_swap("cookies", "k", first, b"", 9), "who knows the value may replace it"
    )
    assert_holds(
        not await s.shared.compare_and_swap("cookies", "k", None, b"new", 9), "an empty value is a value"
    )
    assert_holds(
        not await s.shared.compare_and_swap("cookies", "k", first, b"new", 9),
        "a former value is not the present one",
    )
    s.clock.advance(9)
    assert_holds(
        await s.shared.compare_and_swap("cookies", "k", None, b"new", 9), "what has expired is not there"
    )
    assert_equal(await s.shared.get("cookies", "k"), b"new", "a new one is")
