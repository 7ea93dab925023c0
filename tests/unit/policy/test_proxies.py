"""Quarantines of proxies: by cases, and by playing any history through beside a plain model."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gossamer.core.errors import Fault
from gossamer.core.requests import Entry, Lease, Request
from gossamer.core.results import FetchResult, Outcome, Verdict, VisitResult
from gossamer.core.routes import Block, BlockKind, Proxy, Route, RouteReport
from gossamer.policy.proxies import (
    BLOCK_S,
    CANARY_S,
    FAILURE_S,
    MAX_HOSTS,
    UNKNOWN,
    ProxyOutcome,
    QuarantineRules,
    apply_outcome,
    changes_quarantine,
    claim_canary,
    has_canary,
    is_on_trial,
    judge_silence,
    outcome_of,
    release_canary,
    wait_s_of,
)

RULES = QuarantineRules()
ANSWERED, BLOCKED, FAILED, STALLED, SILENT, DOUBTED = ProxyOutcome
PROXY = Proxy(scheme="http", host="proxy.example", port=8080)


def after(health, outcome, now, *, host="a", started_at=None, kind="datacenter", rules=RULES):
    started_at = now if started_at is None else started_at
    return apply_outcome(health, host, outcome, kind=kind, started_at=started_at, now=now, rules=rules)


# --------------------------------------------------------------------------- cases


def test_a_proxy_that_fails_is_left_alone_for_all_hosts():
    health = after(UNKNOWN, FAILED, 100.0)
    assert wait_s_of(health, "a", 100.0) == 30.0
    assert wait_s_of(health, "b", 110.0) == 20.0
    assert wait_s_of(health, "b", 130.0) == 0.0


def test_a_block_keeps_a_proxy_from_that_host_alone():
    health = after(UNKNOWN, BLOCKED, 100.0)
    assert wait_s_of(health, "a", 100.0) == 1800.0
    assert wait_s_of(health, "b", 100.0) == 0.0


@pytest.mark.parametrize(
    ("kind", "length_s"),
    [("datacenter", 1800), ("residential", 120), ("mobile", 60), ("", 600), ("odd", 600)],
)
def test_blocked_datacenter_proxies_rest_longer_than_those_of_homes(kind, length_s):
    assert wait_s_of(after(UNKNOWN, BLOCKED, 0.0, kind=kind), "a", 0.0) == length_s


def test_each_quarantine_that_follows_soon_is_longer_up_to_a_bound():
    health, now, lengths = UNKNOWN, 0.0, []
    for _ in range(9):
        health = after(health, FAILED, now)
        lengths.append(wait_s_of(health, "a", now))
        now += lengths[-1]
    assert lengths == [30.0 * 2**n for n in (0, 1, 2, 3, 4, 5, 6, 6, 6)]
    assert health.quarantines == 9
    assert wait_s_of(after(UNKNOWN, BLOCKED, 0.0, rules=QuarantineRules(max_s=7.0)), "a", 0.0) == 7.0


def test_trouble_that_returns_late_begins_small_again():
    health = after(after(UNKNOWN, FAILED, 0.0), ANSWERED, 40.0)
    assert wait_s_of(after(health, FAILED, 60.0), "a", 60.0) == 60.0
    assert wait_s_of(after(health, FAILED, 71.0), "a", 71.0) == 30.0


def test_requests_that_were_under_way_count_once():
    health = after(UNKNOWN, FAILED, 10.0, started_at=1.0)
    for at in (11.0, 12.0, 39.0):
        assert after(health, FAILED, at, started_at=9.0) == health
    well = after(health, ANSWERED, 45.0, started_at=44.0)
    assert after(well, FAILED, 46.0, started_at=9.5) == well


def test_an_answer_from_before_the_trouble_ends_nothing_and_a_later_one_does():
    health = after(UNKNOWN, FAILED, 10.0)
    assert wait_s_of(after(health, ANSWERED, 11.0, started_at=9.0), "a", 11.0) > 0
    assert wait_s_of(after(health, ANSWERED, 12.0, started_at=11.0), "a", 12.0) == 0


def test_a_block_shows_that_the_proxy_itself_works():
    health = after(after(UNKNOWN, FAILED, 0.0), BLOCKED, 31.0)
    assert wait_s_of(health, "a", 31.0) == 1800.0
    assert wait_s_of(health, "b", 31.0) == 0.0
    assert not is_on_trial(health, "b")


def test_one_canary_at_a_time():
    health = after(UNKNOWN, FAILED, 0.0)
    assert claim_canary(health, "a", "one", 29.0) == health, "too early"
    claimed = claim_canary(health, "a", "one", 31.0)
    assert has_canary(claimed, "a", "one")
    other = claim_canary(claimed, "b", "two", 32.0)
    assert not has_canary(other, "b", "two")
    assert wait_s_of(other, "b", 32.0) == 5.0
    assert claim_canary(claimed, "b", "two", 31.0 + CANARY_S) != claimed, "its worker may be gone"
    assert has_canary(after(claimed, ANSWERED, 33.0), "b", "two"), "nobody need be the canary now"
    assert wait_s_of(release_canary(claimed, "one"), "a", 33.0) == 0.0
    assert release_canary(claimed, "two") == claimed


def test_hosts_that_are_remembered_are_bounded():
    health = UNKNOWN
    for n in range(MAX_HOSTS + 20):
        health = after(health, BLOCKED, float(n), host=f"h{n}")
    assert len(health.hosts) == MAX_HOSTS
    assert "h0" not in health.hosts
    assert f"h{MAX_HOSTS + 19}" in health.hosts


def test_silence_is_the_hosts_or_the_proxys_by_whom_it_met():
    assert judge_silence(["a", "a"]) is SILENT
    assert judge_silence(["a", "a", "a"]) is STALLED
    assert judge_silence(["a", "b", "a"]) is FAILED
    assert not changes_quarantine(UNKNOWN, "a", SILENT)
    assert after(UNKNOWN, SILENT, 0.0) == after(UNKNOWN, DOUBTED, 0.0) == UNKNOWN
    assert wait_s_of(after(UNKNOWN, STALLED, 0.0), "a", 0.0) == 30.0
    assert wait_s_of(after(UNKNOWN, STALLED, 0.0), "b", 0.0) == 0.0


def report(reason="", *, status=0, block=None, proxy=PROXY):
    request = Request("https://a.example/")
    entry = Entry(request=request, fingerprint=1, host="a")
    lease = Lease(entry=entry, token=1, granted_at=0, start_by=0, deadline=0, attempt=1)
    times = {"started_at": 0, "latency_s": 0, "elapsed_s": 0}
    answer = FetchResult(url=request.url, status=status, headers=(), body=b"", rung="http", **times)
    return RouteReport(
        request=request,
        host="a",
        route=Route(proxy=proxy),
        result=VisitResult(outcome=Outcome(lease=lease, verdict=Verdict.RETRY, reason=reason)),
        fetched=answer if status else None,
        block=block,
    )


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        (report(status=200), ANSWERED),
        (report(Fault.CLIENT, status=400), ANSWERED),
        (report(Fault.SERVER, status=500), None),
        (report(Fault.BLOCKED, status=403), BLOCKED),
        (report(status=200, block=Block(kind=BlockKind.CAPTCHA)), BLOCKED),
        (report(Fault.PROXY), FAILED),
        (report(Fault.TIMEOUT_HEADERS), SILENT),
        (report(Fault.PROXY_ANSWER), DOUBTED),
        (report(Fault.CONNECT), SILENT),
        (report(Fault.LOCAL), None),
        (report(Fault.ROBOTS), None),
        (report(Fault.PROXY, proxy=None), None),
    ],
)
def test_what_a_visit_says_of_its_proxy(seen, outcome):
    assert outcome_of(seen) is outcome


# --------------------------------------------------------------------------- any history


class QuarantineMachine(RuleBasedStateMachine):
    """One proxy and its hosts; the model knows only what was answered when."""

    def __init__(self):
        super().__init__()
        self.now = 1000.0
        self.health = UNKNOWN
        self.under_way = {}  # claimant: (host, started_at, is_canary)
        self.names = iter(range(10**6))

    @rule(seconds=st.sampled_from([0.5, 5.0, 31.0, 700.0, 100_000.0]))
    def wait(self, seconds):
        self.now += seconds

    @rule(host=st.sampled_from("ab"))
    def start_request(self, host):
        if wait_s_of(self.health, host, self.now):
            return
        name, canary = str(next(self.names)), is_on_trial(self.health, host)
        if canary:
            others = [
                one
                for one in self.under_way.values()
                if one[2] and one[0] == host and self.now - one[1] < CANARY_S
            ]
            assert not others, "two canaries at a time"
            self.health = claim_canary(self.health, host, name, self.now)
            assert has_canary(self.health, host, name)
            assert wait_s_of(self.health, host, self.now) > 0, "others stay away"
        self.under_way[name] = (host, self.now, canary)

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), outcome=st.sampled_from(ProxyOutcome))
    def end_request(self, data, outcome):
        name = data.draw(st.sampled_from(sorted(self.under_way)))
        host, started_at, canary = self.under_way.pop(name)
        before = self.health
        self.health = after(release_canary(before, name), outcome, self.now, host=host, started_at=started_at)
        if outcome is ANSWERED and canary:  # of troubles that it knew of
            left = (self.health.whole, self.health.hosts.get(host))
            assert not [one for one in left if one and not one.ended_at and one.began_at <= started_at]
        if outcome in (FAILED, BLOCKED, STALLED) and not is_on_trial(before, host) and not before.quarantines:
            assert wait_s_of(self.health, host, self.now) > 0
        if outcome is BLOCKED and host != "b" and "b" not in self.health.hosts and self.health.whole is None:
            assert wait_s_of(self.health, "b", self.now) == 0

    @invariant()
    def each_returns(self):
        bound = max(BLOCK_S["datacenter"], FAILURE_S["datacenter"]) * 64
        for host in "ab":
            assert 0 <= wait_s_of(self.health, host, self.now) <= bound
            assert wait_s_of(self.health, host, self.now + bound + CANARY_S) == 0


TestAnyHistory = QuarantineMachine.TestCase
TestAnyHistory.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
