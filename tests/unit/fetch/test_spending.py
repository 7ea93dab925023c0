"""What a job spends: counted for all workers, at the price of no round trip a page, and kept."""

import asyncio
import contextlib

import pytest

from gossamer.core.errors import Fault, FetchError, StorageError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import DIRECT, Detour, Route
from gossamer.drivers.redis.server import RedisServer
from gossamer.drivers.sqlite.database import Database
from gossamer.engine.fixed_router import FixedRouter
from gossamer.fetch.routing.budgeted import BudgetFetcher, BudgetRouter
from gossamer.fetch.routing.ladder import LadderStore
from gossamer.fetch.routing.router import LadderRouter
from gossamer.fetch.routing.spending import (
    SPACE,
    SpendingMeter,
    read_ending,
    read_spending,
)
from gossamer.policy.budgets import (
    NOTHING,
    BudgetKind,
    BudgetLimits,
    BudgetRules,
    OverrunRule,
    Spending,
)
from gossamer.policy.ladder import LadderRules
from gossamer.policy.rung_plan import RungPlan
from gossamer.shared.memory import MemorySharedState
from gossamer.shared.redis import RedisSharedState
from gossamer.shared.sqlite import SqliteSharedState
from gossamer.testing.clock import ManualClock
from kit.engine import Events
from kit.servers import on_servers

HOST = "shop.example"
DOWNGRADE = OverrunRule.DOWNGRADE
PAID, PLAIN = Route(rung="gateway:zyte"), DIRECT
REQUEST = Request(f"http://{HOST}/page")


class CountingState(MemorySharedState):
    """Counts what it is asked."""

    calls = 0

    async def get(self, space, key):
        self.calls += 1
        return await super().get(space, key)

    async def update(self, space, key, change, ttl_s):
        self.calls += 1
        return await super().update(space, key, change, ttl_s)


class Shop:
    """A fetcher whose pages cost something."""

    touches_network = True

    def __init__(self, cost=1.0, size=100, failure=None):
        self.cost, self.size, self.failure = cost, size, failure

    async def fetch(self, request, route=DIRECT):
        if self.failure is not None:
            raise self.failure
        cost = self.cost if route.way.startswith("gateway") else 0.0
        return FetchResult(
            url=request.url, status=200, headers=(), body=b"", started_at=0.0, latency_s=0.0, elapsed_s=0.0,
            rung=route.rung, wire_bytes=self.size, cost=cost,
        )  # fmt: skip

    async def close(self):
        pass


class OneWorker:
    """A worker that fetches everything by one route, within budgets."""

    def __init__(self, shared, clock, rules, route=PAID, **shop):
        self.meter = SpendingMeter(shared, clock, "job", rules)
        self.router = BudgetRouter(FixedRouter(route), self.meter)
        self.fetcher = BudgetFetcher(Shop(**shop), self.meter)

    async def visit(self, host=HOST):
        """``fetched``, ``skipped`` or ``waits``."""
        try:
            route = await self.router.choose_route(REQUEST, host)
        except FetchError as error:
            return "skipped" if error.fault is Fault.BUDGET else str(error)
        if isinstance(route, Detour):
            assert route.wait_s
            return "waits"
        await self.fetcher.fetch(Request(f"http://{host}/page"), route)
        return "fetched"


@pytest.fixture(params=["memory", "sqlite", *on_servers("redis")])
async def shared(request, tmp_path):
    clock = ManualClock()
    if request.param == "memory":
        yield MemorySharedState(clock), clock
    elif request.param == "sqlite":
        database = Database(tmp_path / "x.db")
        yield SqliteSharedState(database, clock), clock
        database.close()
    else:
        server = RedisServer(request.getfixturevalue("redis_url"))
        yield RedisSharedState(server, clock), clock
        await server.close()


def job_rules(**more):
    return BudgetRules(job=BudgetLimits(**more))


async def test_two_workers_spend_one_budget(shared):
    state, clock = shared
    rules = job_rules(cost=100.0)
    workers = [OneWorker(state, clock, rules) for _ in range(2)]
    fetched = 0
    for number in range(400):
        clock.advance(0.01)
        fetched += await workers[number % 2].visit() == "fetched"
    assert 100 <= fetched <= 104, "overrun by a fiftieth for each worker at most"
    for worker in workers:
        await worker.router.close()
    assert (await read_spending(state, "job")).cost == fetched
    assert await read_ending(state, "job", rules)


async def test_the_next_run_goes_by_what_was_spent(shared):
    state, clock = shared
    first = OneWorker(state, clock, job_rules(bytes=1000), PLAIN)
    for _ in range(7):
        assert await first.visit() == "fetched"
    await first.router.close()
    again = OneWorker(state, clock, job_rules(bytes=1000), PLAIN)
    assert [await again.visit() for _ in range(5)] == ["fetched"] * 3 + ["waits"] * 2
    assert await read_ending(state, "job", job_rules(bytes=1000))
    larger = OneWorker(state, clock, job_rules(bytes=1100), PLAIN)
    assert [await larger.visit() for _ in range(2)] == ["fetched", "waits"]
    assert not await read_ending(state, "job", job_rules(bytes=1200))


async def test_a_host_over_its_budget_is_skipped_and_others_are_not(shared):
    state, clock = shared
    rules = BudgetRules(host=BudgetLimits(cost=3.0))
    one, other = (OneWorker(state, clock, rules) for _ in range(2))
    assert [await one.visit() for _ in range(5)] == ["fetched"] * 3 + ["skipped"] * 2
    assert await other.visit("other.example") == "fetched"
    await one.router.close()
    assert await other.visit() == "skipped", "another worker knows of it"
    assert not await read_ending(state, "job", rules)


async def test_a_job_that_downgrades_is_over_when_a_request_has_no_rung_left(shared):
    state, clock = shared
    rules = BudgetRules(job=BudgetLimits(cost=2.0), over=DOWNGRADE)
    paid, plain = OneWorker(state, clock, rules), OneWorker(state, clock, rules, PLAIN)
    for _ in range(2):
        await paid.visit()
    clock.advance(1)
    assert await plain.visit() == "fetched"
    assert paid.meter.allowed_rungs(HOST, ["http", "browser", "gateway:zyte"]) == ("http", "browser")
    assert not await read_ending(state, "job", rules)
    assert await paid.visit() == "waits"
    assert (await read_spending(state, "job")).stuck == (BudgetKind.COST,)
    assert await read_ending(state, "job", rules)
    assert not await read_ending(state, "job", BudgetRules(job=BudgetLimits(cost=3.0), over=DOWNGRADE))


async def test_a_page_costs_no_round_trip():
    clock = ManualClock()
    state = CountingState(clock)
    much = BudgetLimits(bytes=10**9)
    worker = OneWorker(state, clock, BudgetRules(job=much, host=much))
    for _ in range(1000):
        await worker.visit()
        clock.advance(0.01)
    assert state.calls <= 45, "twice a second: the job's and the host's (each reads before it writes here)"


async def test_what_fails_and_what_browsers_take_is_counted():
    clock, rules = ManualClock(), job_rules(cost=9.0)
    state = MemorySharedState(clock)
    failing = FetchError(Fault.SERVICE_FAILED, cost=2.5)
    worker = OneWorker(state, clock, rules, failure=failing)
    with pytest.raises(FetchError):
        await worker.visit()
    await worker.router.close()
    assert await read_spending(state, "job") == Spending(cost=2.5)

    class Browser(Shop):
        async def fetch(self, request, route=DIRECT):
            error = FetchError(Fault.BROWSER)
            error.browser_s = 2.5  # it had waited for its tab, too
            raise error

    meter = SpendingMeter(state, clock, "other", rules)
    with pytest.raises(FetchError):
        await BudgetFetcher(Browser(), meter).fetch(REQUEST, Route(rung="browser+mobile"))
    await meter.save()
    assert (await read_spending(state, "other")).browser_s == 2.5


async def test_what_is_spent_while_it_is_saved_is_not_lost():
    clock = ManualClock()

    class SlowState(MemorySharedState):
        async def update(self, space, key, change, ttl_s):
            meter.add_spending(HOST, Spending(cost=1.0))
            return await super().update(space, key, change, ttl_s)

    state = SlowState(clock)
    meter = SpendingMeter(state, clock, "job", job_rules(cost=100.0))
    meter.add_spending(HOST, Spending(cost=1.0))
    await meter.save()
    assert await read_spending(state, "job") == Spending(cost=1.0)
    await meter.save()
    assert await read_spending(state, "job") == Spending(cost=2.0)


@pytest.mark.parametrize("limits", [{"job": BudgetLimits(cost=0.5)}, {"host": BudgetLimits(cost=0.5)}])
async def test_a_route_that_the_budget_forbids_is_given_back(limits):
    """It may be the only one that tries out a proxy."""
    clock, released = ManualClock(), []

    class Claiming(FixedRouter):
        async def release_route(self, request, route, host):
            released.append((route, host))

    meter = SpendingMeter(MemorySharedState(clock), clock, "job", BudgetRules(**limits))
    router = BudgetRouter(Claiming(PAID), meter)
    assert await router.choose_route(Request("http://a.test/"), "a.test") == PAID
    assert released == []
    meter.add_spending("a.test", Spending(cost=1.0))
    with contextlib.suppress(FetchError):
        assert isinstance(await router.choose_route(Request("http://a.test/"), "a.test"), Detour)
    assert released == [(PAID, "a.test")]


class SlowState(MemorySharedState):
    """Every write takes a turn of the loop; one of them may fail."""

    def __init__(self, clock):
        super().__init__(clock)
        self.under_way = self.most = 0
        self.broken = ""

    async def update(self, space, key, change, ttl_s):
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        if key == self.broken:
            raise StorageError("away")
        return await super().update(space, key, change, ttl_s)


async def test_what_was_spent_on_many_hosts_is_saved_together_and_once():
    clock = ManualClock()
    state = SlowState(clock)
    meter = SpendingMeter(state, clock, "job", BudgetRules(host=BudgetLimits(cost=9.0)))
    for nth in range(20):
        meter.add_spending(f"{nth}.test", Spending(cost=1.0))
    state.broken = "job 3.test"
    with pytest.raises(StorageError):
        await meter.save()
    assert state.under_way == 0, "nothing of it is still under way when others may save"
    assert state.most > 10
    state.broken = ""
    await meter.save()
    costs = [(await read_spending(state, "job", f"{nth}.test")).cost for nth in range(20)]
    assert costs == [1.0] * 20
    assert (await read_spending(state, "job")).cost == 20.0


async def test_what_cannot_be_read_counts_as_nothing():
    state = MemorySharedState(ManualClock())
    await state.put(SPACE, "job", b"of another version", 100)
    assert await read_spending(state, "job") == NOTHING


async def test_a_ladder_comes_down_to_what_may_still_be_spent():
    clock = ManualClock()
    state = MemorySharedState(clock)
    meter = SpendingMeter(state, clock, "job", BudgetRules(host=BudgetLimits(cost=1.0), over=DOWNGRADE))
    store = LadderStore(state, clock, remember_s=1e6)
    ladder = LadderRouter(
        store,
        RungPlan(("gateway:zyte", "http")),
        LadderRules(),
        clock,
        Events(),
        within_budget=meter.allowed_rungs,
    )
    router = BudgetRouter(ladder, meter)
    assert await router.choose_route(REQUEST, HOST) == Route(rung="gateway:zyte")
    meter.add_spending(HOST, Spending(cost=1.0))
    assert await router.choose_route(REQUEST, HOST) == Route(rung="http")
    assert await router.choose_route(REQUEST, "other.example") == Route(rung="gateway:zyte")
    named = REQUEST.replace(fetch="gateway:zyte")
    with pytest.raises(FetchError, match=r"the budget of shop.example is spent: budgets.cost_per_host"):
        await router.choose_route(named, HOST)


async def test_a_choice_costs_the_same_however_many_hosts_have_spent_something(monkeypatch):
    calls = 0

    def count(limits, unsaved, look=BudgetLimits.fills_a_batch):
        nonlocal calls
        calls += 1
        return look(limits, unsaved)

    monkeypatch.setattr(BudgetLimits, "fills_a_batch", count)
    clock = ManualClock()
    state = MemorySharedState(clock)
    worker = OneWorker(state, clock, BudgetRules(host=BudgetLimits(cost=100.0)))
    await worker.visit()
    costs = []
    for number in range(200):
        before = calls
        await worker.visit(f"h{number}.example")
        costs.append(calls - before)
    assert len(set(costs)) == 1
    worker.meter.add_spending("h7.example", Spending(cost=2.0))
    await worker.visit()
    assert (await read_spending(state, "job", "h7.example")).cost == 3.0, (
        "what fills a batch is saved at once"
    )
