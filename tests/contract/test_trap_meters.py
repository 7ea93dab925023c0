"""What several workers count of traps is one count, in every kind of shared state, and outlives them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.core.errors import StorageError
from gossamer.core.requests import Entry, Request
from gossamer.core.results import ItemRecord, PageReading
from gossamer.engine import trap_counts, trap_meter
from gossamer.engine.trap_counts import TrapCountStore, read_counts
from gossamer.engine.trap_meter import ReadPage, TrapMeter
from gossamer.policy.content_memory import ContentMemory
from gossamer.policy.trap_budgets import MANY_QUERIES, TrapBudgetRules, TrapCounts
from gossamer.ports.shared_state import SharedState
from gossamer.shared.memory import MemorySharedState
from gossamer.testing.clock import ManualClock
from kit.shared_states import KINDS, GatedState, find_states

RULES = TrapBudgetRules(max_worthless=100)
PATTERN = "http://h.test/a/#?"
VIA = "http://h.test/"


class Workers:
    """Workers of one job on the states that they share; each has its own memory."""

    def __init__(self, states: tuple[SharedState, ...], clock: ManualClock) -> None:
        self.states = states
        self.clock = clock

    def start(self, number: int = 0, rules: TrapBudgetRules = RULES) -> TrapMeter:
        store = TrapCountStore(self.states[number % len(self.states)], "job-1")
        return TrapMeter(store, self.clock, rules, ContentMemory())


@pytest.fixture(params=KINDS)
def open_workers(request: pytest.FixtureRequest, tmp_path: Any) -> Callable[[], Any]:
    open_states = find_states(request, tmp_path)

    @asynccontextmanager
    async def opened() -> AsyncIterator[Workers]:
        clock = ManualClock()
        async with open_states(clock) as states:
            yield Workers(states, clock)

    return opened


def visit(
    meter: TrapMeter,
    url: str,
    body: bytes = b"same",
    items: tuple[ItemRecord, ...] = (),
    *,
    via: str | None = None,
    leads_to: str | None = None,
    is_probe: bool = False,
) -> None:
    """A page that was found on one of its own pattern, and leads to another such page; or as it is said."""
    children = map(Request, (url if leads_to is None else leads_to).split())
    entries = [Entry(request=child, fingerprint=0, host="") for child in children]
    page = ReadPage(url, body, len(body), url if via is None else via, items, entries, is_probe=is_probe)
    meter.observe_page(page._replace(read_text=lambda: PageReading("", body.decode())))


async def test_workers_spend_one_budget_and_all_hear_that_it_is_spent(open_workers: Any) -> None:
    async with open_workers() as workers:
        meters = [workers.start(number) for number in range(4)]
        idle = workers.start()
        pages = 0
        while not all(meter.refuse_url("http://h.test/a/1", VIA) for meter in (*meters, idle)):
            for meter in meters:
                visit(meter, f"http://h.test/a/{pages}")
                pages += 1
            workers.clock.advance(0.5)
            for meter in (*meters, idle):
                await meter.save_if_due()
            assert pages < 200
        # The first two pages of each worker are new to it; each may hold back a batch, and has one in flight.
        assert 50 <= pages <= 50 + len(meters) * (2 + RULES.batch + 1)
        found = idle.refuse_url("http://h.test/a/1", VIA)
        assert found is not None
        assert (found.name, found.counts.rule) == (PATTERN, "trap_same_content")
        assert idle.refuse_url("http://h.test/b/1", VIA) is None


async def test_what_workers_spend_all_of_them_know_before_a_second_has_passed(open_workers: Any) -> None:
    async with open_workers() as workers:
        meters = [workers.start(number) for number in range(4)]
        pages = 0
        while not all(meter.refuse_url("http://h.test/a/1", VIA) for meter in meters):
            for meter in meters:
                visit(meter, f"http://h.test/a/{pages}")
                pages += 1
                await meter.save_if_due()
            assert pages <= 50 + len(meters) * (2 + RULES.batch + 1)


async def test_of_many_mirrors_each_has_a_budget_of_its_own(open_workers: Any) -> None:
    """A bug it would catch: the youngest, met first at some paths, pays for what all others have of it."""
    async with open_workers() as workers:
        meters = [workers.start(number, TrapBudgetRules()) for number in range(2)]
        visits = [(f"http://{number}.test", meters[number % 2]) for number in range(30)]
        for path in range(40):
            for host, meter in visits if path == 0 else reversed(visits):
                visit(meter, f"{host}/{path}", b"page %d" % path)
                workers.clock.advance(0.1)
                await meter.save_if_due()
        for meter in meters:
            await meter.save()
            assert [host for host, _ in visits if meter.refuse_url(f"{host}/new", f"{host}/")] == []
        known = await read_counts(workers.states[0], "job-1")
        foreign = [known[f"{host}/**"].foreign for host, _ in visits]
        assert max(foreign) >= 4, "they are mirrors, which have cost little"


async def test_a_host_that_a_person_named_is_no_mirror_for_any_number_of_workers(open_workers: Any) -> None:
    """A bug it would catch: workers add up that it was named, and the differences they save cancel it."""
    async with open_workers() as workers:
        meters = [workers.start(number) for number in range(3)]
        for turn in range(6):
            for number, meter in enumerate(meters):
                visit(meter, f"http://h.test/{turn}/{number}", b"page %d %d" % (turn, number), via="")
                await meter.save()
                known = await read_counts(workers.states[0], "job-1")
                assert known["http://h.test/**"].seeds == 1


async def test_good_pages_cost_no_round_trip() -> None:
    clock, calls = ManualClock(), 0

    class Counted(MemorySharedState):
        async def update(self, *args: Any) -> bytes:
            nonlocal calls
            calls += 1
            return await super().update(*args)

    meter = Workers((Counted(clock),), clock).start()
    for number in range(500):
        item = ItemRecord(type="item", key=str(number), data=b"{}", hash=0)
        visit(meter, f"http://h.test/a/{number}", b"page %d" % number, (item,))
        await meter.save_if_due()
    assert calls == 0
    clock.advance(1)
    await meter.save_if_due()
    assert calls == 3, "pattern, family and host"


async def test_the_count_is_kept_over_restarts(open_workers: Any) -> None:
    async with open_workers() as workers:
        for run in range(4):
            meter = workers.start(run)
            await meter.load()
            assert meter.refuse_url("http://h.test/a/1", VIA) is None
            for number in range(16):
                visit(meter, f"http://h.test/a/{run}{number:02}")
            await meter.save()
        meter = workers.start()
        await meter.load()
        assert meter.refuse_url("http://h.test/a/1", VIA) is not None
        assert meter.refuse_url("http://h.test/a/1", "") is None, "a seed is taken whatever is known"
        await meter.save()
        known = await read_counts(workers.states[0], "job-1")
        copies = 64 - 4 * 2  # a run does not look at its first page of a size, and compares with its second
        assert (known[PATTERN].pages, known[PATTERN].copies, known[PATTERN].refused) == (64, copies, 1)
        assert known[PATTERN].size_bytes == 64 * 4
        assert await read_counts(workers.states[0], "job-2") == {}


async def test_a_closed_group_opens_again_for_all_workers_when_a_probe_is_worth_it(open_workers: Any) -> None:
    async with open_workers() as workers:
        one, other = workers.start(0), workers.start(1)
        for number in range(60):
            visit(one, f"http://h.test/a/{number}", via="http://h.test/a/0", leads_to="http://h.test/a/x1")
        for number in range(3):
            visit(other, f"http://h.test/a/9{number}", via=VIA)
        for meter in (one, other):
            workers.clock.advance(1)
            await meter.save_if_due()
            assert meter.refuse_url("http://h.test/a/1", VIA) is not None
        urls = [f"http://h.test/a/{number}" for number in range(100, 200)]
        probes = [url for url in urls if other.refuse_url(url, VIA) is None]
        assert probes == ["http://h.test/a/114", "http://h.test/a/163"]
        assert other.refuse_url(probes[0], VIA) is None, "it is fetched, and tried again"
        visit(other, probes[0], via=VIA)
        assert other.refuse_url("http://h.test/a/5", VIA) is not None
        item = ItemRecord(type="item", key="1", data=b"{}", hash=0)
        visit(other, probes[0], b"new", (item,), via=VIA)
        assert other.refuse_url("http://h.test/a/5", VIA) is None
        for meter in (other, one):
            workers.clock.advance(1)
            await meter.save_if_due()
        assert one.refuse_url("http://h.test/a/5", VIA) is None
        later = workers.start()
        await later.load()
        assert not later.has_traps
        for number in range(200, 260):
            visit(one, f"http://h.test/a/{number}", via="http://h.test/a/0", leads_to="http://h.test/a/x1")
        for meter in (one, other):
            workers.clock.advance(1)
            await meter.save_if_due()
        assert other.refuse_url("http://h.test/a/5", VIA) is not None, "it can be closed again"


async def test_a_probe_opens_a_group_of_which_its_worker_has_not_heard_that_it_is_closed(
    open_workers: Any,
) -> None:
    async with open_workers() as workers:
        one, idle = workers.start(0), workers.start(1)
        for number in range(60):
            visit(one, f"http://h.test/a/{number}", via="http://h.test/a/0", leads_to="http://h.test/a/x1")
        workers.clock.advance(1)
        await one.save_if_due()
        assert (one.has_traps, idle.has_traps) == (True, False)
        item = ItemRecord(type="item", key="1", data=b"{}", hash=0)
        visit(idle, "http://h.test/a/114", b"new", (item,), via=VIA, is_probe=True)
        for meter in (idle, idle, one):
            workers.clock.advance(1)
            await meter.save_if_due()
        assert (one.has_traps, idle.has_traps) == (False, False)


async def test_many_workers_that_probe_at_once_do_not_put_off_later_probes(open_workers: Any) -> None:
    """A bug it would catch: each of them counts a step, and the next probe comes after a million URLs."""
    async with open_workers() as workers:
        meters = [workers.start(number) for number in range(6)]
        for number in range(60):
            visit(
                meters[0], f"http://h.test/a/{number}", via="http://h.test/a/0", leads_to="http://h.test/a/x1"
            )
        for _ in range(2):
            for meter in meters:
                workers.clock.advance(1)
                await meter.save_if_due()
        urls = [f"http://h.test/a/{number}" for number in range(1_000)]
        for place, meter in enumerate(meters):  # none of them knows yet what the others have refused
            own = urls[20 * place : 20 * place + 20]
            assert [meter.refuse_url(url, VIA) for url in own].count(None) == 1
        for meter in meters:
            await meter.save()
        later = workers.start()
        await later.load()
        assert [later.refuse_url(url, VIA) for url in urls[200:400]].count(None) == 2


async def test_steps_that_an_older_version_added_up_do_not_end_the_probes(open_workers: Any) -> None:
    """A bug it would catch: a group that was closed then is not probed before a million more are refused."""
    async with open_workers() as workers:
        store = TrapCountStore(workers.states[0], "job-1")
        old = TrapCounts(pages=90, spent=90, rule="trap_same_content", refused=90, probes=6)
        await store.add_counts({PATTERN: old})
        meter = workers.start()
        await meter.load()
        assert [meter.refuse_url(f"http://h.test/a/{number}", VIA) for number in range(300)].count(None) == 1
        await meter.save()
        assert (await store.read_counts())[PATTERN].probes == 3, "of 16, 64 and 256 refused URLs"
        later = workers.start()
        await later.load()
        assert later.refuse_url("http://h.test/a/1", VIA) is not None


async def test_a_finite_set_and_pages_without_links_never_close_a_group() -> None:
    meter = Workers((MemorySharedState(ManualClock()),), ManualClock()).start()
    for number in range(1_000):
        visit(meter, f"http://h.test/a/{number}", via=VIA, leads_to=f"http://h.test/a/1{number}")
        visit(meter, f"http://h.test/b/{number}", leads_to="")
    assert not meter.has_traps


async def test_what_pages_lead_to_counts_for_them() -> None:
    """Lists without a word of their own, each of which leads to one more list and to one good page."""
    meter = Workers((MemorySharedState(ManualClock()),), ManualClock()).start()
    for number in range(1_000):
        at = f"http://h.test/a/list/{number}"
        visit(meter, at, leads_to=f"http://h.test/a/list/{number + 1}")
        item = ItemRecord(type="item", key=str(number), data=b"{}", hash=0)
        visit(meter, f"http://h.test/a/item/{number}", b"", (item,), via=at, leads_to="")
    assert not meter.has_traps


async def test_pages_that_lead_to_good_pages_elsewhere_do_not_pay_for_others() -> None:
    """Such a page does not spend, so nothing is given back for it; else all others would be free."""
    meter = Workers((MemorySharedState(ManualClock()),), ManualClock()).start()
    via = "http://h.test/search/0"
    for number in range(60):
        useful, useless = (f"http://h.test/search/{number}{turn}" for turn in (1, 2))
        product = f"http://h.test/product/{number}"
        visit(meter, useful, via=via, leads_to=f"{useless} {product}")
        item = ItemRecord(type="item", key=str(number), data=b"{}", hash=0)
        visit(meter, product, b"", (item,), via=useful, leads_to="")
        visit(meter, useless, via=via, leads_to=f"http://h.test/search/{number}3")
    found = meter.refuse_url(f"{via}9", via)
    assert found is not None
    assert 50 <= found.counts.spent < 60


async def test_lists_of_which_few_products_are_to_be_had_stay_open() -> None:
    """Lists without a word of their own lead to one product that is there, and to many that are sold out."""
    meter = Workers((MemorySharedState(ManualClock()),), ManualClock()).start()
    for number in range(500):
        at, product = f"http://h.test/list/{number}", f"http://h.test/product/{number}"
        visit(meter, at, leads_to=f"http://h.test/list/{number + 1} {product}0")
        for turn in range(1, 9):
            visit(meter, f"{product}{turn}", b"sold out", via=at, leads_to="")
        item = ItemRecord(type="item", key=str(number), data=b"{}", hash=0)
        visit(meter, f"{product}0", b"", (item,), via=at, leads_to="")
    assert not meter.has_traps


async def test_the_hosts_that_a_person_names_are_never_mirrors() -> None:
    meter = Workers((MemorySharedState(ManualClock()),), ManualClock()).start()
    for page in range(200):
        for port in range(80, 100):
            url = f"http://h.test:{port}/"
            visit(meter, f"{url}{page or ''}", b"page %d" % page, via=url if page else "", leads_to="")
    assert [port for port in range(80, 100) if meter.refuse_url(f"http://h.test:{port}/x", VIA)] == []


async def test_a_set_of_parameters_that_many_workers_meet_is_one(open_workers: Any) -> None:
    """Else the last pages of an archive, which lead nowhere new, would be combinations without an end."""
    async with open_workers() as workers:
        meters = [workers.start(number) for number in range(2 * MANY_QUERIES)]
        for number in range(20):
            for place, meter in enumerate(meters):
                text = " ".join(f"word{number}{place}{word}" for word in range(40))
                visit(meter, f"http://h.test/article?id={number}{place}", text.encode())
                await meter.save_if_due()
            workers.clock.advance(1)
        assert not any(meter.has_traps for meter in meters)
        later = workers.start()
        await later.load()
        for name in "abcdefghijklmnopqrst":
            visit(later, f"http://h.test/article?id=1&{name}=1", b"same")
        counts = [await read_counts(workers.states[0], "job-1")]
        await later.save()
        counts += [await read_counts(workers.states[0], "job-1")]
        family = "http://h.test/article?*"
        assert [known[family].has_many_queries for known in counts] == [False, True]


async def test_who_has_made_up_for_what_it_spent_does_not_narrow_the_budget_of_others() -> None:
    clock = ManualClock()
    meter = Workers((MemorySharedState(clock),), clock).start()
    item = ItemRecord(type="item", key="", data=b"{}", hash=0)
    for name in "abc":
        for number in range(22):
            visit(meter, f"http://h.test/{name}/p{number}/x", name.encode() * 9)
        for number in range(5):
            visit(meter, f"http://h.test/{name}/p9{number}/x", b"", (replace(item, key=f"{name}{number}"),))
    for number in range(40):
        visit(meter, f"http://h.test/d/p{number}/x", b"d")
    assert not meter.has_traps
    for number in range(40, 60):
        visit(meter, f"http://h.test/d/p{number}/x", b"d")
    assert meter.has_traps


async def test_small_patterns_are_not_saved_while_a_worker_works(open_workers: Any) -> None:
    async with open_workers() as workers:
        meter = workers.start(rules=TrapBudgetRules())
        for number in range(9):
            visit(meter, f"http://h{number}.test/")
        workers.clock.advance(5)
        await meter.save_if_due()
        assert await read_counts(workers.states[0], "job-1") == {}
        await meter.save()
        assert len(await read_counts(workers.states[0], "job-1")) == 27


async def test_limits_of_patterns_and_domains_hold_for_all_workers(open_workers: Any) -> None:
    rules = TrapBudgetRules(max_worthless=None, max_per_pattern=20, max_per_domain=60)
    async with open_workers() as workers:
        one, other = workers.start(0, rules), workers.start(1, rules)
        for number in range(10):
            visit(one, f"http://a.h.test/a/{number}", b"%d" % number)
            visit(other, f"http://a.h.test/a/1{number}", b"1%d" % number)
        workers.clock.advance(1)
        for meter in (one, other, one):
            await meter.save_if_due()
            workers.clock.advance(1)
        for meter in (one, other):
            found = meter.refuse_url("http://a.h.test/a/5", VIA)
            assert found is not None
            assert found.counts.rule == "trap_pattern"
            assert meter.refuse_url("http://a.h.test/b/5", VIA) is None
        for number in range(40):
            visit(one, f"http://b{number}.h.test/")
        await one.save()
        found = one.refuse_url("http://new.h.test/", VIA)
        assert found is not None
        assert (found.name, found.counts.rule) == ("*.h.test", "trap_domain")
        assert one.refuse_url("http://new.i.test/", VIA) is None


async def test_a_mirror_is_known_though_each_worker_has_only_seen_one_of_the_hosts(open_workers: Any) -> None:
    async with open_workers() as workers:
        one, other = workers.start(0), workers.start(1)
        for number in range(400):
            page = b"<p>page %d" % number
            visit(one, f"http://h.test/p{number}/x", page)
        visit(one, "http://third.test/")
        await one.save()
        workers.clock.advance(10)
        for number in range(400):
            visit(other, f"http://mirror.test/p{number}/x", b"<p>page %d" % number)
        visit(other, "http://fourth.test/")
        await other.save()
        found = other.refuse_url("http://mirror.test/other/page", VIA)
        assert found is not None
        assert (found.name, found.counts.rule) == (
            "http://mirror.test/**",
            "trap_mirror",
        )
        assert other.refuse_url("http://h.test/other/page", VIA) is None


async def test_a_host_that_one_worker_knows_to_be_named_is_opened_again_where_another_took_it_for_a_mirror(
    open_workers: Any,
) -> None:
    async with open_workers() as workers:
        one, other = workers.start(0), workers.start(1)
        for number in range(400):
            page = b"<p>page %d" % number
            visit(other, f"http://h.test/p{number}/x", page)
            visit(other, f"http://named.test/p{number}/x", page)
        await other.save()
        assert other.refuse_url("http://named.test/other/page", VIA) is not None
        one.note_seed("http://named.test/")
        for meter in (one, one, other):  # it is told to the others with what is saved next
            workers.clock.advance(2)
            await meter.save_if_due()
            assert meter.refuse_url("http://named.test/other/page", VIA) is None
        visit(other, "http://h.test/p1000/x", b"last")
        visit(other, "http://named.test/p1000/x", b"last")
        await other.save()
        assert other.refuse_url("http://named.test/other/page", VIA) is None
        assert workers.start(2).refuse_url("http://named.test/other/page", VIA) is None


async def test_what_a_worker_has_counted_stays_when_it_hears_that_a_group_is_closed(
    open_workers: Any,
) -> None:
    async with open_workers() as workers:
        one, other = workers.start(0), workers.start(1)
        for _ in range(3):
            one.note_refusal("http://h.test/a/7", "trap_pattern")
        for number in range(100):
            visit(other, f"http://h.test/a/{number}")
        await other.save()
        for number in range(100):
            visit(one, f"http://h.test/b/{number}")
        await one.save_if_due()  # what is urgent: it closes another group, and hears of this one
        assert one.refuse_url("http://h.test/a/7", VIA) is not None
        await one.save()
        assert (await read_counts(workers.states[0], "job-1"))[PATTERN].refused == 4


async def test_sub_domains_of_any_name_with_the_same_pages_are_one_trap() -> None:
    clock = ManualClock()
    meter = Workers((MemorySharedState(clock),), clock).start()
    for number in range(20):
        clock.advance(1)
        for page in range(40):
            visit(meter, f"http://n{number}.h.test/{page}/page", b"page %d" % page)
    found = meter.refuse_url("http://new.h.test/1/page", VIA)
    assert found is not None
    assert (found.name, found.counts.rule) == ("*.h.test", "trap_mirror")
    assert meter.refuse_url("http://new.i.test/1/page", VIA) is None
    assert meter.refuse_url("http://n0.h.test/99/other", VIA) is None, "the first of them has its own pages"


async def test_what_could_not_be_saved_is_saved_later() -> None:
    clock = ManualClock()

    class Away(MemorySharedState):
        is_away = True

        async def update(self, *args: Any) -> bytes:
            if self.is_away:
                raise StorageError("away")
            return await super().update(*args)

    shared = Away(clock)
    meter = Workers((shared,), clock).start()
    for number in range(50):
        visit(meter, f"http://h.test/a/{number}")
    with pytest.raises(StorageError):
        await meter.save()
    visit(meter, "http://h.test/a/50")
    shared.is_away = False
    await meter.save()
    assert (await read_counts(shared, "job-1"))[PATTERN].pages == 51


async def test_a_save_that_is_broken_off_counts_once() -> None:
    clock = ManualClock()
    shared = GatedState(clock)
    meter = Workers((shared,), clock).start()
    for number in range(50):
        visit(meter, f"http://h.test/a/{number}")
    shared.close()
    task = asyncio.create_task(meter.save())
    await shared.is_reached.wait()
    task.cancel()
    shared.is_open.set()
    await asyncio.gather(task, return_exceptions=True)
    await meter.save()
    assert (await read_counts(shared, "job-1"))[PATTERN].pages == 50


async def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trap_meter, "MAX_GROUPS", 100)
    monkeypatch.setattr(trap_counts, "MAX_GROUPS", 5)
    clock = ManualClock()
    shared = MemorySharedState(clock)
    meter = Workers((shared,), clock).start()
    for number in range(120):
        visit(meter, f"http://h.test/a/{number}")
    for number in range(1_000):
        visit(meter, f"http://h{number}.test/", b"%d" % number)
    assert len(meter._groups) <= 103
    assert meter.refuse_url("http://h.test/a/7", VIA) is not None
    await meter.save()
    known = await read_counts(shared, "job-1")
    assert len(known) <= 5 * trap_counts.SHARDS
    assert PATTERN in known


async def test_what_another_version_wrote_counts_as_nothing() -> None:
    clock = ManualClock()
    shared = MemorySharedState(clock)
    for shard in range(trap_counts.SHARDS):
        await shared.put(trap_counts.SPACE, f"job-1 {shard}", b"\xc1", 100)
    assert await read_counts(shared, "job-1") == {}
    store = TrapCountStore(shared, "job-1")
    assert await store.add_counts({PATTERN: TrapCounts(pages=2)}) == {PATTERN: TrapCounts(pages=2)}
