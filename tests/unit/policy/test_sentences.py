"""Every state of a job, a host, the fleet and its errors has its sentences; numbers have units."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.core.access import AT_TERMINAL, LOCAL, LoggedAction
from gossamer.core.errors import Fault
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.record import Record
from gossamer.policy.goals import ListingGoal
from gossamer.policy.pace_limit import DelayReason, PaceLimit
from gossamer.policy.sentences.actions import describe_action, describe_actor
from gossamer.policy.sentences.advice import ADVICE, check_advice
from gossamer.policy.sentences.errors import FailureFacts, advise_on, describe_errors, fate_of, words_for
from gossamer.policy.sentences.fleet import FleetFacts, OverviewFacts, describe_fleet, describe_overview
from gossamer.policy.sentences.hosts import HostFacts, HostsFacts, describe_host, describe_hosts
from gossamer.policy.sentences.jobs import ObservedJobFacts, SlowHost, describe_job
from gossamer.policy.sentences.words import LONGEST_NAME, Saying, SentenceFormatter, list_names, short_name

NOW = 1_000_000.0
SHOW = SentenceFormatter(
    span=lambda seconds: f"{seconds:.0f} s",
    time=lambda at: f"T+{at - NOW:.0f} s",
    rate=lambda rate: f"{rate:.0f}/s",
    size=lambda count: f"{count:.0f} B",
)
LONGEST_HEADLINE = 120
NUMBER_WITH_UNIT = re.compile(r"(?<![\w:.+-])\d[\d,.]*(?:/s|%| of| (?:[KMG]iB|[a-z]+))")
NUMBER = re.compile(r"(?<![\w:.+-])\d[\d,.]*")

SHOPS = ObservedJobFacts(
    id="shops-7",
    state=JobState.RUNNING,
    now=NOW,
    created_at=NOW - 600,
    is_fleet=True,
    limit=PaceLimit.POLITENESS,
    pages=1_204_551,
    waiting=589_655,
    pages_per_s=214,
    allowed_per_s=223,
    left_s=7680,
    slowest=SlowHost(
        host="lamps.example", pending=768, delay_s=10, why=DelayReason.ROBOTS, empties_s=7680, others_s=4000
    ),
)


def say(**changes: object) -> Saying:
    return describe_job(replace(SHOPS, **changes), SHOW)


def test_what_the_site_announces_is_said_beside_what_waits() -> None:
    goals = (
        ListingGoal(what="offers", done=3, total=40),
        ListingGoal(what="products", done=3120, total=4213),
    )
    assert "requests wait. It has 3,120 of 4,213 products." in say(goals=goals[1:]).reason
    assert "It has 3 of 40 offers and 3,120 of 4,213 products." in say(goals=goals, pages_per_s=None).reason


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({"state": JobState.PAUSED}, "shops-7 is paused."),
        ({"state": JobState.CANCELLED}, "shops-7 was cancelled."),
        ({"state": JobState.FINISHED}, "shops-7 is finished: nothing is left to do."),
        (
            {"state": JobState.FINISHED, "pages": 0, "dead": 1},
            "shops-7 is finished, and has not got a single page.",
        ),
        ({"limit": PaceLimit.BUDGET, "max_pages": 50_000}, "shops-7 reached its budget of 50,000 pages."),
        ({"limit": PaceLimit.BUDGET}, "shops-7 has spent its budget."),
        ({"created_at": NOW - 4}, "shops-7 has just begun."),
        ({"has_supervisor": False}, "Nobody looks after shops-7: no supervisor is there."),
        ({"has_workers": False}, "Nobody works on shops-7: no worker takes its lane."),
        ({"is_fleet": False, "is_at_work": False}, "Nobody works on shops-7: no process crawls it."),
        (
            {"is_at_work": False, "end_reason": FinishReason.MAX_PAGES, "max_pages": 1},
            "shops-7 reached its budget of 1 page.",
        ),
        ({"is_at_work": False, "end_reason": FinishReason.BUDGET}, "shops-7 has spent its budget."),
        (
            {"is_at_work": False, "end_reason": FinishReason.MAX_PAGES},
            "shops-7 has nothing left that may be asked for: its hosts have spent their budget of pages "
            "(max_pages_per_host).",
        ),
        (
            {"is_at_work": False, "end_reason": FinishReason.SKIPPED},
            "shops-7 ended: all that waits is of hosts that are skipped.",
        ),
        (
            {"limit": PaceLimit.HELD, "held_hosts": 1, "skipped_hosts": 1},
            "shops-7 waits: its one host is skipped.",
        ),
        (
            {"limit": PaceLimit.HELD, "held_hosts": 0, "left_s": None, "is_growing": True},
            "shops-7 is under way; it finds pages faster than it fetches them.",
        ),
        (
            {"limit": PaceLimit.HELD, "held_hosts": 2, "skipped_hosts": 2},
            "shops-7 waits: all of its 2 hosts are skipped.",
        ),
        ({"is_at_work": False, "end_reason": FinishReason.MAX_TIME}, "shops-7 reached its budget of time."),
        ({"is_at_work": False, "end_reason": FinishReason.ERROR}, "shops-7 ended with an error."),
        ({"is_at_work": False, "end_reason": FinishReason.INTERRUPTED}, "shops-7 was interrupted."),
        ({"is_at_work": False, "end_reason": FinishReason.SIGNAL}, "shops-7 was stopped."),
        (
            {"limit": PaceLimit.HELD, "held_hosts": 1, "held_until": NOW + 60, "is_asked_for": True},
            "shops-7 is left alone until T+60 s, as its host asked.",
        ),
        (
            {"limit": PaceLimit.HELD, "held_hosts": 3, "held_until": NOW + 60, "is_asked_for": True},
            "shops-7 is left alone until T+60 s: all of its 3 hosts are on hold.",
        ),
        (
            {"limit": PaceLimit.STORE, "store": "PostgreSQL", "store_lag_s": 6.0},
            "shops-7 waits for PostgreSQL, for 6 s.",
        ),
        ({"limit": PaceLimit.WORKERS}, "shops-7 goes slower than its hosts allow: it lacks workers."),
        (
            {"limit": PaceLimit.NOTHING_DUE, "next_at": NOW + 90},
            "shops-7 waits: nothing may start before T+90 s.",
        ),
        ({}, "shops-7 goes as fast as its hosts allow and is done at about T+7680 s, in 7680 s."),
        (
            {"left_s": None, "is_growing": True},
            "shops-7 goes as fast as its hosts allow; it finds pages faster than it fetches them.",
        ),
        ({"left_s": None}, "shops-7 goes as fast as its hosts allow."),
        ({"left_s": None, "limit": None}, "shops-7 is under way."),
        ({"limit": PaceLimit.NOTHING_DUE, "left_s": None}, "shops-7 is under way."),
        ({"limit": PaceLimit.NOTHING_DUE, "next_at": NOW + 2, "left_s": None}, "shops-7 is under way."),
    ],
)
def test_the_first_sentence_of_a_job(changes: dict[str, object], answer: str) -> None:
    assert say(**changes).answer == answer


def test_the_second_sentence_says_pace_what_waits_and_what_comes_last() -> None:
    assert say().reason == (
        "Pages: 214/s of the 223/s that its hosts allow. 589,655 requests wait. "
        "The last host is lamps.example, with 768 requests 10 s apart, as its robots.txt asks; "
        "all others are through by T+4000 s."
    )
    assert say(left_s=None, left_note="too early to say").reason.endswith(
        "cannot be said yet: too early to say."
    )
    assert (
        "10 more workers would have something to do" in say(limit=PaceLimit.WORKERS, more_workers=10).reason
    )


def test_a_pace_from_before_a_change_is_not_said_to_be_a_part_of_what_is_allowed_now() -> None:
    faster = "89/s lately, more than the 33/s that its hosts allow now."
    assert say(pages_per_s=89, allowed_per_s=33).reason.startswith(f"Pages: {faster}")
    assert say(pages_per_s=34, allowed_per_s=33).reason.startswith("Pages: 34/s of the 33/s that")
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


job_facts = facts_of(
    ObservedJobFacts,
    id=st.just("a-spider-with-a-name-of-some-length-12"),
    now=st.just(NOW),
    created_at=st.sampled_from([NOW, NOW - 1000]),
    end_error=st.just("boom"),
    pages=counts,
    items=counts,
    waiting=counts,
    dead=counts,
    max_pages=st.none() | counts,
    pages_per_s=rates,
    allowed_per_s=rates,
    left_s=spans,
    left_note=st.sampled_from(["", "too early to say"]),
    held_until=st.none() | st.just(NOW + 5),
    held_hosts=counts,
    next_at=st.none() | st.just(NOW + 5),
    due=counts,
    more_workers=counts,
    store=st.just("PostgreSQL"),
    store_lag_s=st.sampled_from([0.0, 8.0]),
    slowest=st.none()
    | facts_of(
        SlowHost,
        host=hosts,
        pending=counts,
        delay_s=st.sampled_from([0.0, 9.0]),
        empties_s=st.just(9.0),
        others_s=spans,
    ),
)
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
overview_facts = facts_of(
    OverviewFacts,
    jobs=counts,
    running=counts,
    need_you=counts,
    well=counts,
    pages_per_s=st.sampled_from([None, 9.0]),
    allowed_per_s=rates,
    short_job=st.sampled_from(["", "archive"]),
    next_job=st.sampled_from(["", "docs"]),
    next_s=spans,
)


@pytest.mark.parametrize(
    ("describe", "facts"),
    [
        (describe_job, job_facts),
        (describe_host, host_facts),
        (describe_hosts, hosts_facts),
        (describe_errors, error_facts),
        (describe_fleet, fleet_facts),
        (describe_overview, overview_facts),
    ],
)
@given(data=st.data())
def test_every_state_has_its_sentences(
    data: st.DataObject,
    describe: Callable[[Record, SentenceFormatter], Saying],
    facts: st.SearchStrategy[Record],
) -> None:
    said = describe(data.draw(facts), SHOW)
    assert 0 < len(said.answer) <= LONGEST_HEADLINE or describe is describe_errors
    assert said.answer[0].isupper() or said.answer[0] in "av" or said.answer[0].isdigit()
    for text in filter(None, said):
        assert text.endswith(".")
        assert not re.search(r"None|  |\.\.", text)
        bare = [
            text[found.start() :]
            for found in NUMBER.finditer(text)
            if not NUMBER_WITH_UNIT.match(text, found.start())
        ]
        assert not bare, f"numbers without a unit: {bare}"


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


@pytest.mark.parametrize(
    ("facts", "answer"),
    [
        (OverviewFacts(), "Nothing has been crawled yet."),
        (OverviewFacts(jobs=3), "Nothing runs, and nothing needs you."),
        (OverviewFacts(jobs=1, running=1, well=1), "The one job that runs takes care of itself."),
        (OverviewFacts(jobs=7, running=7, well=7), "All seven jobs take care of themselves."),
        (
            OverviewFacts(jobs=7, running=7, need_you=2, well=5),
            "Two jobs need you. The other five take care of themselves.",
        ),
        (
            OverviewFacts(jobs=2, running=2, need_you=1, well=1),
            "One job needs you. The other one takes care of itself.",
        ),
        (
            OverviewFacts(jobs=2, running=1, has_place_trouble=True),
            "The jobs are well, but something that they need is not.",
        ),
    ],
)
def test_whether_anything_needs_a_person(facts: OverviewFacts, answer: str) -> None:
    assert describe_overview(facts, SHOW).answer == answer


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
    assert actor(LOCAL) == "somebody on this machine"
