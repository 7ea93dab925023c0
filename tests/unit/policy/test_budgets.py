"""Budgets: what is spent, what that forbids, and when a job is over."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.policy.budgets import (
    MAX_REFUSING,
    NOTHING,
    BudgetKind,
    BudgetLimits,
    BudgetRules,
    OverrunRule,
    Spending,
    allowed_rungs,
    batch_of_pages,
    claim_pages,
    find_ending,
    forbidden_by,
    kinds_of,
)

DOWNGRADE = OverrunRule.DOWNGRADE
COST, SECONDS = BudgetKind.COST, BudgetKind.BROWSER_SECONDS
LADDER = ("http", "impersonate", "browser", "http+residential", "gateway:zyte")

amounts = st.integers(0, 1000)
spendings = st.builds(Spending, cost=amounts.map(float), bytes=amounts, browser_s=amounts.map(float))
limits = st.builds(
    BudgetLimits,
    cost=st.none() | amounts.map(float),
    bytes=st.none() | amounts,
    browser_s=st.none() | amounts.map(float),
)
rules = st.builds(BudgetRules, job=limits, host=limits, over=st.sampled_from(OverrunRule))


@pytest.mark.parametrize(
    ("rung", "kinds"),
    [
        ("http", set()),
        ("impersonate+mobile", {COST}),
        ("browser", {SECONDS}),
        ("browser+residential", {SECONDS, COST}),
        ("gateway", {COST}),
        ("gateway:zyte", {COST}),
    ],
)
def test_what_a_rung_spends(rung, kinds):
    assert kinds_of(rung) == {*kinds, *set(BudgetKind) - {COST, SECONDS}}


def test_without_a_budget_everything_is_allowed():
    much = Spending(cost=1e9, bytes=10**12, browser_s=1e9)
    assert allowed_rungs(LADDER, BudgetRules(), much, much) == LADDER
    assert not find_ending(BudgetRules(), much)


@pytest.mark.parametrize(
    ("limits", "allowed"),
    [
        (BudgetLimits(cost=5.0), ("http", "impersonate", "browser")),
        (BudgetLimits(browser_s=5.0), ("http", "impersonate", "http+residential", "gateway:zyte")),
        (BudgetLimits(cost=5.0, browser_s=5.0), ("http", "impersonate")),
        (BudgetLimits(bytes=5), ()),
        (BudgetLimits(cost=5.1), LADDER),
    ],
)
def test_a_downgrade_leaves_the_rungs_that_spend_nothing_of_it(limits, allowed):
    spent = Spending(cost=5.0, bytes=5, browser_s=5.0)
    for rules in (
        BudgetRules(job=limits, over=DOWNGRADE),
        BudgetRules(host=limits, over=DOWNGRADE),
    ):
        is_of_host = rules.limits_hosts
        told = (NOTHING, spent) if is_of_host else (spent, NOTHING)
        assert allowed_rungs(LADDER, rules, *told) == allowed
    stopping = BudgetRules(host=limits)
    assert allowed_rungs(LADDER, stopping, NOTHING, spent) == (LADDER if allowed == LADDER else ())


def test_a_job_that_downgrades_is_over_when_a_request_has_no_rung_left():
    rules = BudgetRules(job=BudgetLimits(cost=5.0), over=DOWNGRADE)
    spent = Spending(cost=7.0)
    assert not find_ending(rules, spent)
    stuck = spent + Spending(stuck=(COST,))
    assert find_ending(rules, stuck)
    assert not find_ending(BudgetRules(job=BudgetLimits(cost=8.0), over=DOWNGRADE), stuck), "a larger budget"
    assert find_ending(BudgetRules(job=BudgetLimits(bytes=1), over=DOWNGRADE), Spending(bytes=1))
    assert find_ending(BudgetRules(job=BudgetLimits(cost=5.0)), spent)


@given(rules, spendings, spendings, st.sampled_from(LADDER))
def test_a_rung_is_allowed_exactly_when_no_spent_budget_forbids_it(rules, job, host, rung):
    forbidden = any(forbidden_by(rung, rules, job, host))
    assert (allowed_rungs([rung], rules, job, host) == ()) == forbidden
    if forbidden and rules.over is OverrunRule.STOP:
        assert allowed_rungs(LADDER, rules, job, host) == ()


@given(rules, spendings, spendings, spendings)
def test_what_is_spent_is_never_allowed_again(rules, job, host, more):
    before = set(allowed_rungs(LADDER, rules, job, host))
    assert set(allowed_rungs(LADDER, rules, job + more, host + more)) <= before
    assert find_ending(rules, job + more) or not find_ending(rules, job)


@given(spendings, spendings)
def test_sums_come_apart_again_and_are_stored(one, other):
    assert one + other - other == one
    assert msgspec.json.decode(msgspec.json.encode(one), type=Spending) == one


def test_prices_add_up_to_a_budget():
    spent = sum((Spending(cost=0.05) for _ in range(10)), NOTHING)
    assert spent.cost < 0.5
    assert BudgetLimits(cost=0.5).find_reached(spent) == {COST}


def test_a_fiftieth_is_not_kept_back():
    limits = BudgetLimits(cost=100.0, bytes=1000)
    assert not limits.fills_a_batch(Spending(cost=1.9, bytes=19, browser_s=1e6))
    assert limits.fills_a_batch(Spending(cost=2.0))
    assert limits.fills_a_batch(Spending(bytes=20))


@given(
    st.integers(1, 300),
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 20), st.integers(0, 90)), max_size=30),
)
def test_workers_never_claim_more_pages_than_are_left(limit, steps):
    known, now = NOTHING, 0.0
    for worker, wanted, passed in steps:
        now += passed
        before = known
        known = claim_pages(known, limit, worker, wanted, now)
        valid = {who: hold for who, hold in known.holds.items() if hold.until > now}
        assert sum(hold.pages for hold in valid.values()) + known.pages <= limit
        assert all(who == worker or hold == before.holds[who] for who, hold in valid.items())
        done = min(wanted, known.holds[worker].pages if worker in known.holds else 0)
        known = known + Spending(pages=done // 2)
        known = claim_pages(known, limit, worker, done - done // 2, now)


def test_a_worker_claims_less_the_nearer_the_end_is():
    batches = [batch_of_pages(Spending(pages=pages), 1000) for pages in (0, 500, 950, 999, 1000)]
    assert batches == [20, 10, 1, 1, 1]


def test_what_patterns_refuse_is_counted_beside_any_number_of_hosts():
    spent = Spending(refused={f"h{number}.example": 9 for number in range(MAX_REFUSING)})
    for _ in range(5):
        spent += Spending(refused={"*products": 1})
    assert spent.refused["*products"] == 5
    assert len(spent.refused) == MAX_REFUSING
