"""Budgets of URL patterns: what all workers of a job spend of them together, and what that refuses."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gossamer.core.errors import Fault, FetchError, StorageError
from gossamer.core.files import Saving
from gossamer.core.requests import LAST, Entry, Lease, Request
from gossamer.core.results import ItemRecord, Outcome, Verdict, VisitResult
from gossamer.core.routes import DIRECT, Detour
from gossamer.engine.fixed_router import FixedRouter
from gossamer.fetch.routing.budgeted import BudgetCommitter, BudgetRouter
from gossamer.fetch.routing.spending import SpendingMeter, read_spending, read_statuses
from gossamer.policy.budgets import HOLD_S, BudgetLimits, BudgetRules, OverrunRule, PatternBudget, Spending
from gossamer.ports.shared_state import SharedState
from gossamer.shared.memory import MemorySharedState
from gossamer.testing.clock import ManualClock
from kit.shared_states import KINDS, GatedState, find_states

HOST = "shop.example"
ITEM = ItemRecord(type="item", key="1", data=b"{}", hash=1)


def rules(over: OverrunRule = OverrunRule.STOP, **limits: Any) -> BudgetRules:
    budget = PatternBudget(name="products", pattern="/product/", limits=BudgetLimits(**limits), over=over)
    return BudgetRules(patterns=(budget,))


class Committed:
    """A committer that keeps what it is given; it may be out of order."""

    def __init__(self) -> None:
        self.results: list[VisitResult] = []
        self.is_away = False

    async def commit(self, results: Any) -> list[bool]:
        if self.is_away:
            raise StorageError("away")
        self.results += results
        return [True] * len(results)


class OneWorker:
    """A worker within budgets, whose visits end when the test says so."""

    def __init__(self, shared: SharedState, clock: ManualClock, budgets: BudgetRules, name: str) -> None:
        self.shared = shared
        self.meter = SpendingMeter(shared, clock, "job", budgets, name)
        self.router = BudgetRouter(FixedRouter(), self.meter)
        self.stored = Committed()
        self.committer = BudgetCommitter(self.stored, self.meter)
        self.under_way: list[Request] = []
        self.number = 0

    async def begin(self, path: str = "product", *, depth: int = 0, priority: int = 0) -> str:
        """``begun``, ``waits``, or why the request is skipped."""
        self.number += 1
        request = Request(f"http://{HOST}/{path}/{self.number}", depth=depth, priority=priority)
        try:
            route = await self.router.choose_route(request, HOST)
        except FetchError as error:
            return error.detail if error.fault is Fault.BUDGET else error.fault
        if isinstance(route, Detour):
            assert route.is_last or route.wait_s
            return "goes last" if route.is_last else "waits"
        self.under_way.append(request)
        return "begun"

    async def end(self, verdict: Verdict = Verdict.SUCCESS, *, items: int = 0) -> None:
        """The oldest visit ends, with a page if it is a success."""
        await self.committer.commit([make_result(self.under_way.pop(0), verdict, items)])

    async def give_back(self) -> None:
        """The oldest visit ends before anybody was asked."""
        request = self.under_way.pop(0)
        await self.router.release_route(request, await FixedRouter().choose_route(request, HOST), HOST)


def make_result(request: Request, verdict: Verdict, items: int = 0) -> VisitResult:
    entry = Entry(request=request, fingerprint=1, host=HOST)
    lease = Lease(entry=entry, token=id(request), granted_at=0, start_by=0, deadline=0, attempt=1)
    outcome = Outcome(lease=lease, verdict=verdict, is_page=verdict is Verdict.SUCCESS)
    return VisitResult(outcome=outcome, items=(ITEM,) * items)


@pytest.fixture(params=KINDS)
def open_states(request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    return find_states(request, tmp_path)


@pytest.mark.parametrize("limit", [7, 230])
async def test_workers_never_fetch_more_pages_of_a_pattern_than_its_budget_has(
    open_states: Any, limit: int
) -> None:
    clock = ManualClock()
    async with open_states(clock) as states:
        workers = [OneWorker(states[n % 2], clock, rules(pages=limit), f"w{n}") for n in range(3)]
        for turn in range(10 * limit):
            for worker in workers:
                await worker.begin()
            clock.advance(0.01)
            for worker in workers:
                if len(worker.under_way) >= (2 if turn % 3 else 1):
                    await worker.end(Verdict.DEAD if worker.number % 3 == 0 else Verdict.SUCCESS)
            under_way = sum(len(worker.under_way) for worker in workers)
            pages = sum(one.outcome.is_page for worker in workers for one in worker.stored.results)
            assert pages + under_way <= limit
            if pages == limit:
                break
        assert pages == limit, "and what failed is no page"
        clock.advance(1)
        for worker in workers:
            await worker.begin("other")
        for worker in workers:
            assert await worker.begin() == "the budget products is spent: pages"
            assert await worker.begin("other") == "begun", "nothing else is bound by it"
            await worker.router.close()
        again = OneWorker(states[0], clock, rules(pages=limit), "later")
        assert await again.begin() == "the budget products is spent: pages", "nor has the next run more"
        larger = OneWorker(states[0], clock, rules(pages=limit + 1), "larger")
        assert [await larger.begin(), await larger.begin()] == ["begun", "waits"]


async def test_the_last_page_waits_for_one_that_may_come_to_nothing(open_states: Any) -> None:
    clock = ManualClock()
    async with open_states(clock) as (shared, other):
        one = OneWorker(shared, clock, rules(pages=2), "one")
        two = OneWorker(other, clock, rules(pages=2), "two")
        assert [await one.begin(), await one.begin(), await two.begin()] == ["begun", "begun", "waits"]
        await one.end(Verdict.SKIPPED)
        assert [await two.begin(), await one.begin()] == ["begun", "waits"]
        await one.give_back()
        assert await one.begin("other") == "begun"
        assert await two.begin() == "begun"


async def test_what_a_killed_worker_had_claimed_is_free_after_a_while(open_states: Any) -> None:
    clock = ManualClock()
    async with open_states(clock) as (shared, other):
        killed = OneWorker(shared, clock, rules(pages=1), "killed")
        assert await killed.begin() == "begun"
        left = OneWorker(other, clock, rules(pages=1), "left")
        assert await left.begin() == "waits"
        clock.advance(HOLD_S + 1)
        assert await left.begin() == "begun"


async def test_what_an_idle_worker_has_counted_is_known_to_others() -> None:
    clock = ManualClock()
    shared = MemorySharedState(clock)
    idle = OneWorker(shared, clock, rules(pages=200), "idle")
    await idle.begin()
    await idle.end()
    spent = await read_spending(shared, "job", "*products")
    assert (spent.pages, spent.holds) == (1, {}), "else others would have its page when its claim has run out"


async def test_who_is_alone_waits_for_nobody(open_states: Any) -> None:
    clock = ManualClock()
    async with open_states(clock) as (shared, other):
        killed = OneWorker(shared, clock, rules(pages=1), "killed")
        assert await killed.begin() == "begun"
        alone = OneWorker(other, clock, rules(pages=1), "alone")
        await alone.meter.begin(is_alone=True)
        assert await alone.begin() == "begun"


async def test_a_visit_that_is_broken_off_leaves_its_page_to_others() -> None:
    clock = ManualClock()
    worker = OneWorker(MemorySharedState(clock), clock, rules(pages=1), "one")
    is_begun = asyncio.Event()

    async def visit() -> None:
        assert await worker.begin() == "begun"
        is_begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(visit())
    await is_begun.wait()
    assert await worker.begin() == "waits"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await worker.begin() == "begun"


@pytest.mark.parametrize("path", ["product", "other"])
async def test_a_save_that_is_broken_off_counts_once(path: str) -> None:
    """One claims a page, the other one saves what was spent."""
    clock = ManualClock()
    shared = GatedState(clock)
    worker = OneWorker(shared, clock, rules(pages=9, bytes=9_000), "one")
    if path == "other":
        worker.meter.add_spending(HOST, Spending(bytes=500), f"http://{HOST}/product/1")
    shared.close()
    task = asyncio.create_task(worker.begin(path))
    await shared.is_reached.wait()
    task.cancel()
    shared.is_open.set()
    assert isinstance((await asyncio.gather(task, return_exceptions=True))[0], asyncio.CancelledError)
    await worker.router.close()
    spent = await read_spending(shared, "job", "*products")
    assert (spent.bytes, spent.pages, spent.holds) == (500 * (path == "other"), 0, {})


@pytest.mark.parametrize(
    ("limits", "spent"),
    [
        ({"items": 6}, "items"),
        ({"errors": 2}, "errors"),
        ({"bytes": 200}, "bytes"),
        ({"cost": 2.0}, "cost"),
        ({"busy_s": 4.0}, "seconds"),
        ({"pages": 9, "items": 5}, "items"),
    ],
)
async def test_what_is_spent_is_refused_by_all_workers(limits: dict[str, Any], spent: str) -> None:
    clock = ManualClock()
    shared = MemorySharedState(clock)
    one, other = (OneWorker(shared, clock, rules(**limits), name) for name in ("one", "other"))
    for _ in range(2):
        assert await one.begin() == "begun"
        url = one.under_way[0].url
        one.meter.add_spending(HOST, Spending(cost=1.0, bytes=100, busy_s=2.0), url)
        await one.end(Verdict.DEAD if "errors" in limits else Verdict.SUCCESS, items=3)
    assert await one.begin() == f"the budget products is spent: {spent}"
    await one.router.close()
    assert await other.begin() == f"the budget products is spent: {spent}"
    assert await other.begin("category") == "begun"


async def test_links_that_are_too_deep_or_over_a_budget_are_refused_and_counted() -> None:
    clock = ManualClock()
    shared = MemorySharedState(clock)
    budgets = BudgetRules(
        patterns=(
            PatternBudget(name="deep", pattern="/help/", depth=2),
            PatternBudget(name="products", pattern="/product/", limits=BudgetLimits(pages=1)),
        )
    )
    worker = OneWorker(shared, clock, budgets, "one")
    await worker.meter.begin(is_alone=True)
    product = f"http://{HOST}/product/7"

    def refuse(url: str, depth: int) -> str | None:
        found = worker.meter.find_overrun(url, depth)
        return found and found.name

    assert [refuse(f"http://{HOST}/help/a", depth) for depth in (2, 3, 3)] == [None, "deep", "deep"]
    assert (
        await worker.begin("help", depth=3)
        == "the budget deep is spent: depth (3 of 2 hops from a start URL)"
    )
    assert refuse(product, 1) is None
    assert await worker.begin() == "begun"
    assert refuse(product, 1) is None, "it may come to nothing"
    await worker.end()
    assert [refuse(product, 1), refuse(product, 1), refuse(f"{product}1", 9)] == ["products"] * 3
    await worker.begin()
    await worker.router.close()
    deep, products = await read_statuses(shared, "job")
    assert (deep.budget, deep.refused, deep.limits) == ("deep", 2, {"depth": 2}), "a link counts once"
    assert (products.refused, products.spent, products.used) == (3, ("pages",), {"pages": 1})
    assert deep.to_text() == "deep: at most 2 links deep, 2 requests refused"
    assert products.to_text() == "products: 1 of 1 pages, 3 requests refused"


async def test_the_last_pages_of_a_budget_have_their_files_too() -> None:
    clock = ManualClock()
    worker = OneWorker(MemorySharedState(clock), clock, rules(pages=1, bytes=100), "one")
    picture = Request(f"http://{HOST}/product/1.jpg", saves=Saving())
    assert await worker.begin() == "begun"
    assert await worker.router.choose_route(picture, HOST) == DIRECT, "it is no page"
    assert await worker.begin() == "waits"
    await worker.end()
    assert await worker.begin() == "the budget products is spent: pages"
    assert await worker.router.choose_route(picture, HOST) == DIRECT
    assert worker.meter.find_overrun(picture.url, 1, True) is None
    worker.meter.add_spending(HOST, Spending(bytes=100), picture.url)
    with pytest.raises(FetchError, match="is spent: bytes"):
        await worker.router.choose_route(picture, HOST)
    found = worker.meter.find_overrun(picture.url, 1, True)
    assert found is not None
    assert found.why == "bytes"


async def test_large_numbers_are_shown_as_they_are() -> None:
    clock = ManualClock()
    worker = OneWorker(MemorySharedState(clock), clock, rules(bytes=20_000_000_000, busy_s=0.5), "one")
    await worker.meter.begin(is_alone=True)
    worker.meter.add_spending(HOST, Spending(bytes=12_345_678_901, busy_s=0.25), f"http://{HOST}/product/")
    await worker.router.close()
    (status,) = await read_statuses(worker.shared, "job")
    assert status.uses == "12,345,678,901 of 20,000,000,000 bytes, 0.25 of 0.5 seconds"


async def test_what_could_not_be_committed_counts_once_when_it_is() -> None:
    clock = ManualClock()
    shared = MemorySharedState(clock)
    worker = OneWorker(shared, clock, rules(pages=5, items=50), "one")
    await worker.begin()
    (request,) = worker.under_way
    result = make_result(request, Verdict.SUCCESS, 2)
    worker.stored.is_away = True
    with pytest.raises(StorageError):
        await worker.committer.commit([result])
    worker.stored.is_away = False
    await worker.committer.commit([result])
    await worker.router.close()
    spent = await read_spending(shared, "job", "*products")
    assert (spent.pages, spent.items, spent.holds) == (1, 2, {})


async def test_a_host_over_its_errors_is_skipped_and_named() -> None:
    clock = ManualClock()
    shared = MemorySharedState(clock)
    worker = OneWorker(shared, clock, BudgetRules(host=BudgetLimits(errors=1)), "one")
    await worker.meter.begin(is_alone=True)
    await worker.begin()
    await worker.end(Verdict.DEAD)
    assert await worker.begin() == f"the budget of {HOST} is spent: budgets.errors_per_host"
    await worker.router.close()
    (status,) = await read_statuses(shared, "job")
    assert status.to_text() == f"{HOST}: 1 of 1 errors, 1 request refused"


@pytest.mark.parametrize("is_hosts", [False, True])
async def test_what_goes_last_is_put_there_once_and_then_fetched(is_hosts: bool) -> None:
    clock = ManualClock()
    shared = MemorySharedState(clock)
    budgets = rules(OverrunRule.LAST, pages=2, items=2)
    if is_hosts:
        budgets = BudgetRules(host=BudgetLimits(items=2), over=OverrunRule.LAST)
    worker = OneWorker(shared, clock, budgets, "one")
    await worker.meter.begin(is_alone=True)
    for _ in range(2):
        assert await worker.begin() == "begun"
        await worker.end(items=1)
    assert [await worker.begin(), await worker.begin(priority=LAST)] == ["goes last", "begun"]
    await worker.end(items=1)
    overrun = worker.meter.find_overrun(f"http://{HOST}/product/new", 1)
    assert overrun is not None
    assert overrun.is_last
    await worker.router.close()
    (status,) = await read_statuses(shared, "job")
    assert (status.over, status.refused, status.used["items"]) == ("last", 2, 3)
    assert status.to_text().endswith("3 of 2 items, 2 requests put last")


async def test_of_two_budgets_the_one_that_stops_decides() -> None:
    clock = ManualClock()
    last = PatternBudget(name="a", pattern=".", limits=BudgetLimits(items=1), over=OverrunRule.LAST)
    stop = PatternBudget(name="b", pattern="/product/", limits=BudgetLimits(items=1))
    worker = OneWorker(MemorySharedState(clock), clock, BudgetRules(patterns=(last, stop)), "one")
    await worker.begin()
    await worker.end(items=1)
    assert await worker.begin() == "the budget b is spent: items"
    assert await worker.begin("other") == "goes last"
