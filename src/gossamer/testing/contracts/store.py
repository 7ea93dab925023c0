"""The contract of a store, its job book and its shared state, as named checks.

Use: ``await check_store(make)``, or one by one from ``STORE_CHECKS``; ``make(clock)`` is an async context
manager that gives a :class:`StoreSubject` with nothing in it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from msgspec.structs import replace

from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.frontier_world import equal, holds
from gossamer.words.lifecycle import JobState
from gossamer.words.model import (
    Attempt,
    Entry,
    Harvest,
    ItemRecord,
    Job,
    Lease,
    Outcome,
    PageRecord,
    Request,
    StoredItem,
    Verdict,
)
from gossamer.words.ports import JobBook, SharedState, Store


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
    other = await s.store.tally(await s.book.create("shop", ""))
    equal((other.pages, other.by_status), (0, {}), "each job has its own")


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
        detail="line\nline \u00e9 \x00 end",
        attempt=3,
        status=206,
        size_bytes=2**40,
        elapsed_ms=1.25,
        worker="w",
        rung="http",
        depth=2,
        via="http://a/",
    )
    await s.store.write(job, [harvest(number=1), harvest(attempt=full), harvest(number=3)])
    found = await s.store.attempts(job)
    equal([x.url for x in found], ["http://a/3", "http://a/x", "http://a/1"], "newest first")
    equal(await s.store.attempts(job, "http://a/x"), [full], "whole, by URL")
    equal(len(await s.store.attempts(job, limit=2)), 2, "up to a limit")


@_checked
async def strange_text_is_stored(s: StoreSubject) -> None:
    """NUL, lone surrogates, non-characters, SQL; and it loses nobody else's item."""
    job = await s.book.create("shop", "")
    strange = ["\x00", "\ud800", "\ufffe", "'); DROP TABLE item; --", "\U0001f577"]
    attempt = Attempt(
        at=1, url="u\ud800", fingerprint=1, verdict=Verdict.DEAD, detail="\udfff", reason="x\ud800"
    )
    await s.store.write(job, [harvest(*[item(f"k{text}") for text in strange], attempt=attempt)])
    equal(len(await s.items(job)), 5, "strange text is stored")


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


@_checked
async def jobs_can_be_updated(s: StoreSubject) -> None:
    """State, end and reason; nothing else."""
    job = await s.book.create("shop", "shop.py")
    done = replace(job, state=JobState.FINISHED, finished_at=9.0, finish_reason="finished")
    await s.book.update(replace(done, target="other"))
    equal(await s.book.get(job.id), done, "state, end and reason are stored")


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
