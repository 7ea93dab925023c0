"""What decides the pace: the order of the answers, how they settle, and what hosts allow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules, HostState
from gossamer.core.jobs import HostReport
from gossamer.policy.host_sums import HostSums, settle_pace, sum_hosts
from gossamer.policy.pace_limit import (
    SETTLED_S,
    STOPPED,
    DelayReason,
    LimitState,
    PaceFacts,
    PaceLimit,
    allowed_per_s,
    empties_in_s,
    find_limit,
    reason_of_delay,
    settle_limit,
    sum_allowed,
)
from gossamer.policy.time_left import HostEstimate

NOW = 1_000_000.0
RULES = FrontierRules()

EVERYTHING = PaceFacts(
    waiting_hosts=2,
    held_hosts=2,
    is_budget_spent=True,
    started_per_s=95.0,
    allowed_per_s=100.0,
    store_lag_s=3.0,
    is_slot_free=False,
    due=1000,
)


def test_the_first_of_several_answers_counts() -> None:
    facts, found = EVERYTHING, []
    for change in (
        {"held_hosts": 1},
        {"is_budget_spent": False},
        {"started_per_s": 89.0},
        {"store_lag_s": 2.0},
        {"due": 99, "is_slot_free": True},
        {"due": 100},
    ):
        found.append(find_limit(facts))
        facts = replace(facts, **change)
    assert found == list(PaceLimit)
    assert find_limit(facts) is None, "100 are due, which is a second's work, and a slot is free"


def test_a_job_without_waiting_hosts_is_not_held() -> None:
    assert find_limit(PaceFacts()) is PaceLimit.NOTHING_DUE


def test_a_pace_that_is_not_known_yet_is_no_lack_of_work() -> None:
    """Between two requests of a polite crawl nothing is due."""
    young = PaceFacts(waiting_hosts=1, started_per_s=None, allowed_per_s=4.0)
    assert find_limit(young) is None
    assert find_limit(replace(young, started_per_s=3.9)) is PaceLimit.POLITENESS
    assert settle_limit(settle_limit(LimitState(), None, NOW), PaceLimit.POLITENESS, NOW + 5).limit


def test_workers_that_wait_for_the_store_are_a_reason_too() -> None:
    assert find_limit(PaceFacts(due=9, store_wait_share=0.21)) is PaceLimit.STORE
    assert find_limit(PaceFacts(due=9, store_wait_share=0.2)) is None


@pytest.mark.parametrize(("held_s", "shown"), [(29.9, PaceLimit.WORKERS), (30.0, PaceLimit.STORE)])
def test_another_answer_is_shown_when_it_has_held(held_s: float, shown: PaceLimit) -> None:
    state = settle_limit(LimitState(), PaceLimit.WORKERS, NOW)
    state = settle_limit(state, PaceLimit.STORE, NOW + 10)
    state = settle_limit(state, PaceLimit.STORE, NOW + 10 + held_s)
    assert state.limit is shown
    assert state.since == (NOW if shown is PaceLimit.WORKERS else NOW + 10)


def test_an_answer_that_does_not_hold_is_never_shown() -> None:
    state = settle_limit(LimitState(), PaceLimit.POLITENESS, NOW)
    for second in range(1, 200):
        state = settle_limit(
            state, (PaceLimit.STORE, PaceLimit.WORKERS, None)[second // 10 % 3], NOW + second
        )
        assert state.limit is PaceLimit.POLITENESS


@pytest.mark.parametrize(
    ("hold_s", "why", "is_at_once"),
    [
        (30.0, DelayReason.BACKOFF, True),
        (2.0, DelayReason.BACKOFF, False),  # it is asked again in a moment
        (2.0, DelayReason.SKIPPED, True),
        (None, DelayReason.HOLD, True),
    ],
)
def test_that_all_hosts_are_left_alone_is_shown_at_once(
    hold_s: float | None, why: DelayReason, is_at_once: bool
) -> None:
    """Bug it would catch: "as fast as its hosts allow" for half a minute while the only host refuses."""
    state = settle_pace(LimitState(), PaceLimit.POLITENESS, HostSums(hosts=1), NOW)
    until = None if hold_s is None else NOW + 5 + hold_s
    held = HostSums(hosts=1, held={why: 1}, held_until=until)
    state = settle_pace(state, PaceLimit.HELD, held, NOW + 5)
    assert state.limit is (PaceLimit.HELD if is_at_once else PaceLimit.POLITENESS)
    state = settle_pace(state, PaceLimit.POLITENESS, HostSums(hosts=1), NOW + 40)
    assert (state.limit, state.other) == (PaceLimit.POLITENESS, None), "nor does it outlast the pause"


answers = st.sampled_from([None, *PaceLimit])


@given(st.lists(st.tuples(st.floats(0.5, 20), answers), max_size=60))
def test_what_is_shown_never_changes_twice_within_the_time(
    looks: list[tuple[float, PaceLimit | None]],
) -> None:
    state, now, changed_at = settle_limit(LimitState(), PaceLimit.HELD, NOW), NOW, NOW
    for wait_s, found in looks:
        now += wait_s
        before, state = state, settle_limit(state, found, now)
        if state.limit is not before.limit:
            assert now - changed_at >= SETTLED_S
            assert state.limit is found
            changed_at = now
        assert state.since <= now


# --------------------------------------------------------------------------- hosts


@pytest.mark.parametrize(
    ("host", "rules", "p50_s", "expected"),
    [
        (HostState(delay_s=0.5), RULES, None, 2.0),
        (HostState(delay_s=0.5), RULES, 1.0, 1.0),
        (HostState(delay_s=0.5), FrontierRules(per_host=4), 1.0, 2.0),
        (HostState(), FrontierRules(delay_s=0.0), None, None),
        (HostState(), FrontierRules(delay_s=0.0, per_host=2), 0.1, 20.0),
        (HostState(crawl_delay_s=10.0), FrontierRules(delay_s=0.0), 0.1, 0.1),
        (HostState(delay_s=0.5, hold_until=NOW + 1), RULES, 1.0, 0.0),
        (HostState(delay_s=0.5, hold_until=NOW), RULES, None, 2.0),
        (HostState(delay_s=0.5, pages=7), FrontierRules(max_pages_per_host=7), None, 0.0),
        (HostState(troubled_since=NOW), FrontierRules(delay_s=0.0, per_host=8), 0.5, 2.0),
    ],
)
def test_what_a_host_allows(
    host: HostState, rules: FrontierRules, p50_s: float | None, expected: float | None
) -> None:
    assert allowed_per_s(host, rules, NOW, p50_s) == expected


@pytest.mark.parametrize(
    ("host", "rules", "reason"),
    [
        (HostState(delay_s=0.5), RULES, DelayReason.ADAPTIVE),
        (HostState(delay_s=0.5), FrontierRules(delay_s=1.0), DelayReason.SET),
        (HostState(crawl_delay_s=10.0), FrontierRules(delay_s=1.0), DelayReason.ROBOTS),
        (HostState(pace_s=10.0), FrontierRules(delay_s=1.0), DelayReason.PACE),
        (HostState(is_paced=True, delay_s=1.0), RULES, DelayReason.SET),
        (HostState(hold_until=NOW + 9, is_held=True, troubled_since=NOW), RULES, DelayReason.HOLD),
        (HostState(is_skipped=True, hold_until=NOW + 9), RULES, DelayReason.SKIPPED),
        (HostState(hold_until=NOW + 9, troubled_since=NOW, incident_at=NOW), RULES, DelayReason.BACKOFF),
        (
            HostState(hold_until=NOW + 9, troubled_since=NOW - 600, incident_at=NOW - 600),
            RULES,
            DelayReason.RETRY_AFTER,
        ),
        (HostState(hold_until=NOW + 9, troubled_since=NOW, silences=1), RULES, DelayReason.DOWN),
        (HostState(pages=3), FrontierRules(max_pages_per_host=3), DelayReason.BUDGET),
    ],
)
def test_why_a_host_is_asked_so_often(host: HostState, rules: FrontierRules, reason: DelayReason) -> None:
    assert reason_of_delay(host, rules, NOW) is reason
    assert (allowed_per_s(host, rules, NOW, 1.0) == 0.0) == (reason in STOPPED)


def test_hosts_that_were_not_looked_at_are_taken_for_average_ones() -> None:
    assert sum_allowed([1.0, 3.0], 2) == 4.0
    assert sum_allowed([1.0, 3.0, None], 3) == 6.0
    assert sum_allowed([1.0, 3.0], 10) == 20.0
    assert sum_allowed([], 0) == 0.0
    assert sum_allowed([None], 1) is None


def test_when_nothing_waits_at_a_host_any_more() -> None:
    assert empties_in_s(10, 2.0) == 5.0
    assert empties_in_s(10, 0.0) is None
    assert empties_in_s(0, 0.0) == 0.0


@pytest.mark.parametrize(
    ("state", "least_s", "most_s", "stopped", "stopped_for_s"),
    [
        (HostState(), 40.0, 40.0, 0, None),
        (HostState(pace_s=8.0), 0.0, 160.0, 0, None),  # it may be asked faster again
        (HostState(hold_until=NOW + 300, is_held=True), 340.0, 340.0, 0, None),
        (HostState(hold_until=NOW + 3, incidents=1, troubled_since=NOW, incident_at=NOW), 0.0, 0.0, 0, None),
        (
            HostState(hold_until=NOW + 60, incidents=3, troubled_since=NOW - 100, incident_at=NOW),
            0.0,
            0.0,
            20,
            3500.0,
        ),
        (HostState(is_skipped=True), 0.0, 0.0, 20, None),
    ],
)
def test_when_a_host_is_through_with_what_waits(
    state: HostState, least_s: float, most_s: float, stopped: int, stopped_for_s: float | None
) -> None:
    rules = FrontierRules(delay_s=2.0, per_host=1, host_patience_s=3600.0)
    report = HostReport(host="a.example", pending=20, state=state)
    end = sum_hosts([report], rules, NOW, hosts=1).end
    assert end == HostEstimate(
        least_s=least_s, most_s=most_s, stopped_requests=stopped, stopped_for_s=stopped_for_s
    )
