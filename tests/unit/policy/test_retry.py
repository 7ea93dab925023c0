"""What becomes of a request after a fault."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.policy import retry
from gossamer.words.errors import Fault
from gossamer.words.model import Entry, Lease, Request, Rules, SignalKind, Verdict

RULES = Rules(max_retries=2, max_throttled=3, backoff_base_s=1.0, backoff_cap_s=10.0, retry_after_cap_s=600.0)
NOW = 1000.0


def lease(failures=0, throttled=0):
    entry = Entry(request=Request("http://a/"), fingerprint=1, host="a")
    times = {"granted_at": NOW, "start_by": NOW, "deadline": NOW}
    return Lease(entry=entry, token=1, attempt=1, failures=failures, throttled=throttled, **times)


def decide(fault, held=None, **more):
    return retry.decide(fault, held or lease(), RULES, now=NOW, jitter=0.0, **more)


def test_every_fault_has_a_class_and_only_one():
    classes = [retry.LATER, retry.AGAIN, retry.SETTLED]
    never = set(Fault) - set().union(*classes)
    assert sum(map(len, classes)) + len(never) == len(Fault)
    assert {Fault.DNS, Fault.TLS, Fault.CLIENT, Fault.CALLBACK, Fault.GUARD, Fault.HOST_DOWN} <= never


@pytest.mark.parametrize("fault", sorted(retry.SETTLED))
def test_what_will_not_change_is_skipped(fault):
    assert decide(fault).verdict is Verdict.SKIPPED


@pytest.mark.parametrize("fault", sorted(set(Fault) - retry.SETTLED - retry.AGAIN - retry.LATER))
def test_the_hopeless_is_given_up_at_once(fault):
    assert decide(fault).verdict is Verdict.DEAD


@pytest.mark.parametrize("fault", sorted(retry.AGAIN))
def test_the_transient_is_tried_again_and_charged(fault):
    first = decide(fault)
    assert (first.verdict, first.due_at, first.charged) == (Verdict.RETRY, NOW + 0.5, True)
    assert decide(fault, lease(failures=1)).due_at == NOW + 1.0
    assert decide(fault, lease(failures=2)).verdict is Verdict.DEAD


def test_later_is_not_charged_but_bounded():
    decision = decide(Fault.THROTTLED, lease(failures=99))
    assert (decision.verdict, decision.charged) == (Verdict.RETRY, False)
    assert decide(Fault.THROTTLED, lease(throttled=3)).verdict is Verdict.DEAD


def test_this_machines_trouble_is_charged_to_nobody():
    decision = decide(Fault.LOCAL, lease(failures=99))
    assert (decision.verdict, decision.charged, decision.due_at) == (Verdict.RETRY, False, NOW + 0.5)
    assert decide(Fault.LOCAL, lease(throttled=3)).verdict is Verdict.DEAD  # it ends, too
    assert retry.signal_kind(Fault.LOCAL) is SignalKind.UNUSED


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
    assert retry.signal_kind(Fault.THROTTLED) is SignalKind.THROTTLED
    assert {retry.signal_kind(fault) for fault in retry.UNREACHABLE} == {SignalKind.UNREACHABLE}
    assert {retry.signal_kind(fault) for fault in retry.UNTOUCHED} == {SignalKind.UNUSED}
    assert retry.signal_kind(Fault.SERVER) is SignalKind.FAULT


@pytest.mark.parametrize(
    ("status", "has_retry_after", "fault"),
    [
        (200, False, None),
        (304, True, None),
        (404, False, Fault.GONE),
        (410, False, Fault.GONE),
        (401, False, Fault.CLIENT),
        (408, False, Fault.SERVER),
        (425, False, Fault.SERVER),
        (429, False, Fault.THROTTLED),
        (500, True, Fault.SERVER),
        (503, False, Fault.SERVER),
        (503, True, Fault.THROTTLED),
        (999, False, Fault.SERVER),
    ],
)
def test_statuses(status, has_retry_after, fault):
    assert retry.fault_of_status(status, has_retry_after=has_retry_after) is fault


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
    ],
)
def test_retry_after(value, expected):
    assert retry.parse_retry_after(value, NOW) == expected


@given(st.text(max_size=60))
def test_retry_after_never_raises(value):
    seconds = retry.parse_retry_after(value, NOW)
    assert seconds is None or seconds >= 0
