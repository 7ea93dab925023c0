"""The router that climbs keeps every promise of the contract, on whatever its workers share."""

from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count, cycle

import pytest

from gossamer.fetch.routing.budgeted import BudgetRouter
from gossamer.fetch.routing.ladder import LadderStore
from gossamer.fetch.routing.router import LadderRouter
from gossamer.fetch.routing.spending import SpendingMeter
from gossamer.policy.budgets import BudgetLimits, BudgetRules, PatternBudget
from gossamer.policy.ladder import LadderRules
from gossamer.policy.rung_plan import RungPlan
from gossamer.shared.memory import MemorySharedState
from gossamer.testing.contracts.router import ROUTER_CHECKS, RUNGS, RouterSubject, check_router
from kit.engine import Events
from kit.shared_states import KINDS, find_states, open_memory


def routers_over(shared, other, clock):
    states = cycle((shared, other))

    def open_router():
        store = LadderStore(next(states), clock, remember_s=604_800.0)
        return LadderRouter(store, RungPlan(RUNGS), LadderRules(), clock, Events())

    return RouterSubject(open_router, clock)


@asynccontextmanager
async def memory(clock):
    async with open_memory(clock) as states:
        yield routers_over(*states, clock)


@asynccontextmanager
async def within_budgets(clock):
    """As budgets of patterns have it, of which none is spent."""
    budget = PatternBudget(name="all", pattern=".", limits=BudgetLimits(pages=10**6, bytes=10**9))
    rules = BudgetRules(patterns=(budget,))
    async with open_memory(clock) as (shared, other):
        subject, states = routers_over(shared, other, clock), cycle((shared, other))

        def open_router():
            meter = SpendingMeter(next(states), clock, "job", rules, f"worker {next(numbers)}")
            return BudgetRouter(subject.open_router(), meter)

        numbers = count()
        yield replace(subject, open_router=open_router)


@pytest.fixture(params=[*KINDS, "within budgets"])
def make(request, tmp_path):
    if request.param == "within budgets":
        return within_budgets
    open_states = find_states(request, tmp_path)

    @asynccontextmanager
    async def make(clock):
        async with open_states(clock) as states:
            yield routers_over(*states, clock)

    return make


@pytest.mark.parametrize("name", ROUTER_CHECKS)
async def test_contract(make, name):
    await ROUTER_CHECKS[name](make)


async def test_the_suite_runs_every_check():
    await check_router(memory)
    assert len(ROUTER_CHECKS) >= 9


async def test_the_suite_catches_a_router_that_keeps_what_it_learns_to_itself():
    def open_own(clock):
        return routers_over(MemorySharedState(clock), MemorySharedState(clock), clock).open_router()

    @asynccontextmanager
    async def selfish(clock):
        async with memory(clock) as subject:
            yield replace(subject, open_router=lambda: open_own(clock))

    with pytest.raises(AssertionError, match="the other worker knows"):
        await ROUTER_CHECKS["what_one_worker_learns_all_know"](selfish)
    with pytest.raises(AssertionError, match="observations are kept"):
        await ROUTER_CHECKS["closing_twice_is_closing_once"](selfish)
