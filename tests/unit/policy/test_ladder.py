"""When a host climbs the ladder, when it comes down, and what becomes of the request."""

import heapq
import math
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from msgspec.structs import replace

from gossamer.core.errors import Fault
from gossamer.core.requests import Entry, Lease, Request
from gossamer.core.results import Attempt, FetchResult, Outcome, Verdict, VisitResult
from gossamer.core.routes import Block, BlockKind, Proxy, Route, RouteReport
from gossamer.policy.ladder import (
    PROBE_TTL_S,
    LadderRules,
    LadderState,
    RungReport,
    RungSignal,
    is_probe_due,
    learn_from_report,
    lower_rung,
    present_rung,
    read_report,
    release_probe,
    send_probe,
)

RUNGS = ("http", "impersonate", "browser")
RULES = LadderRules(rungs=RUNGS, order=RUNGS)
SUCCESS, REFUSED, DOUBTFUL, NOTHING, SILENT, UNASKED = RungSignal
FRESH = LadderState()


def report(rung="http", at=1.0, signal=REFUSED, fingerprint=1, guise=""):
    return RungReport(
        rung=rung, started_at=at, signal=signal, fingerprint=fingerprint, why="cloudflare", guise=guise
    )


def learn(state, *reports, rules=RULES, now=None):
    """The last decision of several reports, each taken in a second after it began."""
    for one in reports:
        decision = learn_from_report(state, rules, one, one.started_at + 1 if now is None else now)
        state = decision.state
    return decision


class TestClimbing:
    def test_a_certain_refusal_climbs_at_once(self):
        decision = learn(FRESH, report(at=10.0))
        assert (decision.state.rung, decision.is_again, decision.wait_s) == ("impersonate", True, 0.0)
        assert decision.step == "climbs from http to impersonate: cloudflare"
        assert (decision.state.since, decision.state.why, decision.state.steps) == (11.0, decision.step, 1)

    def test_requests_that_are_refused_together_climb_one_rung(self):
        state, agains = FRESH, []
        for number in range(64):
            decision = learn(state, report(at=1.0, fingerprint=number), now=5.0)
            state = decision.state
            agains.append(decision.is_again)
        assert (state.rung, state.steps) == ("impersonate", 1)
        assert all(agains)

    def test_a_refusal_on_the_new_rung_climbs_further(self):
        assert learn(FRESH, report(at=1), report("impersonate", at=3)).state.rung == "browser"

    def test_a_request_that_began_before_the_step_says_nothing_of_the_new_rung(self):
        """It had come down from there, and its answer is late."""
        down = LadderState(rung="http", since=50.0, steps=2)
        decision = learn(down, report("http", at=49.0))
        assert decision.state is down
        assert decision.is_again

    def test_the_highest_rung_is_the_end(self):
        top = LadderState(rung="browser", since=1.0)
        decision = learn(top, report("browser", at=5.0))
        assert (decision.state, decision.is_again, decision.step) == (top, False, "")

    def test_looks_of_several_requests_in_a_row_climb(self):
        looks = [report(at=n, signal=DOUBTFUL, fingerprint=n) for n in (1, 2, 3)]
        first = learn(FRESH, *looks[:2])
        assert (first.state.rung, first.is_again, first.wait_s) == ("", True, 5.0)
        assert learn(FRESH, *looks).state.rung == "impersonate"

    def test_a_success_between_begins_anew(self):
        looks = [report(at=n, signal=DOUBTFUL, fingerprint=n) for n in range(1, 5)]
        between = report(at=3, signal=SUCCESS, fingerprint=9)
        decision = learn(FRESH, looks[0], looks[1], between, looks[2], looks[3])
        assert decision.state.rung == ""
        assert decision.state.suspects == (3, 4)

    def test_a_page_that_is_forbidden_to_all_gets_a_second_look_and_no_more(self):
        look = report(signal=DOUBTFUL, fingerprint=7)
        first = learn(FRESH, look)
        assert first.is_again
        for between in ((), (report(signal=SUCCESS, fingerprint=1),)):
            second = learn(first.state, *between, look, look)
            assert (second.state.rung, second.is_again) == ("", False)

    @pytest.mark.parametrize("signal", [SUCCESS, NOTHING, SILENT, UNASKED])
    def test_pages_and_throttling_never_climb(self, signal):
        assert learn(FRESH, *[report(at=n, signal=signal, fingerprint=n) for n in range(99)]).state is FRESH

    def test_a_second_look_is_for_each_rung(self):
        """The request that made the host climb has one on the next rung, too."""
        looks = [report(at=n, signal=DOUBTFUL, fingerprint=n) for n in (1, 2, 3)]
        up = learn(FRESH, *looks)
        assert (up.state.rung, up.is_again) == ("impersonate", True)
        again = learn(up.state, report("impersonate", at=5.0, signal=DOUBTFUL, fingerprint=3))
        assert (again.state.rung, again.is_again, again.wait_s) == ("impersonate", True, 5.0)

    @pytest.mark.parametrize("guise", ["", "http://p1"])
    def test_one_request_climbs_alone_where_no_page_of_its_host_has_come(self, guise):
        look = replace(report(signal=DOUBTFUL, guise=guise), is_unheard=True)
        third = learn(FRESH, look, look, look)
        assert (third.state.rung, third.is_again, third.wait_s) == ("impersonate", True, 0.0)
        assert third.step == "climbs from http to impersonate: cloudflare"
        assert learn(FRESH, look, look, replace(look, is_unheard=False)).state.rung == ""
        others = report(at=2.0, signal=SUCCESS, fingerprint=9)
        assert learn(FRESH, look, look, others, look).state.rung == "", (
            "it was leased before the other's page"
        )
        top = LadderState(rung="browser")
        assert not learn(top, *[replace(look, rung="browser")] * 3).step

    def test_a_look_waits_for_others_on_a_slow_host_and_never_too_long(self):
        look = report(at=10.0, signal=DOUBTFUL, fingerprint=7)
        first = learn(FRESH, look)
        for gap_s, wait_s in [(1.0, 9.0), (20.0, 60.0), (3600.0, 300.0)]:  # 9: after the first look is due
            again = learn(first.state, replace(look, started_at=10.0 + gap_s))
            assert (again.is_again, again.wait_s) == (True, wait_s)
        others = learn(first.state, report(at=20.0, signal=SUCCESS, fingerprint=1))
        assert not learn(others.state, replace(look, started_at=30.0)).is_again, "others are let in"

    def test_the_first_look_climbs_where_one_is_enough(self):
        rules = replace(RULES, climb_after=1)
        assert learn(FRESH, report(signal=DOUBTFUL), rules=rules).state.rung == "impersonate"


class TestProxies:
    def test_a_refusal_is_the_proxys_until_several_are_refused(self):
        refused = [report(at=n, guise=f"http://p{n}") for n in (1, 2, 3)]
        second = learn(FRESH, *refused[:2])
        assert (second.state.rung, second.is_again) == ("", True)
        assert learn(FRESH, *refused).state.rung == "impersonate"

    def test_one_proxy_counts_once(self):
        decision = learn(FRESH, *[report(at=n, guise="http://p1") for n in range(9)])
        assert (decision.state.rung, decision.is_again) == ("", True)

    def test_a_success_through_another_proxy_begins_anew(self):
        refused = [report(at=n, guise=f"http://p{n}") for n in (1, 2)]
        fine = report(at=3, signal=SUCCESS, guise="http://p3")
        assert learn(FRESH, *refused, fine, report(at=4, guise="http://p4")).state.guises == ("http://p4",)

    def test_at_the_top_the_request_is_tried_through_the_others_when_several_proxies_are_refused(self):
        top = LadderState(rung="browser")
        refused = [report("browser", at=n, guise=f"http://p{n}") for n in (1, 2, 3, 4)]
        assert learn(top, *refused[:2]).is_again
        for end in (3, 4):
            assert learn(top, *refused[:end]).is_again


class TestProbes:
    UP = learn(FRESH, report(at=0.0)).state  # on impersonate since 1.0
    DUE = 1.0 + RULES.probe_after_s

    def test_one_request_at_a_time_tries_the_lower_rung(self):
        assert not is_probe_due(self.UP, RULES, self.DUE - 1)
        assert is_probe_due(self.UP, RULES, self.DUE)
        sent = send_probe(self.UP, RULES, self.DUE)
        assert not is_probe_due(sent, RULES, self.DUE + 1)
        assert send_probe(sent, RULES, self.DUE + 1) is sent
        assert is_probe_due(sent, RULES, self.DUE + PROBE_TTL_S), "nobody came back from it"

    def test_two_successes_come_down(self):
        sent = send_probe(self.UP, RULES, self.DUE)
        first = learn(sent, report(at=self.DUE, signal=SUCCESS)).state
        assert (first.rung, first.probe_wins) == ("impersonate", 1)
        again = send_probe(first, RULES, self.DUE + 2)
        decision = learn(again, report(at=self.DUE + 2, signal=SUCCESS))
        assert decision.step == "comes down from impersonate to http: it answers there again"
        assert (decision.state.rung, decision.state.probe_at) == ("http", 0.0)

    def test_a_failure_doubles_the_time_and_costs_the_request_nothing(self):
        sent = send_probe(self.UP, RULES, self.DUE)
        decision = learn(sent, report(at=self.DUE))
        assert decision.is_again
        assert (decision.state.rung, decision.state.steps) == ("impersonate", 1)
        assert decision.state.probe_at == self.DUE + 1 + 2 * RULES.probe_after_s

    @pytest.mark.parametrize(
        ("signal", "wait_s"), [(SILENT, RULES.probe_after_s), (NOTHING, 60.0), (UNASKED, 0.0)]
    )
    def test_a_probe_that_says_nothing_proves_nothing(self, signal, wait_s):
        sent = send_probe(self.UP, RULES, self.DUE)
        decision = learn(sent, report(at=self.DUE, signal=signal))
        assert (decision.is_again, decision.state.probe_wait_s) == (False, RULES.probe_after_s)
        assert decision.state.probe_at == self.DUE + 1 + wait_s

    def test_a_probe_that_is_given_back_is_not_out(self):
        sent = send_probe(self.UP, RULES, self.DUE)
        assert is_probe_due(release_probe(sent, RULES, "http"), RULES, self.DUE)
        assert release_probe(sent, RULES, "impersonate") is sent

    def test_an_old_request_is_no_probe(self):
        sent = send_probe(self.UP, RULES, self.DUE)
        assert learn(sent, report(at=0.5, signal=SUCCESS)).state is sent

    def test_who_climbs_again_waits_longer_to_come_down(self):
        down = LadderState(rung="http", since=10.0, probe_wait_s=100.0)
        assert learn(down, report(at=20.0)).state.probe_wait_s == 200.0

    def test_the_time_is_bounded(self):
        rules = replace(RULES, longest_probe_s=5000.0)
        assert learn(self.UP, report("impersonate", at=9.0), rules=rules).state.probe_wait_s <= 5000.0

    def test_the_lowest_rung_has_none(self):
        assert not is_probe_due(LadderState(rung="http", probe_at=1.0), RULES, 1e9)


class TestRungsThatCannotBeUsed:
    def test_the_next_one_above_is_taken(self):
        rules = replace(RULES, rungs=("http", "browser"))
        assert present_rung(LadderState(rung="impersonate"), rules) == "browser"
        assert learn(FRESH, report(), rules=rules).state.rung == "browser"

    def test_else_the_highest(self):
        rules = replace(RULES, rungs=("http", "impersonate"))
        assert present_rung(LadderState(rung="browser"), rules) == "impersonate"

    def test_a_rung_of_former_settings_begins_at_the_bottom(self):
        assert present_rung(LadderState(rung="gateway:old"), RULES) == "http"


class TestReports:
    REQUEST = Request("http://a.test/x")

    def told(self, *, status=200, verdict=Verdict.SUCCESS, reason="", block=None, route=None, headers=()):
        entry = Entry(request=self.REQUEST, fingerprint=7, host="a.test")
        lease = Lease(entry=entry, token=1, granted_at=0.0, start_by=9.0, deadline=9.0, attempt=1)
        row = Attempt(at=3.0, url=self.REQUEST.url, fingerprint=7, verdict=verdict, reason=reason)
        fetched = FetchResult(
            url=self.REQUEST.url,
            status=status,
            headers=headers,
            body=b"",
            started_at=3.0,
            latency_s=0.1,
            elapsed_s=0.1,
            rung="http",
        )
        return read_report(
            RouteReport(
                request=self.REQUEST,
                host="a.test",
                route=route or Route(),
                result=VisitResult(outcome=Outcome(lease=lease, verdict=verdict), attempts=(row,)),
                fetched=fetched if status else None,
                block=block,
            )
        )

    def test_a_page_is_a_success_even_if_the_spiders_code_raised(self):
        assert self.told().signal is SUCCESS
        assert self.told(verdict=Verdict.DEAD, reason=Fault.CALLBACK).signal is SUCCESS
        assert self.told() == RungReport(rung="http", started_at=3.0, signal=SUCCESS, fingerprint=7)

    @pytest.mark.parametrize(
        "answer",
        [
            {"status": 301, "verdict": Verdict.REDIRECT},
            {"verdict": Verdict.REDIRECT},
            {"status": 404, "verdict": Verdict.SKIPPED, "reason": Fault.GONE},
            {"status": 500, "verdict": Verdict.RETRY, "reason": Fault.SERVER},
            {"status": 200, "reason": Fault.LOGGED_OUT},
        ],
    )
    def test_other_answers_say_nothing(self, answer):
        assert self.told(**answer).signal is NOTHING

    def test_no_answer_and_nobody_asked(self):
        assert self.told(status=0, verdict=Verdict.RETRY, reason=Fault.CONNECT).signal is SILENT
        assert self.told(status=0, verdict=Verdict.SKIPPED, reason=Fault.ROBOTS).signal is UNASKED

    @pytest.mark.parametrize("more", [{"reason": Fault.THROTTLED}, {"headers": (("retry-after", "9"),)}])
    def test_a_host_that_asks_for_time_never_climbs(self, more):
        """Not even where the answer has the mark of a vendor."""
        certain = Block(kind=BlockKind.CLOUDFLARE)
        assert self.told(status=503, verdict=Verdict.RETRY, block=certain, **more).signal is SILENT

    @pytest.mark.parametrize("status", [421, 426, 505])
    @pytest.mark.parametrize("upgrade", ["", "HTTP/2.0", "h2c", "TLS/1.0, HTTP/1.1", "websocket, h2"])
    def test_a_host_that_wants_another_version_of_http_refuses_the_rung(self, status, upgrade):
        """And no proxy: through another one it would say the same."""
        proxy = Proxy(scheme="http", host="p.test", port=80)
        route = Route(rung="http", proxy=proxy)
        headers = (("upgrade", upgrade),) if upgrade else ()
        report = self.told(
            status=status, verdict=Verdict.DEAD, reason=Fault.CLIENT, headers=headers, route=route
        )
        assert (report.signal, report.guise) == (REFUSED, "")
        assert report.why == f"status {status} asks for another version of HTTP"
        assert learn_from_report(LadderState(), RULES, report, 5.0).state.rung == RULES.rungs[1]

    @pytest.mark.parametrize("upgrade", ["websocket", "IRC/6.9", "WebSocket, x-own"])
    def test_a_place_for_another_protocol_says_nothing_of_the_rung(self, upgrade):
        report = self.told(
            status=426, verdict=Verdict.DEAD, reason=Fault.CLIENT, headers=(("upgrade", upgrade),)
        )
        assert report.signal is NOTHING

    @pytest.mark.parametrize("status", [400, 406, 418, 431, 500, 501, 506])
    def test_neighbouring_statuses_say_nothing_of_the_version(self, status):
        assert self.told(status=status, verdict=Verdict.DEAD, reason=Fault.CLIENT).signal is NOTHING

    def test_blocks(self):
        certain = self.told(status=403, block=Block(kind=BlockKind.AWS_WAF, detail="x-amzn-waf-action"))
        assert (certain.signal, certain.why) == (REFUSED, "aws waf: x-amzn-waf-action")
        bare = Block(kind=BlockKind.STATUS, detail="status 403", is_certain=False)
        weak = self.told(status=403, block=bare)
        assert (weak.signal, weak.why) == (DOUBTFUL, "status 403")
        assert self.told(verdict=Verdict.RETRY, reason=Fault.MISSING).signal is DOUBTFUL

    def test_the_guise_is_the_proxy_without_its_password(self):
        proxy = Proxy(scheme="http", host="p.test", port=1, user="u", password="secret")
        assert self.told(route=Route(proxy=proxy, session="s1")).guise == proxy.name
        assert self.told(route=Route(session="s1")).guise == ""


reports = st.builds(
    RungReport,
    rung=st.sampled_from(RUNGS),
    started_at=st.floats(0, 1e5),
    signal=st.sampled_from(RungSignal),
    fingerprint=st.integers(0, 9),
    why=st.just("x"),
    guise=st.sampled_from(["", "p1", "p2", "p3", "p4"]),
)


@given(st.lists(reports, max_size=40))
def test_whatever_is_reported_one_report_is_one_step_at_most(many):
    state, now = FRESH, 0.0
    for one in sorted(many, key=lambda r: r.started_at):
        now = max(now, one.started_at)
        before, before_rung = state, present_rung(state, RULES)
        decision = learn_from_report(state, RULES, one, now)
        state = decision.state
        rung = present_rung(state, RULES)
        assert abs(RUNGS.index(rung) - RUNGS.index(before_rung)) <= 1
        assert state.steps - before.steps == (rung != before_rung) == bool(decision.step)
        if one.signal not in (REFUSED, DOUBTFUL):
            assert RUNGS.index(rung) <= RUNGS.index(before_rung)
            assert not decision.is_again
        if rung == before_rung == "browser" and not one.guise and one.rung == "browser":
            assert not (one.signal is REFUSED and one.started_at >= state.since and decision.is_again)
        assert len(state.suspects) <= RULES.climb_after
        assert len(state.guises) <= RULES.climb_after
        assert len(state.doubted) <= 100


@given(st.integers(2, 9), st.lists(st.sampled_from([0, 1, 2]), max_size=60))
def test_fewer_requests_than_asked_for_never_climb(climb_after, seen):
    rules = replace(RULES, climb_after=max(climb_after, 4))
    looks = [report(at=n, signal=DOUBTFUL, fingerprint=which) for n, which in enumerate(seen)]
    assert not looks or learn(FRESH, *looks, rules=rules).state.rung == ""


FOUR_RUNGS = LadderRules(rungs=tuple("abcd"), order=tuple("abcd"), climb_after=3)


@st.composite
def crawls(draw):
    """A ladder, how each rung below the one that is let in is refused, and a crawl of pages at some pace."""
    rungs = tuple(f"rung-{number}" for number in range(draw(st.integers(1, 6))))
    climb_after = draw(st.integers(1, 4))
    return {
        "rules": LadderRules(rungs=rungs, order=rungs, climb_after=climb_after),
        "refusals": draw(st.lists(st.sampled_from([REFUSED, DOUBTFUL]), max_size=len(rungs))),
        "pages": draw(st.integers(1, 12)),
        "slots": draw(st.integers(1, 5)),
        "delay_s": draw(st.sampled_from([0.0, 0.5, 3.0, 10.0, 60.0])),
    }


def crawl_pages(rules, refusals, pages, slots, delay_s):
    """How often each page was asked for, and those that are dead, as a crawl by these rules has it.

    Of the requests that are due the first page is the next, ``slots`` at a time; an answer takes a second.
    """
    state, now, dead, starts = FRESH, 0.0, set(), Counter()
    due_at = dict.fromkeys(range(pages), 0.0)
    in_flight = []  # (when it ends, page, rung, when it began)
    is_unheard = True
    while due_at or in_flight:
        has_slot = due_at and len(in_flight) < slots
        starts_at = max(now + delay_s, min(due_at.values())) if has_slot else math.inf
        if not in_flight or starts_at <= in_flight[0][0]:
            now = starts_at
            page = min(page for page, at in due_at.items() if at <= now)
            del due_at[page]
            starts[page] += 1
            heapq.heappush(in_flight, (now + 1.0, page, present_rung(state, rules), now))
            continue
        ended_at, page, rung, began_at = heapq.heappop(in_flight)
        now = max(now, ended_at)
        place = rules.rungs.index(rung)
        signal = refusals[place] if place < len(refusals) else SUCCESS
        one = replace(report(rung, at=began_at, signal=signal, fingerprint=page), is_unheard=is_unheard)
        is_unheard &= signal is not SUCCESS
        decision = learn_from_report(state, rules, replace(one, attempt=starts[page]), now)
        state = decision.state
        if decision.is_again:
            due_at[page] = now + decision.wait_s
        elif signal is not SUCCESS:
            dead.add(page)
    return starts, dead


@given(crawls())
@example({"rules": RULES, "refusals": [DOUBTFUL] * 2, "pages": 60, "slots": 8, "delay_s": 0.0})
@example({"rules": RULES, "refusals": [DOUBTFUL] * 2, "pages": 60, "slots": 1, "delay_s": 10.0})
@example({"rules": RULES, "refusals": [DOUBTFUL] * 2, "pages": 1, "slots": 8, "delay_s": 0.0})
@example({"rules": FOUR_RUNGS, "refusals": [DOUBTFUL] * 3, "pages": 3, "slots": 4, "delay_s": 0.0})
def test_no_page_is_lost_below_the_rung_that_is_let_in(crawl):
    """However many rungs refuse, however they do, and at any pace."""
    starts, dead = crawl_pages(**crawl)
    rungs = crawl["rules"].rungs
    assert dead == (set(starts) if len(crawl["refusals"]) == len(rungs) else set())
    assert max(starts.values()) <= 4 * len(rungs)


class HostMachine(RuleBasedStateMachine):
    """A host that admits a rung and all above it, and many workers with late answers."""

    def __init__(self):
        super().__init__()
        self.now = 0.0
        self.state = FRESH
        self.admits = 0
        self.in_flight = []  # (rung, started_at, fingerprint, whether it will be refused)
        self.climbs = 0

    @rule(admits=st.integers(0, 2))
    def change_host(self, admits):
        self.admits = admits
        self.climbs = 0

    @rule(fingerprint=st.integers(0, 1000))
    def start_request(self, fingerprint):
        rung = present_rung(self.state, RULES)
        sent = send_probe(self.state, RULES, self.now)
        if sent is not self.state:
            self.state, rung = sent, lower_rung(sent, RULES)
        self.in_flight.append((rung, self.now, fingerprint, RUNGS.index(rung) < self.admits))

    @rule(data=st.data())
    def end_request(self, data):
        if self.in_flight:
            rung, at, fingerprint, refused = self.in_flight.pop(
                data.draw(st.integers(0, len(self.in_flight) - 1))
            )
            one = report(rung, at=at, signal=REFUSED if refused else SUCCESS, fingerprint=fingerprint)
            decision = learn_from_report(self.state, RULES, one, self.now)
            was = RUNGS.index(present_rung(self.state, RULES))
            self.state = decision.state
            self.climbs += RUNGS.index(present_rung(self.state, RULES)) > was
            assert decision.is_again == refused or was == 2, "a refusal below the top is tried again"

    @rule(seconds=st.sampled_from([1.0, 200.0, 4000.0, 9000.0]))
    def wait(self, seconds):
        self.now += seconds

    @invariant()
    def climbs_are_few(self):
        """However many are refused: once per rung, and once more for each time that it came down wrongly."""
        assert self.climbs <= 2 + self.state.steps // 2

    def teardown(self):
        """Asked long enough, the host is on the cheapest rung that it admits."""
        self.in_flight.clear()
        for number in range(60):
            self.now += self.state.probe_wait_s + PROBE_TTL_S
            for _ in range(3):
                self.start_request(fingerprint=number)
                rung, at, fingerprint, refused = self.in_flight.pop()
                one = report(rung, at=at, signal=REFUSED if refused else SUCCESS, fingerprint=fingerprint)
                self.state = learn_from_report(self.state, RULES, one, self.now).state
                self.now += 1
        assert present_rung(self.state, RULES) == RUNGS[self.admits]
        assert math.isfinite(self.state.probe_at)


HostMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestHost = HostMachine.TestCase
