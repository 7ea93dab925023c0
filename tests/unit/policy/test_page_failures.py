"""Whether a failure is its page's own or its host's, as pure functions of a host and a signal."""

import pytest
from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules, HostSignal, HostSignalKind, HostState
from gossamer.policy import page_failures as f
from gossamer.policy import politeness

RULES = FrontierRules(delay_s=0.1)
T = 1000.0
OK, THROTTLED, UNREACHABLE = HostSignalKind.OK, HostSignalKind.THROTTLED, HostSignalKind.UNREACHABLE
FAILURES = pytest.mark.parametrize("kind", [THROTTLED, UNREACHABLE])
PROVEN = HostState(answered_at=T - 1, blamed=f.PROVEN)


def after(host, *steps, **signal):
    """The host after ``(kind, failed)`` steps, ten seconds apart."""
    at = max(T, host.incident_at + 10)
    for nth, (kind, failed) in enumerate(steps):
        now = at + 10 * nth
        told = HostSignal(kind=kind, started_at=now, **signal)
        host = politeness.settle_lease(
            host, RULES, told, now=now, is_page=False, jitter=1.0, mark=2, failed=failed
        )
    return host


@FAILURES
def test_pages_that_fail_again_right_after_an_answer_are_the_cause(kind):
    host = after(HostState(), (OK, 0), (kind, 0), (OK, 0), (kind, 1), (OK, 0), (kind, 1), (OK, 0), (kind, 1))
    assert f.blames_pages(host)


@FAILURES
def test_pages_that_fail_again_after_other_failures_prove_nothing(kind):
    host = after(HostState(), (OK, 0), *[(kind, 0), (kind, 1)] * 5)
    assert host.blamed == 0


@FAILURES
def test_a_failure_of_a_proven_page_neither_slows_nor_holds_its_host(kind):
    host = after(PROVEN, (kind, 0))
    assert (host.pace_s, host.hold_until, host.troubled_since) == (0.0, 0.0, 0.0)


@FAILURES
def test_a_host_all_of_whose_pages_fail_is_in_trouble_whatever_was_proven(kind):
    host = after(PROVEN, *[(kind, 0)] * f.MOST_IN_ROW)
    assert host.troubled_since
    assert f.asks_known(host, 1), "and is probed with a URL that it has answered"
    failed = after(host, (kind, None))
    assert (failed.blamed, failed.incidents) == (0, 2), "which fails as well: it is the host"
    answered = after(host, (OK, None))
    assert (f.blames_pages(answered), answered.troubled_since) == (True, 0.0)


def test_a_page_that_is_answered_the_next_time_outweighs_several_proofs():
    host = after(PROVEN, (OK, 1))
    assert host.blamed == -f.CLEARED
    assert after(host, *[(OK, 2)] * 99).blamed == f.LEAST_BLAMED


def test_a_time_that_a_host_asks_for_is_honoured_whatever_was_proven():
    host = after(PROVEN, (THROTTLED, 5), retry_after_s=77.0)
    assert host.hold_until == T + 77


def test_a_page_that_was_refused_twice_slows_its_host_no_more():
    """Bug it would catch: at a host of which nothing is proven, each refusal of one page halves the pace."""
    host = replace(HostState(answered_at=T - 1), pace_s=0.8, limit_s=0.4)
    assert after(host, (THROTTLED, f.FAILED_BEFORE)).pace_s == 0.4, "it undoes what the former ones did"
    assert after(host, (THROTTLED, 1)).troubled_since


@pytest.mark.parametrize(
    ("incidents", "attempts", "silences", "expected"),
    [(1, 0, 0, False), (1, 1, 0, False), (1, 1, 1, True), (2, 0, 0, True), (3, 0, 0, False), (4, 0, 0, True)],
)
def test_which_probe_is_made_with_a_known_url(incidents, attempts, silences, expected):
    host = HostState(troubled_since=T, answered_at=T, incidents=incidents, silences=silences)
    assert f.asks_known(host, attempts) is expected
    assert not f.asks_known(replace(host, answered_at=0.0), attempts), "none is known"
    assert not f.asks_known(replace(host, troubled_since=0.0), attempts)
