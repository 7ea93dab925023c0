"""Who a crawl is for a site: when an identity is retired, and what is new then."""

from __future__ import annotations

import pytest

from gossamer.core.errors import Fault
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult, Outcome, Verdict, VisitResult
from gossamer.core.routes import DIRECT, Block, BlockKind, Proxy, Route, RouteReport
from gossamer.policy import sessions
from gossamer.policy.sessions import SessionKey, SessionRules, SessionState, SessionVerdict
from kit.engine import URL

NOW = 1000.0
KEY = SessionKey(site="site.test")
THROUGH_PROXY = Route(rung="http+datacenter", proxy=Proxy(scheme="http", host="p.test", port=1))
GOOD, NEUTRAL, TROUBLE, REFUSED = SessionVerdict


def used(rules, *verdicts):
    """The state of an identity after pages that ended so."""
    state = SessionState(created_at=NOW)
    for verdict in verdicts:
        state = sessions.count_uses(state, 1, rules, verdict, 1)
    return state


def page(status=200):
    return FetchResult(
        url=URL, status=status, headers=(), body=b"", started_at=NOW, latency_s=0, elapsed_s=0, rung="http"
    )


def report(verdict, reason="", *, route=DIRECT, fetched=None, block=None):
    outcome = Outcome(lease=None, verdict=verdict, reason=reason)  # type: ignore[arg-type]
    request = Request(URL)
    return RouteReport(
        request=request,
        host="site.test",
        route=route,
        result=VisitResult(outcome=outcome),
        fetched=fetched,
        block=block,
    )


@pytest.mark.parametrize(
    ("rules", "verdicts", "is_over"),
    [
        (SessionRules(), [GOOD] * 1000, False),
        (SessionRules(max_uses=3), [GOOD, NEUTRAL], False),
        (SessionRules(max_uses=3), [GOOD, NEUTRAL, GOOD], True),
        (SessionRules(), [TROUBLE, TROUBLE], False),
        (SessionRules(), [TROUBLE, TROUBLE, TROUBLE], True),
        (SessionRules(), [TROUBLE, GOOD, GOOD, TROUBLE, TROUBLE], False),
        (SessionRules(), [GOOD, GOOD, TROUBLE, TROUBLE, TROUBLE], True),  # nothing is saved up
        (SessionRules(), [REFUSED], True),
        (SessionRules(), [REFUSED, GOOD, GOOD], True),  # known for what it is, whatever comes late
        (SessionRules(max_errors=1.0), [TROUBLE], True),
    ],
)
def test_an_identity_is_retired_by_use_and_by_errors(rules, verdicts, is_over):
    assert sessions.is_retired(used(rules, *verdicts), rules, NOW) is is_over


def test_an_identity_is_retired_by_age():
    rules, state = SessionRules(max_age_s=60.0), SessionState(created_at=NOW)
    assert not sessions.is_retired(state, rules, NOW + 59)
    assert sessions.is_retired(state, rules, NOW + 60)


def test_the_next_generation_has_other_cookies_another_proxy_and_another_browser():
    rules = SessionRules(profiles=("chrome", "firefox"))
    first = sessions.bind_proxy(sessions.open_state(None, KEY, rules, NOW), "http://p1")
    assert sessions.bind_proxy(first, "http://p2") == first, "the first choice counts"
    assert sessions.open_state(first, KEY, rules, NOW + 5) is first
    second = sessions.open_state(sessions.retire_state(first, 1, rules), KEY, rules, NOW + 5)
    one, two = sessions.identity_of(KEY, first), sessions.identity_of(KEY, second)
    assert (one.session, one.proxy, one.profile) == ("", "http://p1", "chrome")
    assert (two.session, two.proxy, two.profile) == ("#2", "", "firefox")
    assert second.created_at == NOW + 5


def test_late_news_of_a_former_generation_is_ignored():
    state = SessionState(created_at=NOW, generation=2)
    assert sessions.count_uses(state, 1, SessionRules(), REFUSED, 5) is state
    assert sessions.retire_state(state, 1, SessionRules()) is state


@pytest.mark.parametrize(
    ("key", "generation", "session"),
    [
        (KEY, 1, ""),
        (SessionKey(site="s", name="me"), 1, "me"),
        (SessionKey(site="s", name="me"), 3, "me#3"),
        (SessionKey(site="s", slot=2), 1, "~3"),
        (SessionKey(site="s", name="me", kind="mobile"), 2, "me+mobile#2"),
    ],
)
def test_whose_cookies_an_identity_has(key, generation, session):
    assert sessions.cookie_session(key, generation) == session


LOG_IN = Block(kind=BlockKind.LOG_IN)
CERTAIN = Block(kind=BlockKind.CLOUDFLARE)
DOUBTFUL = Block(kind=BlockKind.STATUS, is_certain=False)


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        (report(Verdict.SUCCESS, fetched=page()), GOOD),
        (report(Verdict.REDIRECT, fetched=page(302)), GOOD),
        (report(Verdict.SKIPPED, Fault.GONE, fetched=page(404)), NEUTRAL),
        (report(Verdict.DEAD, Fault.BLOCKED, fetched=page(403), block=CERTAIN), REFUSED),
        (report(Verdict.DEAD, Fault.BLOCKED, fetched=page(403), block=DOUBTFUL), TROUBLE),
        (
            report(Verdict.RETRY, Fault.LOGGED_OUT, fetched=page(302), block=Block(kind=BlockKind.LOG_IN)),
            NEUTRAL,
        ),
        (report(Verdict.RETRY, Fault.PROXY, route=THROUGH_PROXY), TROUBLE),
        (report(Verdict.RETRY, Fault.TIMEOUT_HEADERS, route=THROUGH_PROXY), TROUBLE),
        (report(Verdict.RETRY, Fault.TIMEOUT_HEADERS), NEUTRAL),  # a silent host knows nobody
        (report(Verdict.RETRY, Fault.LOCAL, route=THROUGH_PROXY), None),
        (report(Verdict.SKIPPED, Fault.ROBOTS), None),
    ],
)
def test_what_a_page_says_of_who_asked(told, verdict):
    assert sessions.judge_report(told) is verdict
