"""Every state of a job, a host, the fleet and its errors has its sentences; numbers have units."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.core.access import AT_TERMINAL, LOCAL, LoggedAction
from gossamer.core.errors import Fault
from gossamer.core.record import Record
from gossamer.policy.pace_limit import DelayReason
from gossamer.policy.sentences.actions import describe_action, describe_actor
from gossamer.policy.sentences.advice import ADVICE, check_advice
from gossamer.policy.sentences.errors import FailureFacts, advise_on, describe_errors, fate_of, words_for
from gossamer.policy.sentences.fleet import FleetFacts, describe_fleet
from gossamer.policy.sentences.hosts import HostFacts, HostsFacts, describe_host, describe_hosts
from gossamer.policy.sentences.words import LONGEST_NAME, Saying, SentenceFormatter, list_names, short_name
from kit.sentences import NOW, SHOW, check_saying

LONGEST_HEADLINE = 120


def test_a_pace_from_before_a_change_is_not_said_to_be_a_part_of_what_is_allowed_now() -> None:
    facts = HostsFacts(job="shops-7", hosts=1, allowed_per_s=33, started_per_s=89)
    assert describe_hosts(facts, SHOW).reason == (
        "It was asked 89/s lately, more than the 33/s that it allows now."
    )


def test_a_host_that_is_named_by_strangers_is_short_and_on_one_line() -> None:
    evil = "a" * 300 + "\n\x1b[31m"
    assert len(short_name(evil)) <= LONGEST_NAME
    assert short_name(evil).isprintable()
    assert list_names(["a", "b", "c", "d", "e"]) == "a, b, c and 2 others"
    assert list_names(["a", "b", "c", "d"]) == "a, b, c and d"
    assert list_names(["a"]) == "a"
    assert list_names([]) == ""


counts = st.integers(0, 10**8)
spans = st.none() | st.integers(0, 10**6).map(float)
rates = st.none() | st.integers(0, 10**5).map(float)
hosts = st.just("a.example") | st.just("very-long." * 25 + "example")


def facts_of(kind: type[Record], **more: st.SearchStrategy[object]) -> st.SearchStrategy[Record]:
    return st.builds(kind, **more)


host_facts = facts_of(
    HostFacts,
    host=hosts,
    now=st.just(NOW),
    pending=counts,
    delay_s=st.sampled_from([0.0, 9.0]),
    hold_until=st.sampled_from([0.0, NOW + 5]),
    troubled_since=st.sampled_from([0.0, NOW - 5]),
    incidents=counts,
    empties_s=spans,
)
hosts_facts = facts_of(
    HostsFacts,
    job=st.just("shops-7"),
    hosts=counts,
    held=st.dictionaries(st.sampled_from(list(DelayReason)), counts),
    robots=counts,
    slowest=hosts,
    slowest_s=spans,
    allowed_per_s=rates,
    started_per_s=rates,
)
reasons = st.sampled_from([*Fault, "of_another_version"])
error_facts = facts_of(
    FailureFacts,
    attempts=counts,
    failures=counts,
    reasons=counts,
    largest=reasons,
    largest_count=counts,
    largest_hosts=counts,
    host=hosts | st.just(""),
    host_failures=counts,
    host_reason=reasons,
    host_since=st.none() | st.just(NOW),
    dead=counts,
)
fleet_facts = facts_of(
    FleetFacts,
    workers=counts,
    silent=counts,
    slots=counts,
    shifts=counts,
    leader=st.sampled_from(["", "crawl-one"]),
    more_workers=counts,
    due=counts,
    short_job=st.sampled_from(["", "archive"]),
    short_per_s=st.just(3.0),
    short_allowed_per_s=st.just(9.0),
)


@pytest.mark.parametrize(
    ("describe", "facts"),
    [
        (describe_host, host_facts),
        (describe_hosts, hosts_facts),
        (describe_errors, error_facts),
        (describe_fleet, fleet_facts),
    ],
)
@given(data=st.data())
def test_every_state_has_its_sentences(
    data: st.DataObject,
    describe: Callable[[Record, SentenceFormatter], Saying],
    facts: st.SearchStrategy[Record],
) -> None:
    said = describe(data.draw(facts), SHOW)
    check_saying(said, inf if describe is describe_errors else LONGEST_HEADLINE)


# --------------------------------------------------------------------------- single sentences


def test_one_host_that_makes_most_failures_is_named() -> None:
    facts = FailureFacts(attempts=100, failures=50, reasons=2, largest="timeout_headers", largest_hosts=6)
    one = replace(facts, host="api.shop.example", host_failures=20, host_reason="server", host_since=NOW)
    assert describe_errors(one, SHOW).answer == (
        "One host makes 40% of all failures, api.shop.example, since T+0 s: an error of the server (server)."
    )
    assert describe_errors(replace(one, host_failures=26), SHOW).answer.startswith(
        "One host makes half of all"
    )
    assert describe_errors(replace(one, host_failures=50, host_reason=""), SHOW).answer == (
        "One host makes all failures, api.shop.example, since T+0 s."
    )
    assert describe_errors(replace(one, host_failures=19), SHOW).answer.startswith(
        "Two reasons, the largest:"
    )
    assert describe_errors(facts, SHOW).answer.endswith("(timeout_headers) at six hosts.")


def test_each_fault_has_words_a_fate_and_advice() -> None:
    for fault in Fault:
        assert words_for(fault).endswith(f"({fault.value})")
        assert fate_of(fault)
        assert advise_on(fault).endswith(".")
    assert words_for("no_such_fault") == "no such fault"
    assert fate_of("no_such_fault") == advise_on("no_such_fault") == ""
    with pytest.raises(LookupError, match="DNS"):
        check_advice({fault: text for fault, text in ADVICE.items() if fault is not Fault.DNS}, Fault)


@pytest.mark.parametrize(
    ("facts", "answer"),
    [
        (FleetFacts(), "No worker is there, and nothing waits for one."),
        (FleetFacts(due=4), "No worker is there, and 4 requests wait. `gossamer worker` starts one."),
        (FleetFacts(workers=1), "The one worker is there."),
        (FleetFacts(workers=3), "All three workers are there."),
        (FleetFacts(workers=14, silent=1), "14 of 15 workers are there and one is silent."),
        (
            FleetFacts(workers=14, silent=1, more_workers=10),
            "14 of 15 workers are there, one is silent and 10 more would have something to do.",
        ),
    ],
)
def test_how_a_fleet_does(facts: FleetFacts, answer: str) -> None:
    assert describe_fleet(facts, SHOW).answer == answer


# --------------------------------------------------------------------------- what somebody did

SHOP_HOST = "a.example"


@pytest.mark.parametrize(
    ("kind", "what", "before", "after", "said"),
    [
        ("pause", "shops-7", {"state": "running"}, {"state": "paused"}, "pause"),
        (
            "limits", "shops-7", {"settings": {"delay": 0.5, "max_pages": None}},
            {"settings": {"delay": 2.0, "max_pages": 9}}, "delay 0.5 → 2, max_pages none → 9",
        ),
        (
            "back", "shops-7", {"settings": {"delay": 2.0}}, {"settings": {"delay": 0.5}},
            "delay 2 → 0.5, as in the beginning",
        ),
        ("limits", "shops-7", {"settings": {"delay": 0.5}}, {"failed": "no"}, "limits: refused"),
        ("pace", SHOP_HOST, {"set_delay_s": None}, {"set_delay_s": 5.0}, "pace: a.example, the job's → 5 s"),
        ("hold", SHOP_HOST, {}, {"hold_until": NOW + 60}, "hold: a.example until T+60 s"),
        ("skip", SHOP_HOST, {}, {"hold_until": NOW + 60}, "skip: a.example"),
        ("undo", SHOP_HOST, {"kind": "skip"}, {}, "undo skip: a.example"),
    ],
)  # fmt: skip
def test_a_change_says_from_what_to_what(kind, what, before, after, said) -> None:
    done = LoggedAction(at=NOW, token="ann", kind=kind, job="shops-7", what=what, before=before, after=after)
    assert describe_action(done, SHOW) == said


def test_whoever_did_something_is_named() -> None:
    def actor(token: str) -> str:
        return describe_actor(LoggedAction(at=NOW, token=token, kind="pause"))

    assert actor("ann") == "token ann"
    assert actor(f"ann{AT_TERMINAL}") == "ann at the command line"
    assert actor(LOCAL) == "a user of this machine"
