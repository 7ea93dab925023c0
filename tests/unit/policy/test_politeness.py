"""Politeness: spacing, slots, holds and incidents, as pure functions of state and time."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules, HostSignal, HostSignalKind, HostState
from gossamer.policy import politeness as p

PACED = FrontierRules(delay_s=2.0, per_host=3)
ADAPTIVE = FrontierRules(min_delay_s=0.5, initial_delay_s=1.0, max_delay_s=8.0)
T = 1000.0


def ended(host, rules, kind, *, now=T, started_at=T, is_page=False, jitter=1.0, page=2, **signal):
    signal = HostSignal(kind=kind, started_at=started_at, **signal)
    return p.settle_lease(host, rules, signal, now=now, is_page=is_page, jitter=jitter, mark=page)


def test_starts_are_a_delay_apart_and_slots_are_counted():
    host = HostState()
    starts, now = [], T
    while p.has_room(host, PACED):
        assert p.may_start(host, PACED, now)
        host = p.grant_lease(host, PACED, now)
        starts.append(now)
        assert not p.may_start(host, PACED, now)
        now = host.next_at
    assert starts == [T, T + 2, T + 4]
    assert not p.may_start(host, PACED, T + 1e9)


def test_a_host_that_was_idle_earns_no_burst():
    assert p.grant_lease(HostState(next_at=5.0), PACED, T).next_at == T + 2


def test_the_delay_in_force():
    assert p.delay_in_force(HostState(), PACED) == 2.0
    assert p.delay_in_force(HostState(), ADAPTIVE) == 1.0
    assert p.delay_in_force(HostState(delay_s=0.01), ADAPTIVE) == 0.5
    assert p.delay_in_force(HostState(delay_s=99.0), ADAPTIVE) == 8.0
    assert p.delay_in_force(HostState(crawl_delay_s=5.0), PACED) == 5.0
    assert p.delay_in_force(HostState(crawl_delay_s=1.0), PACED) == 2.0


def test_the_page_budget_of_a_host_counts_what_is_in_flight():
    rules = FrontierRules(per_host=9, max_pages_per_host=3)
    assert p.has_room(HostState(pages=1, in_flight=1), rules)
    assert not p.has_room(HostState(pages=1, in_flight=2), rules)


def test_a_late_lease_has_a_floor_and_a_share():
    alone = replace(PACED, per_host=1)
    assert p.start_by(HostState(), alone, T) == T + 0.25
    assert p.start_by(HostState(crawl_delay_s=10.0), alone, T) == T + 1.0
    assert p.start_by(HostState(), PACED, T) == T + 0.2, "another slot's turn follows"
    assert p.start_by(HostState(), FrontierRules(delay_s=0.0, per_host=9), T) == T + 0.25
    quick = FrontierRules(delay_s=0.001, per_host=9)
    assert p.start_by(HostState(), quick, T) == T + 0.02, "no worker starts within a tenth of a millisecond"
    paced = HostState(pace_s=0.002)
    assert p.start_by(paced, FrontierRules(delay_s=0.0, per_host=9), T) == T + 0.25, (
        "or nothing would ever start in time"
    )


def test_the_delay_goes_half_way_to_the_latency_and_never_down_on_failure():
    host = HostState(in_flight=1)
    slower = ended(host, ADAPTIVE, HostSignalKind.OK, latency_s=5.0)
    assert slower.delay_s == 3.0
    assert ended(slower, ADAPTIVE, HostSignalKind.FAULT, latency_s=0.0).delay_s == 3.0
    assert ended(slower, ADAPTIVE, HostSignalKind.OK, latency_s=1.0).delay_s == 2.0
    assert ended(host, PACED, HostSignalKind.OK, latency_s=5.0).delay_s == 0.0


def test_an_unused_turn_is_given_back_but_not_a_hold():
    host = p.grant_lease(HostState(), PACED, T)
    back = p.settle_lease(host, PACED, HostSignal(), now=T, is_page=False, jitter=0.0, mark=2)
    assert (back.in_flight, back.next_at) == (0, T)
    held = replace(host, hold_until=T + 500, next_at=T + 500)
    assert ended(held, PACED, HostSignalKind.UNUSED).next_at == T + 500


def test_a_turn_that_others_are_built_upon_is_not_given_back():
    host = p.grant_lease(p.grant_lease(HostState(), PACED, T), PACED, T + 2)  # A at T, B at T + 2
    after_a = p.settle_lease(host, PACED, HostSignal(), now=T + 2.1, is_page=False, jitter=0.0, mark=2)
    assert after_a.next_at == T + 4
    made = HostSignal(kind=HostSignalKind.OK, started_at=T + 2)
    after_b = p.settle_lease(host, PACED, made, now=T + 2.1, is_page=False, jitter=0.0, mark=2)
    assert ended(after_b, PACED, HostSignalKind.UNUSED, now=T + 2.2).next_at == T + 4


def test_a_turn_can_be_put_off():
    host = p.grant_lease(HostState(), PACED, T)
    later = HostSignal(retry_after_s=9.0)
    assert p.settle_lease(host, PACED, later, now=T, is_page=False, jitter=0.0, mark=2).next_at == T + 9


def test_retry_after_holds_the_host_with_a_cap():
    host = HostState(in_flight=1)
    assert ended(host, PACED, HostSignalKind.THROTTLED, retry_after_s=100.0).next_at == T + 100
    assert ended(host, PACED, HostSignalKind.THROTTLED, retry_after_s=1e12).next_at == T + 3600
    assert ended(host, PACED, HostSignalKind.THROTTLED, retry_after_s=-5.0).next_at == T + 4, "half as fast"


def test_failures_together_are_one_incident():
    host = HostState(in_flight=64)
    for at in range(64):
        host = ended(host, PACED, HostSignalKind.UNREACHABLE, started_at=T, now=T + 5 + at / 100)
    assert (host.incidents, host.silences, host.in_flight) == (1, 1, 0)
    host = ended(host, PACED, HostSignalKind.UNREACHABLE, started_at=T + 6, now=T + 9)
    assert (host.incidents, host.silences) == (2, 2)


def test_back_off_doubles_per_incident_and_ends_with_a_success():
    rules, host, holds = FrontierRules(delay_s=0.0, backoff_base_s=1.0), HostState(), []
    for n in range(4):
        now = T + 1000 * n
        host = ended(host, rules, HostSignalKind.UNREACHABLE, now=now, started_at=now)
        holds.append(host.next_at - now)
    assert holds == [1, 2, 4, 8]
    old = ended(host, rules, HostSignalKind.OK, now=T + 9000, started_at=T)
    assert old.incidents == 4  # it was started before the incident: no news
    assert ended(host, rules, HostSignalKind.OK, now=T + 9000, started_at=T + 9000).incidents == 0


def test_a_host_that_is_silent_too_often_is_down_until_it_answers_or_is_revived():
    rules, host = FrontierRules(delay_s=0.0, max_silences=2), HostState()
    for n in range(2):
        host = ended(host, rules, HostSignalKind.UNREACHABLE, now=T + n, started_at=T + n)
    assert p.is_down(host, rules)
    assert host.next_at <= T + 1  # no hold: what waits is given up
    assert not p.is_down(ended(host, rules, HostSignalKind.FAULT), rules)
    revived = p.revive_host(replace(host, delay_s=3.0))
    assert not p.is_down(revived, rules)
    assert revived.delay_s == 3.0


def test_crawl_delay_comes_with_a_robots_txt_and_goes_with_the_next():
    host = ended(HostState(), PACED, HostSignalKind.OK, robots_read=True, crawl_delay_s=1e9)
    assert host.crawl_delay_s == 30.0
    assert host.next_at == T + 30
    assert ended(host, PACED, HostSignalKind.OK, crawl_delay_s=None).crawl_delay_s == 30.0
    assert ended(host, PACED, HostSignalKind.OK, robots_read=True).crawl_delay_s is None
    assert (
        ended(HostState(), PACED, HostSignalKind.OK, robots_read=True, crawl_delay_s=-1.0).crawl_delay_s == 0
    )


steps = st.lists(
    st.tuples(
        st.sampled_from(["grant", *HostSignalKind]),
        st.floats(0, 50),
        st.none() | st.floats(0, 60),
        st.none() | st.floats(-10, 10_000),
        st.booleans(),
    ),
    max_size=40,
)


@given(steps=steps, rules=st.sampled_from([PACED, ADAPTIVE, FrontierRules(delay_s=0.0, per_host=2)]))
def test_whatever_happens_starts_keep_their_distance_and_slots_hold(steps, rules):
    host, now, made, open_starts = HostState(), T, [0.0], []
    for kind, wait, latency, retry_after, robots in steps:
        now += wait
        if kind == "grant":
            if p.may_start(host, rules, now):
                assert now - max(made + open_starts) >= (rules.delay_s or 0.0) - 1e-6
                host = p.grant_lease(host, rules, now)
                open_starts.append(now)
        elif open_starts:
            started = open_starts.pop(0)
            signal = HostSignal(
                kind=kind,
                started_at=started,
                latency_s=latency,
                retry_after_s=retry_after,
                robots_read=robots,
                crawl_delay_s=retry_after,
            )
            host = p.settle_lease(host, rules, signal, now=now, is_page=False, jitter=0.5, mark=2)
            if kind is not HostSignalKind.UNUSED:
                made.append(started)
        assert host.in_flight == len(open_starts) <= rules.per_host
        assert host.next_at <= now + max(rules.retry_after_cap_s, rules.backoff_cap_s) + 4 * 31
        assert p.delay_in_force(host, rules) <= 30.0


def test_a_little_lateness_is_caught_up_and_much_is_not():
    rules = FrontierRules(delay_s=1.0, per_host=4)
    host = p.grant_lease(HostState(), rules, 100.0)
    for turn in range(1, 50):  # each is taken 4 % late: the mean rate is the allowed one
        host = p.grant_lease(host, rules, 100.0 + turn + 0.04)
        assert host.next_at == pytest.approx(101.0 + turn)
    late = p.grant_lease(host, rules, host.next_at + 0.06)
    assert late.next_at == pytest.approx(host.next_at + 1.06)


@given(st.lists(st.floats(0.0, 0.3), min_size=1, max_size=30))
def test_two_starts_are_never_closer_than_what_is_kept_of_the_delay(lates):
    """However late grants and starts come, with one slot."""
    rules = FrontierRules(delay_s=1.0)
    host, starts = HostState(), []
    for late_s in lates:
        now = max(host.next_at, 100.0) + late_s / 2
        host = p.grant_lease(host, rules, now)
        starts.append(now + late_s / 2)
        signal = HostSignal(kind=HostSignalKind.OK, started_at=starts[-1], latency_s=0.0)
        host = p.settle_lease(host, rules, signal, now=starts[-1], is_page=True, jitter=0.0, mark=2)
    gaps = [later - sooner for sooner, later in pairwise(starts)]
    assert all(gap >= p.KEPT_SHARE - 1e-6 for gap in gaps)


def test_what_robots_txt_asks_for_is_never_caught_up():
    rules = FrontierRules(delay_s=0.5, per_host=4)
    host = p.grant_lease(HostState(crawl_delay_s=2.0), rules, 100.0)
    late = p.grant_lease(host, rules, 102.02)
    assert late.next_at == pytest.approx(104.02)


def seconds_held(rules, kind, **signal):
    """How long a host is left alone after each of six troubles in a row; it is asked again at once then."""
    host, now, held = HostState(answered_at=T - 1), T, []
    for _ in range(6):
        host = p.grant_lease(host, rules, now)
        host = ended(host, rules, kind, now=now, started_at=now, **signal)
        held.append(round(host.hold_until - now, 3))
        now = max(host.next_at, now) + 0.001
    return held


@pytest.mark.parametrize(("asked_s", "cap_s"), [(0.0, 3600.0), (60.0, 0.0)])
def test_who_asks_for_no_time_again_and_again_is_left_alone_all_the_same(asked_s, cap_s):
    """Bug it would catch: ``Retry-After: 0``, or a slow clock, has a host asked without a pause."""
    rules = FrontierRules(delay_s=0.1, retry_after_cap_s=cap_s)
    held = seconds_held(rules, HostSignalKind.THROTTLED, retry_after_s=asked_s)
    assert held[0] == 0.0, "the first time it is taken at its word"
    assert held[1:] == sorted(held[1:])
    assert held[-1] > 3.0


def test_longer_is_asked_for_than_the_pauses_would_be():
    held = seconds_held(FrontierRules(delay_s=0.1), HostSignalKind.THROTTLED, retry_after_s=90.0)
    assert held == [90.0] * 6


@pytest.mark.parametrize("rules", [{"backoff_base_s": 0.0}, {"backoff_cap_s": 0.0}])
def test_a_silent_host_has_pauses_that_grow_whatever_the_back_off_of_requests_is(rules):
    """Bug it would catch: ``retry_backoff = 0`` asks a host that is down 2,000 times a second."""
    held = seconds_held(FrontierRules(delay_s=0.0, **rules), HostSignalKind.UNREACHABLE)
    assert held == sorted(held)
    assert held[0] >= 0.05
    assert held[-1] >= 0.1


def test_a_long_delay_is_slowed_down_too():
    """Bug it would catch: `max_delay`, which is a bound of delays that follow a host, is one of this, too."""
    rules = FrontierRules(delay_s=40.0, max_delay_s=30.0)
    host = ended(HostState(in_flight=1), rules, HostSignalKind.THROTTLED)
    assert p.delay_in_force(host, rules) == 80.0
