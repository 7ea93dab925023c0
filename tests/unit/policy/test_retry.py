"""What becomes of a request after a fault."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.core.errors import Fault
from gossamer.core.hosts import FrontierRules, HostSignalKind
from gossamer.core.requests import Entry, Lease, Request
from gossamer.core.results import Verdict
from gossamer.policy import retry
from gossamer.policy.faults import FAULTS, UNREACHABLE, FaultKind

RULES = FrontierRules(
    max_retries=2, max_throttled=3, backoff_base_s=1.0, backoff_cap_s=10.0, retry_after_cap_s=600.0
)
NOW = 1000.0


def faults(*kinds):
    """The faults of these kinds."""
    return sorted(fault for fault, row in FAULTS.items() if row.kind in kinds)


def lease(failures=0, throttled=0, **more):
    entry = Entry(request=Request("http://a/"), fingerprint=1, host="a")
    times = {"granted_at": NOW, "start_by": NOW, "deadline": NOW}
    return Lease(entry=entry, token=1, attempt=1, failures=failures, throttled=throttled, **times, **more)


def decide(fault, held=None, **more):
    return retry.decide_retry(fault, held or lease(), RULES, now=NOW, jitter=0.0, **more)


@pytest.mark.parametrize("fault", faults(FaultKind.SETTLED))
def test_what_will_not_change_is_skipped(fault):
    assert decide(fault).verdict is Verdict.SKIPPED


@pytest.mark.parametrize("fault", faults(FaultKind.HOPELESS, FaultKind.NAMELESS, FaultKind.LOST_WORKER))
def test_the_hopeless_is_given_up_at_once(fault):
    assert decide(fault).verdict is Verdict.DEAD


@pytest.mark.parametrize("fault", faults(FaultKind.TRANSIENT, FaultKind.STEP))
def test_the_transient_is_tried_again_and_charged(fault):
    first = decide(fault)
    assert (first.verdict, first.due_at, first.charged) == (Verdict.RETRY, NOW + 0.5, True)
    assert decide(fault, lease(failures=1)).due_at == NOW + 1.0
    assert decide(fault, lease(failures=2)).verdict is Verdict.DEAD


@pytest.mark.parametrize("fault", [Fault.CONNECT, Fault.TIMEOUT_HEADERS])
@pytest.mark.parametrize(
    ("method", "most", "verdict"),
    [
        ("POST", 0, Verdict.DEAD),
        ("POST", 1, Verdict.RETRY),
        ("PUT", 0, Verdict.RETRY),
        ("GET", 0, Verdict.RETRY),
    ],
)
def test_what_must_not_be_done_twice_is_sent_once(fault, method, most, verdict):
    """Bug it would catch: an order that may not be tried again is placed twice when no answer comes."""
    held = lease(host_answered=True)
    request = held.entry.request.replace(method=method, max_retries=most)
    assert decide(fault, replace(held, entry=replace(held.entry, request=request))).verdict is verdict


@pytest.mark.parametrize("most", [0, 5])
def test_a_request_may_have_a_number_of_retries_of_its_own(most):
    held = lease(failures=most)
    entry = replace(held.entry, request=held.entry.request.replace(max_retries=most))
    assert decide(Fault.SERVER, replace(held, entry=entry)).verdict is Verdict.DEAD
    assert decide(Fault.SERVER, replace(held, entry=entry, failures=most - 1)).verdict is Verdict.RETRY


def test_later_is_not_charged_but_bounded():
    decision = decide(Fault.THROTTLED, lease(failures=99))
    assert (decision.verdict, decision.charged) == (Verdict.RETRY, False)
    assert decide(Fault.THROTTLED, lease(throttled=3)).verdict is Verdict.DEAD


def test_this_machines_trouble_is_charged_to_nobody():
    decision = decide(Fault.LOCAL, lease(failures=99))
    assert (decision.verdict, decision.charged, decision.due_at) == (Verdict.RETRY, False, NOW + 0.5)
    assert decide(Fault.LOCAL, lease(throttled=3)).is_excused
    later = replace(lease(throttled=3), attempt=2160)  # it ends, too: after the time that hosts have
    assert decide(Fault.LOCAL, later).verdict is Verdict.DEAD
    assert retry.signal_kind(Fault.LOCAL) is HostSignalKind.UNUSED


def test_a_gateway_that_asks_for_time_gets_it_at_no_charge():
    decision = decide(Fault.SERVICE, lease(failures=99), retry_after_s=40.0)
    assert (decision.verdict, decision.charged, decision.due_at) == (Verdict.RETRY, False, NOW + 40.0)
    assert decide(Fault.SERVICE, lease(), retry_after_s=1e9).due_at == NOW + 600.0
    assert retry.signal_kind(Fault.SERVICE_FAILED) is HostSignalKind.UNUSED


@pytest.mark.parametrize("fault", faults(FaultKind.UNANSWERED))
def test_no_answer_is_charged_to_the_page_that_meets_it_twice_at_a_host_that_answers_others(fault):
    first = decide(fault, lease(host_answered=True))
    assert (first.verdict, first.charged, first.is_excused) == (Verdict.RETRY, False, False)
    second = decide(fault, lease(throttled=1, host_answered=True))
    assert (second.verdict, second.charged) == (Verdict.RETRY, True)
    assert decide(fault, lease(throttled=1, failures=2, host_answered=True)).verdict is Verdict.DEAD


@pytest.mark.parametrize("fault", faults(FaultKind.UNANSWERED))
def test_no_answer_of_a_host_that_has_never_answered_is_charged(fault):
    assert decide(fault, lease(is_probe=True)).charged
    assert decide(fault, lease(is_probe=True, failures=2)).verdict is Verdict.DEAD


@pytest.mark.parametrize("fault", faults(FaultKind.UNANSWERED, FaultKind.OVERLOAD))
def test_while_the_host_is_in_trouble_nothing_is_charged_to_its_pages(fault):
    tired = lease(throttled=99, failures=99, host_answered=True, is_probe=True, host_pause_s=2.0)
    decision = decide(fault, tired)
    assert (decision.verdict, decision.charged, decision.is_excused) == (Verdict.RETRY, False, True)


def test_a_failing_gateway_is_charged_when_the_same_page_meets_it_again_and_again():
    for standing in ({}, {"is_probe": True, "is_suspect": True}):
        assert not decide(Fault.GATEWAY, lease(throttled=2, **standing)).charged
        assert decide(Fault.GATEWAY, lease(throttled=3, **standing)).charged
        assert decide(Fault.GATEWAY, lease(throttled=3, failures=2, **standing)).verdict is Verdict.DEAD


@pytest.mark.parametrize("fault", faults(FaultKind.THROTTLED, FaultKind.OVERLOAD, FaultKind.UNANSWERED))
@pytest.mark.parametrize("is_probe", [False, True])
def test_where_pages_are_the_cause_a_failure_is_charged_like_any_other(fault, is_probe):
    held = lease(blames_pages=True, host_answered=True, is_probe=is_probe)
    assert (decide(fault, held).verdict, decide(fault, held).charged) == (Verdict.RETRY, True)
    assert decide(fault, replace(held, failures=2)).verdict is Verdict.DEAD
    once = replace(held, entry=replace(held.entry, request=held.entry.request.replace(max_retries=0)))
    assert not decide(fault, once).charged, "it may be the beginning of an outage"
    assert decide(fault, replace(once, throttled=1)).verdict is Verdict.DEAD


def test_trouble_that_one_page_alone_has_met_is_bounded():
    for fault in (Fault.TIMEOUT_HEADERS, Fault.THROTTLED):
        alone = lease(throttled=2, is_probe=True, is_suspect=True, host_answered=True)
        assert (decide(fault, alone).charged, decide(fault, alone).is_excused) == (False, False)
        assert decide(fault, replace(alone, throttled=3)).verdict is Verdict.DEAD


def test_a_name_that_is_gone_is_an_outage_only_of_a_host_that_had_one():
    assert decide(Fault.DNS, lease(is_probe=True)).verdict is Verdict.DEAD
    assert decide(Fault.DNS, lease(is_probe=True, host_answered=True)).is_excused


def test_a_probe_waits_longer_than_its_host_so_that_another_page_is_the_next():
    for nth in range(1, 20):
        host_waits = retry.growing_pause_s(nth, 1.0, retry.LONGEST_PAUSE_S, 1.0)
        rules = replace(RULES, backoff_cap_s=300.0)
        probe = lease(is_probe=True, host_pause_s=host_waits, host_answered=True)
        for fault in (Fault.CONNECT, Fault.THROTTLED):
            assert retry.decide_retry(fault, probe, rules, now=NOW, jitter=0.0).due_at >= NOW + host_waits


@pytest.mark.parametrize("standing", [{}, {"is_probe": True, "is_suspect": True}])
@pytest.mark.parametrize("host_waits", [1.4, 5.6, retry.LONGEST_PAUSE_S, 240.0])
@pytest.mark.parametrize("jitter", [0.0, 0.99])
def test_a_refused_request_waits_as_long_as_its_host_and_no_longer_than_any_may(standing, host_waits, jitter):
    """Bug it would catch: it stands first in the queue when its host may be asked, and is each probe."""
    rules = replace(RULES, backoff_base_s=0.3, backoff_cap_s=300.0)
    refused = lease(host_pause_s=host_waits, host_answered=True, **standing)
    for fault in (Fault.THROTTLED, Fault.GATEWAY, Fault.CONNECT):
        due_at = retry.decide_retry(fault, refused, rules, now=NOW, jitter=jitter).due_at
        assert NOW + host_waits <= due_at <= NOW + max(host_waits, retry.LONGEST_PAUSE_S)


def test_a_named_time_is_honoured_with_a_cap():
    assert decide(Fault.THROTTLED, retry_after_s=120.0).due_at == NOW + 120
    assert decide(Fault.THROTTLED, retry_after_s=-1.0).due_at == NOW
    assert decide(Fault.THROTTLED, retry_after_s=1e15).due_at == NOW + 600
    assert decide(Fault.SERVER, retry_after_s=120.0).due_at == NOW + 120
    assert decide(Fault.SERVER, retry_after_s=0.0).due_at == NOW + 0.5


@given(nth=st.integers(1, 10_000), jitter=st.floats(0, 1, exclude_max=True))
def test_back_off_is_bounded_and_at_least_half(nth, jitter):
    whole = min(2.0 ** min(nth - 1, 20), 10.0)
    assert whole / 2 <= retry.backoff_s(nth, RULES, jitter) <= whole


def test_what_a_fault_says_of_the_host():
    for fault, row in FAULTS.items():
        assert retry.signal_kind(fault) is row.signal
        assert (fault in UNREACHABLE) == (row.signal is HostSignalKind.UNREACHABLE)


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (200, None),
        (304, None),
        (404, Fault.GONE),
        (410, Fault.GONE),
        (401, Fault.CLIENT),
        (408, Fault.SERVER),
        (425, Fault.SERVER),
        (429, Fault.THROTTLED),
        (500, Fault.SERVER),
        (502, Fault.GATEWAY),
        (503, Fault.THROTTLED),
        (504, Fault.GATEWAY),
        (999, Fault.SERVER),
    ],
)
def test_statuses(status, fault):
    assert retry.fault_of_status(status) is fault


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("", None),
        ("-1", None),
        ("soon", None),
        ("1.5", None),
        ("\u0663", None),
        ("Thu, 01 Jan 1970 00:17:40 GMT", 60.0),
        ("Thu, 01 Jan 1970 00:00:01 GMT", 0.0),
        ("Thu, 32 Jan 1970 00:00:00 GMT", None),
        ("Thu Jan  1 00:17:40 1970", 60.0),
        ("Thu, 01 Jan 1970 00:17:40 -0000", 60.0),
    ],
)
def test_retry_after(value, expected, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")  # no form of a date is that of this machine's zone
    time.tzset()
    try:
        _check_retry_after(value, expected)
    finally:
        monkeypatch.undo()
        time.tzset()


def _check_retry_after(value, expected):
    assert retry.parse_retry_after(value, NOW) == expected


@given(st.text(max_size=60))
def test_retry_after_never_raises(value):
    seconds = retry.parse_retry_after(value, NOW)
    assert seconds is None or seconds >= 0
