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
from gossamer.core.lifecycle import JobState
from gossamer.core.requests import Entry, Lease, Request, RequestPreview
from gossamer.core.results import Attempt, Harvest, ItemRecord, Outcome, PageRecord, Verdict
from gossamer.ports.shared_state import SharedState
from gossamer.ports.store import JobBook, Store
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.frontier_world import equal, holds


@dataclass
class StoreSubject:
    """What is checked."""

    store: Store
    book: JobBook
    shared: SharedState
    clock: ManualClock

    async def items(self, job: Job | None = None, after_id: int = 0) -> list[StoredItem]:
        """All items at once."""
        return [item async for item in self.store.items(job, after_id)]


Make = Callable[[ManualClock], AbstractAsyncContextManager[StoreSubject]]
Check = Callable[[Make], Awaitable[None]]

STORE_CHECKS: dict[str, Check] = {}
"""The checks by name."""


async def check_store(make: Make) -> None:
    """Run every check against a fresh store each. Raises ``AssertionError`` for a broken promise."""
    for check in STORE_CHECKS.values():
        await check(make)


def _checked(body: Callable[[StoreSubject], Awaitable[None]]) -> Check:
    async def check(make: Make) -> None:
        async with make(ManualClock()) as subject:
            await body(subject)

    check.__name__, check.__doc__ = body.__name__, body.__doc__
    STORE_CHECKS[body.__name__] = check
    return check


def item(
    key: str, data: bytes = b'{"name":"x"}', kind: str = "Product", url: str = "http://a/1"
) -> ItemRecord:
    """An item; its hash follows its data."""
    return ItemRecord(type=kind, key=key, data=data, hash=hash(data), url=url)


def harvest(
    *items: ItemRecord,
    at: float = 0.0,
    number: int = 1,
    attempt: Attempt | None = None,
    dropped: dict[str, int] | None = None,
) -> Harvest:
    """A page's harvest at a time."""
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
    return Harvest(
        outcome=Outcome(lease=lease, verdict=Verdict.SUCCESS),
        attempts=(attempt or made,),
        items=items,
        page=PageRecord(url=url, fingerprint=number, status=200, at=at),
        dropped=dropped or {},
    )


def by_lease(found: Harvest, token: int, *, dont_filter: bool = False, expiries: int = 0) -> Harvest:
    """The same page, brought by another lease."""
    lease = found.outcome.lease
    request = replace(lease.entry.request, dont_filter=dont_filter)
    lease = replace(lease, token=token, expiries=expiries, entry=replace(lease.entry, request=request))
    return replace(found, outcome=replace(found.outcome, lease=lease))


@_checked
async def items_are_upserts(s: StoreSubject) -> None:
    """The same item again moves ``last_seen``; a changed one moves ``changed_at`` too."""
    job = await s.book.create("shop", "shop.py")
    await s.store.write(job, [harvest(item("1"), at=10)])
    await s.store.write(job, [harvest(replace(item("1"), url="http://a/2"), at=20)])
    (same,) = await s.items()
    equal((same.first_seen, same.last_seen, same.changed_at), (10, 20, 10), "seen again, not changed")
    equal(same.url, "http://a/1", "the page is that of the data")
    await s.store.write(job, [harvest(item("1", b'{"name":"y"}', url="http://a/3"), at=30)])
    (new,) = await s.items()
    equal((new.first_seen, new.last_seen, new.changed_at), (10, 30, 30), "changed")
    equal((new.data, new.url, new.id), ({"name": "y"}, "http://a/3", same.id), "the data is the latest")


@_checked
async def older_news_changes_nothing(s: StoreSubject) -> None:
    """A late result neither overwrites what was seen after it, nor is it lost from the job's items."""
    job, other = await s.book.create("shop", ""), await s.book.create("shop", "")
    new, old = item("1", b'{"name":"new"}'), item("1", b'{"name":"old"}', url="http://a/9")
    await s.store.write(job, [harvest(new, at=10)])
    await s.store.write(job, [harvest(new, at=30)])
    await s.store.write(other, [harvest(old, at=20)])
    (stored,) = await s.items(other)
    equal((stored.data, stored.url), ({"name": "new"}, new.url), "the newer one stays")
    equal((stored.last_seen, stored.changed_at), (30, 10), "and its times")
    await s.store.write(job, [harvest(new, at=40)])
    equal((await s.items())[0].changed_at, 10, "what was refused is not what was there")
    await s.store.write(job, [harvest(old, at=40)])
    equal((await s.items())[0].data, {"name": "old"}, "at the same time, the one that comes later")


@_checked
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
    await s.store.write(job, [harvest(item("1", msgspec.json.encode(data)))])
    (stored,) = await s.items()
    equal(msgspec.json.encode(stored.data), msgspec.json.encode(data), "the fields in their order")


@_checked
async def one_item_many_times_in_a_batch(s: StoreSubject) -> None:
    """The latest counts; each is an item once and a duplicate otherwise."""
    job = await s.book.create("shop", "")
    first, last = item("1", b'{"n":1}'), item("1", b'{"n":2}')
    late = item("1", b'{"n":3}')
    await s.store.write(job, [harvest(first, last, at=20), harvest(late, at=10, number=2)])
    (stored,) = await s.items()
    equal((stored.data, stored.last_seen), ({"n": 2}, 20), "the latest is stored")
    tally = await s.store.tally(job)
    equal((tally.items, tally.duplicates, tally.pages), (1, 2, 2), "each is counted")


@_checked
async def concurrent_batches_are_all_stored(s: StoreSubject) -> None:
    """Batches that meet in the same items, in any order, from many writers."""
    job = await s.book.create("shop", "")
    keys = [str(n) for n in range(40)]

    async def write(number: int) -> None:
        turned = keys[number:] + keys[:number]
        found = [item(key, b'{"n":%d}' % number) for key in turned]
        await s.store.write(job, [harvest(*found, at=number, number=number)])

    await asyncio.gather(*map(write, range(20)))
    equal(len(await s.items(job)), 40, "each item once")
    equal({stored.data["n"] for stored in await s.items()}, {19}, "as the latest batch has it")
    tally = await s.store.tally(job)
    equal((tally.pages, tally.items, tally.duplicates), (20, 40, 760), "nothing is lost or counted twice")


@_checked
async def type_and_spider_tell_items_apart(s: StoreSubject) -> None:
    """The key alone does not."""
    one, two = await s.book.create("one", ""), await s.book.create("two", "")
    await s.store.write(one, [harvest(item("1"), item("1", kind="Review"))])
    await s.store.write(two, [harvest(item("1"))])
    equal(len(await s.items()), 3, "spider, type and key identify an item")


@_checked
async def a_job_sees_its_own_items(s: StoreSubject) -> None:
    """A later job of the same spider shares items, and counts them as its own."""
    first, second = await s.book.create("shop", ""), await s.book.create("shop", "")
    await s.store.write(first, [harvest(item("1"), item("2"))])
    await s.store.write(second, [harvest(item("2"), item("3"))])
    equal([found.key for found in await s.items(first)], ["1", "2"], "what the first job saw")
    equal([found.key for found in await s.items(second)], ["2", "3"], "what the second job saw")
    equal(len(await s.items()), 3, "all together, each once")
    tally = await s.store.tally(second)
    equal((tally.items, tally.duplicates), (2, 0), "an item another job saw is no duplicate")


@_checked
async def a_job_keeps_the_values_it_saw(s: StoreSubject) -> None:
    """Whatever later jobs find; each has its own, and all together the latest."""
    jobs = [await s.book.create("shop", "") for _ in range(4)]
    values = [item("1", b'{"z":1,"n":%d}' % n, url=f"http://a/{n}") for n in (1, 2, 1, 3)]

    async def seen() -> list[object]:
        return [[(x.data, x.url) for x in await s.items(job)] for job in jobs]

    await s.store.write(jobs[0], [harvest(values[1], item("2"), at=1), harvest(values[0], at=2)])
    await s.store.write(jobs[1], [harvest(values[1], item("2"), at=3)])
    one, two, three = (({"z": 1, "n": n}, f"http://a/{n}") for n in (1, 2, 3))
    same = ({"name": "x"}, "http://a/1")
    equal(await seen(), [[one, same], [two, same], [], []], "what each saw last")
    former = (await s.items(jobs[0]))[0]
    equal((former.changed_at, former.last_seen), (2, 2), "a former value was last seen before the news")
    await s.store.write(jobs[2], [harvest(values[2], at=4), harvest(values[0], at=5)])
    equal(await seen(), [[one, same], [two, same], [one], []], "a value may come back")
    await s.store.write(jobs[3], [harvest(values[0], at=6)])
    await s.store.write(jobs[3], [harvest(values[3], at=7)])
    equal(await seen(), [[one, same], [two, same], [one], [three]], "also one that several saw")
    await s.store.write(jobs[0], [harvest(values[3], at=8)])
    equal(await seen(), [[three, same], [two, same], [one], [three]], "a job that goes on sees the news")
    equal((await s.items())[0].data, {"z": 1, "n": 3}, "all together, the latest")
    tallies = [await s.store.tally(job) for job in jobs]
    equal([(t.items, t.duplicates) for t in tallies], [(2, 2), (2, 0), (1, 1), (1, 1)], "counted as ever")


@_checked
async def items_come_in_order_and_from_an_id(s: StoreSubject) -> None:
    """More than any page of a listing holds."""
    job = await s.book.create("shop", "")
    await s.store.write(job, [harvest(*[item(str(n)) for n in range(1201)])])
    found = await s.items(job)
    equal([x.key for x in found], [str(n) for n in range(1201)], "in the order they were stored")
    equal((await s.items(job, found[999].id))[0].key, "1000", "from an id on")


@_checked
async def totals_are_counted(s: StoreSubject) -> None:
    """By status, reason and what was dropped; duplicates within a page and over pages."""
    job = await s.book.create("shop", "")
    retry = Attempt(at=1, url="u", fingerprint=2, verdict=Verdict.RETRY, reason="server", status=503)
    await s.store.write(job, [harvest(item("1"), item("1"), dropped={"item:price": 2, "link:scheme": 1})])
    await s.store.write(job, [harvest(item("1"), number=2, dropped={"item:price": 1})])
    await s.store.write(job, [replace(harvest(attempt=retry), page=None)])
    t = await s.store.tally(job)
    equal((t.pages, t.items, t.duplicates, t.attempts, t.retries), (2, 1, 2, 3, 1), "totals")
    equal((t.by_status, t.by_reason), ({"200": 2, "503": 1}, {"server": 1}), "by status and reason")
    equal((t.dropped, t.bytes), ({"item:price": 3, "link:scheme": 1}, 20), "dropped and bytes")
    equal(t.successes, 2, "requests that were handled without a fault")
    other = await s.store.tally(await s.book.create("shop", ""))
    equal((other.pages, other.by_status), (0, {}), "each job has its own")


@_checked
async def what_callbacks_give_is_counted(s: StoreSubject) -> None:
    """By their names, over all pages that they did not fail on; so one that never gives anything is known."""
    job = await s.book.create("shop", "")
    made = harvest(item("1"), dropped={"item:price": 2, "link:scheme": 1})
    (attempt,) = made.attempts
    failed = replace(attempt, verdict=Verdict.DEAD, reason="callback")
    given = replace(made.outcome, is_page=True, outlinks=(made.outcome.lease.entry,))
    request = made.outcome.lease.entry.request.replace(callback="parse_product")
    entry = replace(made.outcome.lease.entry, request=request)
    other = replace(given, outlinks=(), lease=replace(given.lease, entry=entry))
    dead = replace(other, verdict=Verdict.DEAD, reason="callback")
    harvests = [
        replace(made, outcome=given),
        replace(made, outcome=other, items=(), dropped={}),
        replace(made, outcome=dead, attempts=(failed,)),
    ]
    await s.store.write(job, harvests[:2])
    await s.store.write(job, harvests[2:])
    t = await s.store.tally(job)
    equal(t.callback_pages, {"parse": 1, "parse_product": 1}, "pages")
    equal(t.callback_items, {"parse": 3}, "items, those included that were dropped")
    equal(t.callback_requests, {"parse": 1}, "new requests")


@_checked
async def a_page_that_is_stored_again_is_the_same_page(s: StoreSubject) -> None:
    """Its lease was lost before it was settled. One that was asked for again on purpose is another one."""
    job = await s.book.create("shop", "")
    page = harvest(item("1"), at=10)
    await s.store.write(job, [page])
    await s.store.write(job, [by_lease(page, 9), harvest(item("1"), at=5), harvest(number=2)])
    tally = await s.store.tally(job)
    equal((tally.pages, tally.items, tally.attempts), (2, 1, 4), "the page is one, its tries are all there")
    await s.store.write(job, [by_lease(page, 10, dont_filter=True), by_lease(page, 11, dont_filter=True)])
    equal((await s.store.tally(job)).pages, 4, "one more for each time it was asked for on purpose")
    await s.store.write(job, [by_lease(page, 11, dont_filter=True)])
    await s.store.write(job, [by_lease(page, 12, dont_filter=True, expiries=1)])
    equal((await s.store.tally(job)).pages, 4, "done again after its worker was lost, it is the one before")
    first = by_lease(harvest(number=2), 13, dont_filter=True, expiries=1)
    await s.store.write(job, [first])
    equal((await s.store.tally(job)).pages, 5, "unless that one was never stored")
    other = await s.book.create("shop", "")
    await s.store.write(other, [page])
    equal((await s.store.tally(other)).pages, 1, "each job has its own")


@_checked
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
    await s.store.write(job, [harvest(number=1), harvest(attempt=full), harvest(number=3)])
    found = await s.store.attempts(job)
    equal([x.url for x in found], ["http://a/3", "http://a/x", "http://a/1"], "newest first")
    equal(await s.store.attempts(job, "http://a/x"), [full], "whole, by URL")
    equal(len(await s.store.attempts(job, limit=2)), 2, "up to a limit")


@_checked
async def rows_of_lost_leases_are_marked(s: StoreSubject) -> None:
    """They count as attempts and not as successes, each once; what they brought stays."""
    job = await s.book.create("shop", "")
    made = [harvest(item(str(number)), number=number) for number in (1, 2, 3)]
    retry = replace(made[2].attempts[0], verdict=Verdict.RETRY, reason="server", status=503)
    made[2] = replace(made[2], attempts=(retry,), page=None)
    await s.store.write(job, made)
    lost = [attempt for found in made[1:] for attempt in found.attempts]
    for _ in range(2):
        await s.store.mark_stale(job, lost)
    rows = await s.store.attempts(job)
    equal([row.reason for row in rows], ["stale", "stale", ""], "rows of the ledger")
    expected = [replace(attempt, reason="stale") for attempt in lost[::-1]]
    equal(rows[:2], expected, "the rest of them")
    t = await s.store.tally(job)
    equal((t.attempts, t.successes, t.retries, t.by_status), (3, 1, 1, {"200": 2, "503": 1}), "totals")
    equal(t.by_reason, {"stale": 2}, "by reason")
    equal((t.pages, t.items), (2, 3), "pages and items")
    await s.store.mark_stale(await s.book.create("shop", ""), [made[0].attempts[0]])
    equal((await s.store.tally(job)).successes, 1, "each job has its own rows")
    await s.store.mark_stale(job, [])


@_checked
async def strange_text_is_stored(s: StoreSubject) -> None:
    """NUL, lone surrogates, non-characters, SQL; and it loses nobody else's item."""
    job = await s.book.create("shop", "")
    strange = ["\x00", "\ud800", "\ufffe", "'); DROP TABLE item; --", "\U0001f577"]
    attempt = Attempt(
        at=1, url="u\ud800", fingerprint=1, verdict=Verdict.DEAD, detail="\udfff", reason="x\ud800"
    )
    await s.store.write(
        job, [harvest(*[item(f"{n}{text}") for n, text in enumerate(strange)], attempt=attempt)]
    )
    equal(len(await s.items(job)), 5, "strange text is stored")
    rows = await s.store.attempts(job, "u\ud800")
    equal(len(rows), 1, "a row is found under the URL that it was written with")
    for row in rows:  # an implementation in memory may keep it
        holds(row.detail in ("\udfff", "\ufffd"), "half a pair becomes U+FFFD")
    hidden = item("\\u0000", rb'{"nul":"a\u0000b","not":"\\u0000","pair":"\ud83d\ude00"}')
    cut = Attempt(at=2, url="http://a/nul", fingerprint=2, verdict=Verdict.DEAD, detail="a\x00b")
    await s.store.write(job, [harvest(hidden, item("last"), attempt=cut, number=2)])
    *_, stored, last = await s.items(job)
    equal((stored.key, last.key), ("\\u0000", "last"), "what only looks strange is stored as it is")
    holds(stored.data["nul"] in ("a\x00b", "a\ufffdb"), "NUL is kept or replaced")
    equal((stored.data["not"], stored.data["pair"]), ("\\u0000", "\U0001f600"), "and nothing else is")
    (kept,) = await s.store.attempts(job, "http://a/nul")
    holds(kept.detail in ("a\x00b", "a\ufffdb"), "in the ledger, too")


@_checked
async def jobs_have_ids_of_their_own(s: StoreSubject) -> None:
    """Safe as file names, found by id or by name."""
    first, second = await s.book.create("shop", "shop.py"), await s.book.create("shop", "shop.py")
    equal((first.id, second.id), ("shop-1", "shop-2"), "named and numbered")
    holds(first.key != second.key and len(first.key) >= 16, "keys are random")
    wild = await s.book.create("../../etc/pass wd\x00", "x")
    holds(not set(wild.id) & set("/\\ \x00") and not wild.id.startswith("."), "an id is a safe file name")
    equal(await s.book.get("shop-1"), first, "by id")
    equal(await s.book.get("shop"), second, "the latest of a name")
    equal(await s.book.get("nothing"), None, "or none")
    equal([job.id for job in await s.book.list()], [wild.id, "shop-2", "shop-1"], "newest first")
    await s.book.update(replace(second, state=JobState.FINISHED, finished_at=1.0))
    await s.book.update(replace(wild, state=JobState.PAUSED))
    unfinished = [job.id for job in await s.book.list(unfinished=True)]
    equal(unfinished, [wild.id, "shop-1"], "those that run or are paused")


@_checked
async def jobs_made_at_once_are_told_apart(s: StoreSubject) -> None:
    """However many, of one name."""
    made = await asyncio.gather(*[s.book.create("shop", "") for _ in range(10)])
    equal({job.id for job in made}, {f"shop-{n}" for n in range(1, 11)}, "each has an id of its own")
    equal(len({job.key for job in made}), 10, "and a key")


@_checked
async def plans_are_kept(s: StoreSubject) -> None:
    """Byte for byte, whatever is updated."""
    plan = bytes(range(256))
    job = await s.book.create("shop", "shop.py", plan)
    equal(job.plan, plan, "a job is made with its plan")
    await s.book.update(replace(job, state=JobState.PAUSED, plan=b"other"))
    equal(await s.book.get(job.id), replace(job, state=JobState.PAUSED), "and keeps it")
    equal([found.plan for found in await s.book.list()], [plan], "in a listing, too")
    equal((await s.book.create("shop", "shop.py")).plan, b"", "it may have none")


@_checked
async def jobs_can_be_updated(s: StoreSubject) -> None:
    """State, end and reason; nothing else."""
    job = await s.book.create("shop", "shop.py")
    done = replace(job, state=JobState.FINISHED, finished_at=9.0, finish_reason="finished")
    await s.book.update(replace(done, target="other"))
    equal(await s.book.get(job.id), done, "state, end and reason are stored")


@_checked
async def stale_updates_are_refused(s: StoreSubject) -> None:
    """An update for what a job no longer is changes nothing, and says so."""
    job = await s.book.create("shop", "shop.py")
    done = replace(job, state=JobState.FINISHED, finished_at=9.25, finish_reason="finished")
    paused = replace(job, state=JobState.PAUSED, finish_reason="paused")
    equal(await s.book.update(paused, expected=job), True, "as expected")
    equal(await s.book.update(done, expected=job), False, "another state")
    equal(await s.book.get(job.id), paused, "nothing was stored")
    equal(await s.book.update(done, expected=paused), True, "what it is now")
    equal(await s.book.update(job, expected=replace(done, finished_at=None)), False, "it has ended since")
    equal(await s.book.update(job, expected=replace(done, finished_at=8.0)), False, "or at another time")
    equal(await s.book.update(job, expected=done), True, "to the digit")
    equal(await s.book.update(paused), True, "whatever it is")
    equal(await s.book.update(replace(job, id="shop-9")), False, "no such job")


@_checked
async def shared_values_expire(s: StoreSubject) -> None:
    """At their time; a space does not see another's."""
    await s.shared.put("robots", "http://a", b"\x00body", 10)
    equal(await s.shared.get("robots", "http://a"), b"\x00body", "a value is shared")
    equal(await s.shared.get("ladder", "http://a"), None, "in its space")
    s.clock.advance(9)
    await s.shared.put("robots", "http://b", b"", 10)
    equal(await s.shared.get("robots", "http://a"), b"\x00body", "until it expires")
    s.clock.advance(1)
    equal(await s.shared.get("robots", "http://a"), None, "and not longer")
    equal(await s.shared.get("robots", "http://b"), b"", "an empty value is a value")


@_checked
async def one_claim_wins(s: StoreSubject) -> None:
    """Until it is fulfilled, or lapses."""
    holds(await s.shared.claim("robots", "k", 5), "the first may make it")
    holds(not await s.shared.claim("robots", "k", 5), "the second may not")
    s.clock.advance(5)
    holds(await s.shared.claim("robots", "k", 5), "a claim lapses")
    await s.shared.put("robots", "k", b"v", 100)
    equal(await s.shared.get("robots", "k"), b"v", "a put is seen")
    holds(await s.shared.claim("robots", "k", 5), "a put ends the claim")
    equal(await s.shared.get("robots", "k"), b"v", "a claim leaves the value")


@_checked
async def a_value_is_swapped_only_for_the_expected_one(s: StoreSubject) -> None:
    """So that of all who change a value at the same time nobody undoes what another has done."""
    holds(not await s.shared.swap("cookies", "k", b"other", b"v", 9), "a value was expected, there is none")
    equal(await s.shared.get("cookies", "k"), None, "then nothing is set")
    won = await asyncio.gather(*(s.shared.swap("cookies", "k", None, b"%d" % n, 9) for n in range(5)))
    equal(sum(won), 1, "one of several at the same time sets it")
    first = b"%d" % won.index(True)
    equal(await s.shared.get("cookies", "k"), first, "and what it set is there")
    holds(await s.shared.swap("cookies", "k", first, b"", 9), "who knows the value may replace it")
    holds(not await s.shared.swap("cookies", "k", None, b"new", 9), "an empty value is a value")
    holds(not await s.shared.swap("cookies", "k", first, b"new", 9), "a former value is not the present one")
    s.clock.advance(9)
    holds(await s.shared.swap("cookies", "k", None, b"new", 9), "what has expired is not there")
    equal(await s.shared.get("cookies", "k"), b"new", "a new one is")
