"""In short: each situation of a job and of all jobs has its sentence, and no two sentences contradict."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.core.jobs import DueCounts
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.policy.goals import ListingGoal
from gossamer.policy.pace_limit import DelayReason, PaceLimit
from gossamer.policy.sentences.job_facts import (
    JobSituation,
    ObservedJobFacts,
    SlowHost,
    drop_refuted,
    find_situation,
    is_held_up,
)
from gossamer.policy.sentences.jobs import SAYS, SENTENCES, describe_job
from gossamer.policy.sentences.overview import OverviewFacts, OverviewSituation, describe_overview
from gossamer.policy.sentences.troubles import NEEDS
from gossamer.policy.sentences.words import Saying, SentenceFormatter
from gossamer.policy.time_left import LeftReason, TimeEstimate
from gossamer.policy.troubles import SEVERITIES, Severity, Trouble, TroubleKind, make_trouble
from kit.scripts import script_module
from kit.sentences import NOW, SHOW, check_saying

LONGEST_HEADLINE = 160
"""Three lines of a phone."""

LEFT = TimeEstimate(at=NOW, reason=LeftReason.KNOWN, least_s=7000, most_s=9000)
GROWING = TimeEstimate(at=NOW, reason=LeftReason.GROWING)
UNKNOWN = TimeEstimate(at=NOW)
SHOPS = ObservedJobFacts(
    id="shops-7",
    state=JobState.RUNNING,
    now=NOW,
    created_at=NOW - 600,
    is_fleet=True,
    limit=PaceLimit.POLITENESS,
    attempts=1_300_000,
    answered=1_204_551,
    pages=1_204_551,
    waiting=589_655,
    hosts=40,
    slots=4,
    pages_per_s=214,
    allowed_per_s=223,
    left=LEFT,
    slowest=SlowHost(
        host="lamps.example", pending=768, delay_s=10, why=DelayReason.ROBOTS, empties_s=7680, others_s=4000
    ),
)
NO_SUCCESS = make_trouble(
    TroubleKind.NO_SUCCESS, "a.example", "a.example has answered nothing.", since=NOW - 2640, job="shops-7"
)
DRIFT = make_trouble(TroubleKind.DRIFT, "price", "100% have no price.", since=NOW, job="shops-7")
CLOSED = "a.example is closed until T+9 s: its robots.txt gives server"


def say(**changes: Any) -> Saying:
    return describe_job(replace(SHOPS, **changes), SHOW)


@pytest.fixture(scope="module")
def examples() -> Iterator[ModuleType]:
    """The examples of the documentation."""
    with script_module("reference_in_short") as module:
        yield module


def test_each_situation_has_a_rule_a_sentence_and_an_example(examples: ModuleType) -> None:
    """In the order of the table of the documentation, which is that of the rules."""
    assert set(SENTENCES) == set(JobSituation)
    assert [find_situation(examples.example_of(one)) for one in JobSituation] == [*JobSituation]
    assert len(examples.job_sentences().splitlines()) == 2 + len(JobSituation)
    assert len(examples.overview_sentences().splitlines()) == 2 + len(OverviewSituation)


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({"state": JobState.PAUSED}, "shops-7 is paused."),
        ({"state": JobState.CANCELLED}, "shops-7 was cancelled."),
        ({"state": JobState.FINISHED}, "shops-7 is finished: nothing is left to do."),
        ({"state": JobState.FINISHED, "dropped": {"late": 9}}, "shops-7 is finished, and has no items."),
        ({"state": JobState.FINISHED, "dead": 12}, "shops-7 is finished, and 12 requests were given up."),
        (
            {"state": JobState.FINISHED, "pages": 0, "answered": 0, "dead": 1},
            "shops-7 is finished, and has not got a single page.",
        ),
        ({"state": JobState.FINISHED, "pages": 0}, "shops-7 is finished: nothing is left to do."),
        ({"limit": PaceLimit.BUDGET, "max_pages": 50_000}, "shops-7 reached its budget of 50,000 pages."),
        ({"limit": PaceLimit.BUDGET}, "shops-7 has spent its budget."),
        ({"unreadable": "boom"}, "It is not known how shops-7 does: its requests cannot be read."),
        ({"unwritable": "boom", "has_supervisor": False}, "shops-7 waits: nothing can be stored now."),
        ({"away": "PostgreSQL"}, "shops-7 waits for PostgreSQL, which does not answer."),
        ({"created_at": NOW - 4}, "shops-7 has just begun."),
        (
            {"attempts": 0, "limit": None, "waiting": 0},
            "shops-7 has not begun: no request has been tried yet.",
        ),
        ({"has_supervisor": False}, "No supervisor looks after shops-7."),
        (
            {"has_supervisor": False, "led_s_ago": 12.0},
            "shops-7 gets no new shifts at this moment: no supervisor leads.",
        ),
        ({"has_workers": False}, "No worker takes the lane of shops-7."),
        ({"refusing": 2, "refusal": "another version"}, "No worker can run shops-7."),
        ({"is_fleet": False, "is_at_work": False}, "No process crawls shops-7."),
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
        ({"is_at_work": False, "end_reason": FinishReason.MAX_TIME}, "shops-7 reached its budget of time."),
        ({"is_at_work": False, "end_reason": FinishReason.ERROR}, "shops-7 ended with an error."),
        (
            {"is_at_work": False, "end_reason": FinishReason.NOT_BEGUN},
            "shops-7 has no requests: its start failed.",
        ),
        ({"is_at_work": False, "end_reason": FinishReason.INTERRUPTED}, "shops-7 was interrupted."),
        ({"is_at_work": False, "end_reason": FinishReason.SIGNAL}, "shops-7 was stopped."),
        (
            {"limit": PaceLimit.HELD, "held": {DelayReason.SKIPPED: 1}},
            "shops-7 waits: its host is skipped.",
        ),
        (
            {"limit": PaceLimit.HELD, "held": {DelayReason.SKIPPED: 2}},
            "shops-7 waits: all of its 2 hosts are skipped.",
        ),
        (
            {"limit": PaceLimit.HELD, "held": {}, "left": GROWING},
            "shops-7 is under way.",
        ),
        (
            {"limit": PaceLimit.HELD, "held": {DelayReason.RETRY_AFTER: 1}, "held_until": NOW + 60},
            "shops-7 waits until T+60 s: its host asked for time.",
        ),
        (
            {"limit": PaceLimit.HELD, "held": {DelayReason.DOWN: 3}, "held_until": NOW + 60},
            "shops-7 waits until T+60 s: none of its 3 hosts answers.",
        ),
        (
            {"limit": PaceLimit.HELD, "held": {DelayReason.DOWN: 2, DelayReason.BACKOFF: 1}},
            "shops-7 waits: all of its 3 hosts are left alone.",
        ),
        (
            {"limit": PaceLimit.HELD, "held": {DelayReason.BACKOFF: 1}, "closed": CLOSED},
            "shops-7 waits: its robots.txt cannot be fetched.",
        ),
        (
            {"limit": PaceLimit.STORE, "store": "PostgreSQL", "store_lag_s": 6.0},
            "shops-7 waits for PostgreSQL, for 6 s.",
        ),
        (
            {"limit": PaceLimit.WORKERS},
            "shops-7 goes slower than its hosts allow: all four slots are busy.",
        ),
        (
            {"limit": PaceLimit.WORKERS, "is_fleet": False},
            "shops-7 goes slower than its hosts allow: no more may be in flight at once.",
        ),
        (
            {"limit": PaceLimit.NOTHING_DUE, "next_at": NOW + 90},
            "shops-7 waits: nothing may start before T+90 s.",
        ),
        ({}, "shops-7 goes as fast as its hosts allow and is done in about 2 hours."),
        ({"slowed": 40, "left": UNKNOWN}, "shops-7 is throttled by all of its hosts."),
        (
            {"left": GROWING},
            "shops-7 goes as fast as its hosts allow.",
        ),
        ({"left": UNKNOWN}, "shops-7 goes as fast as its hosts allow."),
        ({"left": UNKNOWN, "limit": None}, "shops-7 is under way."),
        ({"limit": PaceLimit.NOTHING_DUE, "left": UNKNOWN}, "shops-7 is under way."),
        ({"limit": PaceLimit.NOTHING_DUE, "next_at": NOW + 2, "left": UNKNOWN}, "shops-7 is under way."),
        ({"needs": (NO_SUCCESS,)}, "shops-7 needs you: a.example answers nothing well."),
        (
            {"needs": (DRIFT, NO_SUCCESS), "state": JobState.FINISHED},
            "shops-7 needs you: price of its items is not as usual, and one more alert is on.",
        ),
    ],
)
def test_the_first_sentence_of_a_job(changes: dict[str, Any], answer: str) -> None:
    assert say(**changes).answer == answer


def test_the_second_sentence_says_pace_what_waits_and_what_comes_last() -> None:
    assert say().reason == (
        "Pages: 214/s of the 223/s that its hosts allow. 589,655 requests wait. "
        "The last host is lamps.example, with 768 requests 10 s apart, as its robots.txt asks; "
        "all others are through by T+4000 s."
    )
    assert say(left=GROWING).reason.endswith("wait. Still finding pages as fast as it fetches them.")
    faster = "89/s lately, more than the 33/s that its hosts allow now."
    assert say(pages_per_s=89, allowed_per_s=33).reason.startswith(f"Pages: {faster}")
    assert say(pages_per_s=34, allowed_per_s=33).reason.startswith("Pages: 34/s of the 33/s that")


def test_a_job_whose_items_were_all_dropped_reports_why_however_it_ended() -> None:
    """Bug it would catch: exit code 1 of a job that "is finished: nothing is left to do"."""
    why = "Every item was dropped (9 items): 9 late; `gossamer report quality shops-7` shows examples."
    changes = {"pages": 5, "dropped": {"late": 9}}
    over = say(state=JobState.FINISHED, dead=2, **changes)
    assert over.reason == f"5 pages, 0 items. {why} 2 requests were given up."
    stopped = say(is_at_work=False, end_reason=FinishReason.MAX_TIME, waiting=7, **changes)
    assert stopped.reason.endswith(f"starts it again. {why}")
    assert "dropped" not in say(state=JobState.FINISHED, items=1, **changes).reason


def test_where_slots_are_the_limit_more_of_them_are_recommended() -> None:
    assert "`gossamer worker --slots N`" in say(limit=PaceLimit.WORKERS).reason
    assert "`--concurrency N`" in say(limit=PaceLimit.WORKERS, is_fleet=False).reason


def test_what_the_site_announces_is_said_beside_what_waits() -> None:
    goals = (
        ListingGoal(what="offers", done=3, total=40),
        ListingGoal(what="products", done=3120, total=4213),
    )
    assert "requests wait. It has 3,120 of 4,213 products." in say(goals=goals[1:]).reason
    assert "It has 3 of 40 offers and 3,120 of 4,213 products." in say(goals=goals, pages_per_s=None).reason


def test_hosts_that_give_nothing_are_named_beside_those_that_do() -> None:
    said = say(held={DelayReason.DOWN: 2}, troubled="a.example has not answered since T-2640 s", slowed=1)
    assert "One host of 40 refused faster requests." in said.reason
    assert "Two hosts of 40 are not asked for now. a.example has not answered since T-2640 s." in said.reason


def test_proxies_of_which_none_can_be_used_are_named_whatever_the_pace_is() -> None:
    """Bug it would catch: "is under way", while all that goes by proxies stands still."""
    assert "No proxy can be used now." in say(has_lost_proxies=True).reason
    assert (
        "No proxy can be used now."
        in say(has_lost_proxies=True, limit=PaceLimit.HELD, held={DelayReason.DOWN: 40}).reason
    )
    assert is_held_up(replace(SHOPS, has_lost_proxies=True))


def test_whoever_is_missing_is_told_from_whoever_is_silent() -> None:
    said = say(has_workers=False, silent_workers=2, paused_workers=1).reason
    assert said.startswith("Two workers are silent, and one worker is paused or leaving. `gossamer worker`")


# --------------------------------------------------------------------------- no contradictions

counts = st.integers(0, 10**8)
few = st.integers(0, 3)
spans = st.none() | st.integers(0, 10**6).map(float)
rates = st.none() | st.integers(0, 10**5).map(float)
hosts = st.just("a.example") | st.just("very-long." * 25 + "example")
NEEDING = [kind for kind, severity in SEVERITIES.items() if severity is Severity.NEEDS_YOU]


def make_need(kind: TroubleKind) -> Trouble:
    return make_trouble(kind, "a.example", "Something is wrong.", since=NOW, job="shops-7")


def make_needs(kinds: list[TroubleKind]) -> tuple[Trouble, ...]:
    return tuple(map(make_need, kinds))


needs = st.lists(st.sampled_from(NEEDING), max_size=3, unique=True).map(make_needs)
times_left = st.sampled_from([LEFT, *(TimeEstimate(at=NOW, reason=why) for why in LeftReason)])
job_facts = st.builds(
    ObservedJobFacts,
    id=st.just("a-spider-with-a-name-of-some-length-12"),
    now=st.just(NOW),
    created_at=st.sampled_from([NOW, NOW - 1000]),
    end_error=st.just("boom"),
    unreadable=st.sampled_from(["", "", "", "Redis does not answer"]),
    unwritable=st.sampled_from(["", "", "", "the disk is full"]),
    away=st.sampled_from(["", "", "", "PostgreSQL"]),
    led_s_ago=st.sampled_from([None, 5.0, 500.0]),
    refusing=few,
    refusal=st.just("another version"),
    silent_workers=few,
    paused_workers=few,
    unserved=st.sampled_from([(), (DueCounts(lane="browser", requests=8),)]),
    attempts=few,
    answered=few,
    pages=few,
    items=counts | st.just(0),
    dropped=st.sampled_from([{}, {"late": 9}]),
    waiting=counts,
    dead=few,
    max_pages=st.none() | counts,
    pages_per_s=rates,
    allowed_per_s=rates,
    left=times_left,
    hosts=few,
    held=st.dictionaries(st.sampled_from([*DelayReason]), st.integers(1, 2), max_size=2),
    held_until=st.none() | st.just(NOW + 5),
    slowed=few,
    closed=st.sampled_from(["", CLOSED]),
    troubled=st.sampled_from(["", "a.example has not answered since T-2640 s"]),
    next_at=st.none() | st.just(NOW + 50),
    due=few,
    more_workers=few,
    slots=few,
    store=st.just("PostgreSQL"),
    store_lag_s=st.sampled_from([0.0, 8.0]),
    slowest=st.none()
    | st.builds(
        SlowHost,
        host=hosts,
        pending=counts,
        delay_s=st.sampled_from([0.0, 9.0]),
        empties_s=st.just(9.0),
        others_s=spans,
    ),
    goals=st.just(()),
    needs=needs,
)


def add_up(facts: OverviewFacts) -> OverviewFacts:
    running = facts.held_up + facts.well
    return replace(facts, running=running, jobs=running + facts.need_you)


overview_facts = st.builds(
    OverviewFacts,
    jobs=st.just(9),
    running=st.just(0),
    need_you=few,
    held_up=few,
    well=few,
    place=st.lists(st.sampled_from([TroubleKind.AWAY, TroubleKind.REDIS_MEMORY]), max_size=1).map(make_needs),
    pages_per_s=st.sampled_from([None, 9.0]),
    allowed_per_s=rates,
    short_job=st.sampled_from(["", "archive"]),
    next_job=st.sampled_from(["", "docs"]),
    next_left=times_left,
    unchecked_s=st.sampled_from([None, 80.0]),
).map(add_up)

CLAIMS: dict[str, Callable[[ObservedJobFacts], bool]] = {
    r"is finished": lambda f: f.state is JobState.FINISHED,
    r"nothing is left to do": lambda f: f.state is JobState.FINISHED and not f.dead,
    r"has no items|[Ee]very item was dropped": lambda f: bool(f.dropped) and not f.items,
    r"is paused\.": lambda f: f.state is JobState.PAUSED,
    r"not got a single page": lambda f: not f.pages,
    r"were? given up": lambda f: f.dead > 0,
    r"Nothing waits": lambda f: not f.waiting and not f.unreadable,
    r"is done in|[Dd]one in|The last host is": lambda f: f.left.is_known and f.has_supervisor and not f.away,
    r"no supervisor leads|gossamer supervisor": lambda f: f.is_fleet and not f.has_supervisor,
    r"`gossamer supervisor` starts one": lambda f: f.led_s_ago is None or f.led_s_ago > 60,
    r"no worker takes its lane|`gossamer worker` starts one": lambda f: f.is_fleet and not f.has_workers,
    r"no process crawls": lambda f: not f.is_fleet and not f.is_at_work,
    r"as fast as its hosts allow": lambda f: f.limit is PaceLimit.POLITENESS,
    r"slower than its hosts allow|--slots": lambda f: f.limit is PaceLimit.WORKERS,
    r"is under way|throttled by|goes as|goes slower": lambda f: (
        f.is_at_work and not (f.unwritable or f.unreadable or f.away) and f.attempts > 0
    ),
    r"has not begun": lambda f: not f.attempts,
    r"its host ": lambda f: f.held_hosts == 1 or f.hosts == 1,
    r"the one slot is busy": lambda f: f.slots == 1,
    r"takes? care of|[Nn]othing is wrong|is well": lambda f: False,
}
"""Parts of sentences, and what is true wherever they are said."""
EXCLUSIVE = (
    r"is finished|was cancelled|is paused|was stopped|was interrupted|ended with an error",
    r"waits(?: until [^:]+)?:|waits for",
    r"is under way|throttled by|goes as|goes slower",
    r"No process crawls|No worker (?:takes|can run)|No supervisor looks after|gets no new shifts",
    r"has not begun|has just begun",
    r"stands still",
)
"""Of these no two are said of one job."""


@pytest.mark.parametrize(("wait_s", "due", "is_told"), [(18.0, 0, True), (4.0, 0, False), (18.0, 1, False)])
def test_a_job_that_has_not_begun_says_when_its_first_request_may_start(
    wait_s: float, due: int, is_told: bool
) -> None:
    """Bug it would catch: a crawl that waits for the pause of an earlier one gives no reason for 24 s."""
    facts = replace(SHOPS, attempts=0, limit=None, waiting=1, due=due, next_at=NOW + wait_s)
    said = " ".join(describe_job(facts, SHOW))
    assert (
        "The first one may start in 18 s: its own delay or another crawl of the same host" in said
    ) == is_told


@pytest.mark.slow
@given(job_facts)
def test_what_is_said_of_a_job_contradicts_neither_itself_nor_the_numbers(facts: ObservedJobFacts) -> None:
    said = describe_job(facts, SHOW)
    text = f"{said.answer} {said.reason}"
    for pattern, holds in CLAIMS.items():
        assert not re.search(pattern, text) or holds(facts), f"{pattern!r} is said: {text}"
    made = [pattern for pattern in EXCLUSIVE if re.search(pattern, text)]
    assert len(made) <= 1, f"both {made} are said: {text}"
    waiting = [int(number.replace(",", "")) for number in re.findall(r"([\d,]+) requests? waits?\b", text)]
    assert set(waiting) <= {facts.waiting}, text
    said_already = SAYS.get(find_situation(facts), ())
    unsaid = [one for one in drop_refuted(facts, facts.needs) if one.kind not in said_already]
    assert ("needs you" in said.answer) == bool(unsaid)


@given(overview_facts)
def test_nothing_is_called_well_while_something_is_wrong(facts: OverviewFacts) -> None:
    said = describe_overview(facts, SHOW)
    if re.search(r"care of|nothing needs you", said.answer):
        assert not facts.place
        assert not (facts.held_up and "All" in said.answer)
    if re.search(r"[Nn]othing needs you|^All|^Both|^The one job", said.answer):
        assert not facts.need_you
        assert not facts.place
    if facts.need_you:
        assert re.search(r"needs? you\.", said.answer)
    assert ("held up" in said.answer) == bool(facts.held_up and not facts.place)
    assert (facts.unchecked_s is None) == ("last looked for" not in said.reason)


@pytest.mark.parametrize(
    ("facts", "answer"),
    [
        (OverviewFacts(), "Nothing has been crawled yet."),
        (OverviewFacts(jobs=3), "Nothing runs, and nothing needs you."),
        (OverviewFacts(jobs=1, running=1, well=1), "The one job that runs takes care of itself."),
        (OverviewFacts(jobs=7, running=7, well=7), "All seven jobs take care of themselves."),
        (
            OverviewFacts(jobs=7, running=7, well=5, held_up=2),
            "Nothing needs you now, but two of seven jobs are held up.",
        ),
        (OverviewFacts(jobs=2, running=2, held_up=2), "Nothing needs you now, but both jobs are held up."),
        (
            OverviewFacts(jobs=7, running=7, need_you=2, well=5),
            "Two jobs need you. The other five take care of themselves.",
        ),
        (
            OverviewFacts(jobs=7, running=7, need_you=2, well=4, held_up=1),
            "Two jobs need you. Of the other five, one is held up.",
        ),
        (
            OverviewFacts(jobs=2, running=2, need_you=1, well=1),
            "One job needs you. The other one takes care of itself.",
        ),
        (
            OverviewFacts(jobs=2, running=1, well=1, place=(make_need(TroubleKind.AWAY),)),
            "A.example cannot be used: the one job that runs waits, and nothing is lost.",
        ),
        (
            OverviewFacts(jobs=2, running=1, need_you=1, place=(make_need(TroubleKind.NO_SUPERVISOR),)),
            "No supervisor leads the fleet. One job needs you.",
        ),
    ],
)
def test_whether_anything_needs_a_person(facts: OverviewFacts, answer: str) -> None:
    assert describe_overview(facts, SHOW).answer == answer


def test_a_job_that_gets_nothing_does_not_take_care_of_itself() -> None:
    held = {"limit": PaceLimit.HELD, "held": {DelayReason.DOWN: 1}}
    assert not is_held_up(SHOPS)
    assert is_held_up(SHOPS, [make_need(TroubleKind.HOST_FAILS)])
    assert is_held_up(replace(SHOPS, troubled="a.example has not answered since T-2640 s"))
    assert is_held_up(replace(SHOPS, **held))


def test_a_job_that_leaves_out_the_links_of_a_trap_is_not_held_up() -> None:
    """Bug it would catch: a crawl at full pace is called held up, since a calendar was left out."""
    assert not is_held_up(SHOPS, [make_need(TroubleKind.TRAP)])


def test_each_trouble_that_needs_a_person_has_its_words() -> None:
    assert set(NEEDING) <= set(NEEDS)


@given(data=st.data())
@pytest.mark.parametrize(
    ("describe", "facts"), [(describe_job, job_facts), (describe_overview, overview_facts)]
)
def test_every_state_has_its_sentences(
    data: st.DataObject, describe: Callable[[Any, SentenceFormatter], Saying], facts: st.SearchStrategy[Any]
) -> None:
    said = describe(data.draw(facts), SHOW)
    check_saying(said, LONGEST_HEADLINE)
