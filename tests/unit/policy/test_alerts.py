"""Alerts in virtual time: each begins in its incident and ends after it, once; what wavers is told once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.core.lifecycle import FinishReason
from gossamer.core.record import Record
from gossamer.core.shifts import JobSample
from gossamer.policy.alert_readings import (
    BudgetUse,
    FailingHost,
    JobLook,
    PlaceLook,
    ProxyPoolState,
    TroubledHost,
    has_lost_proxies,
    read_job,
    read_place,
)
from gossamer.policy.alerts import (
    MOST_ALERTS,
    AlertReading,
    AlertRules,
    AlertState,
    ReadingState,
    judge_readings,
)
from gossamer.policy.drift import DriftFinding, FindingKind
from gossamer.policy.job_samples import KEPT_S, LATELY_S, add_sample, growth_of, rate_of, sample_before
from gossamer.policy.troubles import LISTED_PROXIES, TroubleKind
from kit.sentences import NOW, SHOW

RULES = AlertRules()
EVERY_S = 10.0


TROUBLED = TroubledHost(host="a.example", since=NOW, until=NOW + 900, pending=7, is_silent=False)


class Incident:
    """A job and its place, looked at every ten seconds of virtual time; what begins and ends is noted."""

    def __init__(self, rules: AlertRules = RULES) -> None:
        self.rules = rules
        self.now = NOW
        self.job = JobLook(id="shops-7", at=NOW, attempted_at=NOW)
        self.place = PlaceLook(at=NOW, is_fleet=True, jobs=1, store="PostgreSQL")
        self.counts = JobSample(at=NOW)
        self.states: tuple[AlertState, ...] = ()
        self.told: list[tuple[float, str, TroubleKind, str]] = []

    def let_pass(self, seconds: float, change: Callable[[], None] = lambda: None) -> None:
        for _ in range(int(seconds / EVERY_S)):
            self.now += EVERY_S
            change()
            self.look()

    def look(self) -> None:
        before = self.job.samples[-1] if self.job.samples else None
        sample = replace(self.counts, at=self.now)
        has_tried = before is None or sample.attempts > before.attempts
        self.job = replace(
            self.job,
            at=self.now,
            samples=add_sample(self.job.samples, sample),
            attempted_at=self.now if has_tried else self.job.attempted_at,
            item_pages=sample.pages if before and sample.items > before.items else self.job.item_pages,
        )
        self.place = replace(self.place, at=self.now)
        changes = judge_readings(self.states, self.readings(), self.rules, self.now)
        self.states = changes.states
        since = self.now - NOW
        self.told += [(since, "begins", state.kind, state.text) for state in changes.begun]
        self.told += [(since, "ends", state.kind, state.text) for state in changes.ended]

    def readings(self) -> Iterator[AlertReading]:
        yield from read_job(self.job, self.rules, SHOW)
        yield from read_place(self.place, self.rules, SHOW)

    def set_job(self, **changes: object) -> None:
        self.job = replace(self.job, **changes)

    def set_place(self, **changes: object) -> None:
        self.place = replace(self.place, **changes)

    def add(self, **more: int) -> Callable[[], None]:
        """A change that adds to the counts at each look."""

        def change() -> None:
            grown = {name: getattr(self.counts, name) + number for name, number in more.items()}
            self.counts = replace(self.counts, **grown)

        return change


CALM: dict[str, int] = {"attempts": 20, "pages": 20, "items": 10}


def play(
    w: Incident, begin: Callable[[], None], end: Callable[[], None], seconds: float = 1200, **during: int
) -> list[tuple[str, TroubleKind]]:
    """A calm quarter of an hour, the incident, a calm hour."""
    w.let_pass(900, w.add(**CALM))
    begin()
    w.let_pass(seconds, w.add(**(during or CALM)))
    end()
    w.let_pass(3600, w.add(**CALM))
    return [(what, kind) for _, what, kind, _ in w.told]


def nothing() -> None:
    """No change but the counts'."""


@pytest.mark.parametrize(
    ("kind", "begin", "end", "during"),
    [
        (TroubleKind.DEAD_LETTERS, {}, {}, {"attempts": 20, "pages": 18, "items": 9, "dead": 2}),
        (TroubleKind.NO_ITEMS, {}, {}, {"attempts": 20, "pages": 20}),
        (TroubleKind.STALLED, {"job": {"due": 9}}, {}, {"attempts": 0}),
        (TroubleKind.NO_SUCCESS, {"job": {"troubled": (TROUBLED,)}}, {"job": {"troubled": ()}}, {}),
        (TroubleKind.IDLE_WORKER, {"place": {"idle": ("w1",)}}, {"place": {"idle": ()}}, {}),
        (
            TroubleKind.HOST_FAILS,
            {"job": {"failing": (FailingHost(host="a.example", attempts=60, failed=40),)}},
            {"job": {"failing": (FailingHost(host="a.example", attempts=60, failed=14),)}},
            {},
        ),
        (
            TroubleKind.BUDGET,
            {"job": {"budgets": (BudgetUse(kind="pages", used=91, limit=100),)}},
            {"job": {"budgets": (BudgetUse(kind="pages", used=91, limit=200),)}},
            {},
        ),
        (
            TroubleKind.NO_WORKER,
            {"job": {"due": 9, "has_workers": False}},
            {"job": {"due": 0, "has_workers": True}},
            {"attempts": 0},
        ),
        (
            TroubleKind.NO_WORKER,
            {"job": {"refusal": "no spider"}},
            {"job": {"refusal": None}},
            {"attempts": 0},
        ),
        (TroubleKind.FAILED, {"job": {"end_reason": FinishReason.ERROR}}, {"job": {"end_reason": None}}, {}),
        (TroubleKind.UNREADABLE, {"job": {"unreadable": "it is gone"}}, {"job": {"unreadable": ""}}, {}),
        (
            TroubleKind.DRIFT,
            {"job": {"findings": (DriftFinding(field="P.title", usual=0.99, now=0.04),)}},
            {"job": {"findings": ()}},
            {},
        ),
        (TroubleKind.AWAY, {"place": {"away": {"Redis": "refused"}}}, {"place": {"away": {}}}, {}),
        (TroubleKind.NO_SUPERVISOR, {"place": {"has_leader": False}}, {"place": {"has_leader": True}}, {}),
        (TroubleKind.STORE_LAG, {"place": {"store_lag_s": 6.0}}, {"place": {"store_lag_s": 0.1}}, {}),
        (
            TroubleKind.REDIS_MEMORY,
            {"place": {"redis_used": 86, "redis_max": 100}},
            {"place": {"redis_used": 70}},
            {},
        ),
        (
            TroubleKind.PROXIES,
            {"place": {"pools": (ProxyPoolState(pool="dc", proxies=3, usable=0),)}},
            {"place": {"pools": (ProxyPoolState(pool="dc", proxies=3, usable=1),)}},
            {},
        ),
    ],
)
def test_each_alert_begins_in_its_incident_and_ends_after_it(
    kind: TroubleKind,
    begin: dict[str, dict[str, object]],
    end: dict[str, dict[str, object]],
    during: dict[str, int],
) -> None:
    w = Incident()

    def change(to: dict[str, dict[str, object]]) -> None:
        w.set_job(**to.get("job", {}))
        w.set_place(**to.get("place", {}))

    assert play(w, lambda: change(begin), lambda: change(end), **during) == [("begins", kind), ("ends", kind)]
    began_at, ended_at = (at for at, *_ in w.told)
    assert 900 < began_at <= 900 + 1200
    assert ended_at > 2100
    text = w.told[0][3]
    assert text.endswith(".")
    assert text[0].isupper() or text[0].isdigit() or text.startswith(("shops-7 ", "a.example ", "w1 "))


@pytest.mark.parametrize("is_seeded", [False, True])
def test_a_job_that_no_worker_begins_is_told_before_anything_is_due(is_seeded: bool) -> None:
    sample = JobSample(at=NOW, is_seeded=is_seeded)
    look = JobLook(id="shops-7", at=NOW, has_workers=False, samples=(sample,))
    texts = [one.text for one in read_job(look, RULES, SHOW)]
    assert texts == ([] if is_seeded else ["shops-7 waits, and no worker takes its lane."])


def test_a_frontier_that_grows_is_told_when_it_has_grown_for_hours() -> None:
    w = Incident()
    w.counts = replace(w.counts, waiting=20_000)
    w.let_pass(KEPT_S + 600, w.add(**CALM))
    assert not w.told
    w.let_pass(2 * 3600, w.add(**CALM, waiting=50))
    assert [(what, kind) for _, what, kind, _ in w.told] == [("begins", TroubleKind.GROWING)]
    w.let_pass(2 * 3600, w.add(**CALM, waiting=-40))
    assert [what for _, what, *_ in w.told] == ["begins", "ends"]


def test_work_that_is_due_for_moments_only_is_not_told_as_standing_still() -> None:
    """Bug it would catch: a host that is asked once a minute is due at some looks, and each is told."""
    w = Incident()
    w.let_pass(100, w.add(**CALM))
    w.let_pass(2000, lambda: w.set_job(due=9 if int(w.now - NOW) % 60 == 0 else 0))
    assert w.told == []


def test_a_job_that_stands_still_is_told_after_two_minutes() -> None:
    w = Incident()
    w.let_pass(100, w.add(**CALM))
    w.set_job(due=9)
    w.let_pass(300)
    ((at, *_),) = w.told
    assert 120 <= at - 100 <= 120 + EVERY_S


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"reason": "throttled"}, "has answered nothing but 429 or 503 since T+0 s; 7 requests wait for it"),
        ({"reason": "gateway", "pending": 1}, "nothing but 502 or 504 since T+0 s; 1 request waits for it"),
        ({"is_silent": True, "reason": "connect"}, "has not answered since T+0 s"),
        ({"pending": 0}, "since T+0 s; it was last asked at T+900 s, in shops-7."),
        ({"is_silent": True, "reason": "robots_unreachable"}, "closed since T+0 s, since its robots.txt"),
    ],
)
def test_what_a_host_in_trouble_does_is_said(changes: dict[str, object], words: str) -> None:
    look = JobLook(id="shops-7", at=NOW + 901, troubled=(replace(TROUBLED, **changes),))
    (reading,) = read_job(look, RULES, SHOW)
    assert words in reading.text
    assert not list(read_job(replace(look, troubled=(replace(TROUBLED, until=NOW + 899),)), RULES, SHOW))


def test_a_short_incident_is_not_told() -> None:
    w = Incident()
    assert play(w, lambda: w.set_place(has_leader=False), lambda: w.set_place(has_leader=True), 50) == []


@pytest.mark.parametrize(
    ("rules", "during"),
    [
        (AlertRules(dead_letters=0), {"attempts": 20, "items": 1, "pages": 1, "dead": 20}),
        (AlertRules(no_items_pages=0), {"attempts": 20, "pages": 20}),
        (AlertRules(dead_share=0.2), {"attempts": 200, "items": 1, "pages": 1, "dead": 20}),
    ],
)
def test_a_rule_can_be_turned_off_and_few_of_many_are_no_growth(
    rules: AlertRules, during: dict[str, int]
) -> None:
    assert play(Incident(rules), nothing, nothing, **during) == []


def test_a_job_that_is_over_has_only_its_error() -> None:
    w = Incident()
    w.set_job(due=5, has_workers=False, is_running=False)
    w.let_pass(2000)
    assert w.told == []


def test_what_could_not_be_looked_at_stays_as_it_is() -> None:
    bad = AlertReading(kind=TroubleKind.STORE_LAG, who="PostgreSQL", text="It lags.")
    rules = AlertRules(holds_s=0)
    active = judge_readings((), [bad], rules, NOW).states
    blind = judge_readings(active, [], rules, NOW + 1000, unread=[TroubleKind.STORE_LAG])
    assert (blind.states, blind.ended) == (active, ())
    seen = judge_readings(active, [], rules, NOW + 1000).states
    assert judge_readings(seen, [], rules, NOW + 1060).ended[0].key == bad.key


def test_alerts_are_bounded() -> None:
    readings = [
        AlertReading(kind=TroubleKind.HOST_FAILS, job="j", who=f"h{n}", text="It fails.") for n in range(500)
    ]
    assert len(judge_readings((), readings, RULES, NOW).states) == MOST_ALERTS


looks = st.lists(st.tuples(st.floats(1, 200), st.sampled_from([None, *ReadingState])), max_size=80)


@given(looks)
def test_an_alert_begins_and_ends_by_turns_and_neither_too_soon(
    found: list[tuple[float, ReadingState | None]],
) -> None:
    states: tuple[AlertState, ...] = ()
    now, bad_since, well_since, is_told = NOW, None, None, False
    for wait_s, state in found:
        now += wait_s
        readings = (
            []
            if state is None
            else [AlertReading(kind=TroubleKind.STORE_LAG, who="it", text="It lags.", state=state)]
        )
        changes = judge_readings(states, readings, RULES, now)
        states = changes.states
        if state is ReadingState.BAD:
            bad_since, well_since = bad_since or now, None
        elif state is not ReadingState.UNSURE and bad_since is not None:
            well_since = well_since or now
            if not is_told:
                bad_since = well_since = None
        for begun in changes.begun:
            assert not is_told
            assert bad_since is not None
            assert now - bad_since >= RULES.holds_s
            assert begun.began_at == now
            is_told = True
        for _ in changes.ended:
            assert is_told
            assert well_since is not None
            assert now - well_since >= RULES.clears_s
            is_told, bad_since, well_since = False, None, None
        assert is_told == any(one.is_active for one in states)


# --------------------------------------------------------------------------- samples


@given(st.lists(st.floats(1, 300), max_size=300))
def test_samples_are_bounded_ordered_and_reach_back_an_hour(waits: list[float]) -> None:
    samples: tuple[JobSample, ...] = ()
    every: list[float] = []
    now = NOW
    for wait_s in waits:
        now += wait_s
        samples = add_sample(samples, JobSample(at=now))
        every.append(now)
    at = [sample.at for sample in samples]
    assert at == sorted(set(at))
    assert set(at) <= set(every)
    assert {one for one in every if one > now - LATELY_S} <= set(at)
    assert len(at) <= LATELY_S + 2 * KEPT_S / 60 + 3
    if every and every[0] <= now - KEPT_S:
        assert at[0] <= now - KEPT_S


def test_rates_are_between_samples() -> None:
    samples = tuple(JobSample(at=NOW + second, attempts=second * 3) for second in range(0, 100, 10))
    assert rate_of(samples, "attempts", 30) == 3.0
    assert growth_of(samples, "attempts", 30) == 90
    assert growth_of(samples, "attempts", 10_000) == 270
    assert rate_of(samples[:1], "attempts", 30) is None
    assert rate_of((), "attempts", 30) is None
    assert growth_of((), "attempts", 30) == 0
    assert sample_before((), NOW) is None


def test_a_record_of_an_alert_survives_its_way_to_storage() -> None:
    state = AlertState(kind=TroubleKind.AWAY, who="Redis", text="It is away.", bad_since=NOW)
    assert isinstance(state, Record)
    assert state.as_trouble().who == "Redis"
    assert not state.is_active


# --------------------------------------------------------------------------- fields of items


def test_what_is_found_at_the_end_of_a_job_is_told_at_once_with_its_page() -> None:
    """A crawl of a second has no time to show that a trouble lasts."""
    finding = DriftFinding(field="P.price", usual=1.0, now=0.0, since=NOW, url="http://a/25")
    dry = DriftFinding(kind=FindingKind.NO_ITEMS, field="", usual=1.0, now=0.0, since=NOW, url="http://a/9")
    look = JobLook(id="shop-1", at=NOW, is_running=False, findings=(finding, dry))
    changes = judge_readings((), read_job(look, AlertRules(), SHOW), AlertRules(), NOW)
    assert [(one.kind, one.who) for one in changes.begun] == [
        (TroubleKind.DRIFT, "P.price"),
        (TroubleKind.NO_ITEMS, "shop-1"),
    ]
    assert all(
        f"with {one.url}" in told.text for one, told in zip((finding, dry), changes.begun, strict=True)
    )
    off = AlertRules(no_items_pages=0)
    (left,) = judge_readings((), read_job(look, off, SHOW), off, NOW).begun
    assert left.kind is TroubleKind.DRIFT
    running = replace(look, is_running=True)
    assert judge_readings((), read_job(running, RULES, SHOW), RULES, NOW).begun == (), "it has to last first"


def test_a_share_that_is_not_whole_is_never_said_to_be() -> None:
    samples = (JobSample(at=1.0, pages=0, waiting=0), JobSample(at=9.0, pages=0, waiting=0, dead=40))
    look = JobLook(
        id="shop-1",
        at=10.0,
        samples=samples,
        budgets=(BudgetUse(kind="browser_seconds", used=998, limit=1000),),
        failing=(FailingHost(host="a.example", attempts=1000, failed=999),),
    )
    assert [reading.text for reading in read_job(look, AlertRules(), SHOW)] == [
        f"shop-1 has 40 new dead letters within {SHOW.span(900.0)}.",
        "99% of the requests to a.example fail, in shop-1.",
        "shop-1 has used 99% of its budget of browser seconds.",
    ]


@pytest.mark.parametrize("is_running", [True, False])
def test_links_that_were_left_out_as_a_trap_are_an_alert(is_running: bool) -> None:
    (found,) = read_job(JobLook(id="shop-1", at=0.0, is_running=is_running, left_out=7), RULES, SHOW)
    assert found.kind is TroubleKind.TRAP
    assert found.text.startswith("shop-1: 7 links were not followed")
    assert "traps.max_worthless" in found.text
    assert RULES.holds_for(TroubleKind.TRAP) == 0, "it does not become better by waiting"
    assert list(read_job(JobLook(id="shop-1", at=0.0, is_running=is_running), RULES, SHOW)) == []


@pytest.mark.parametrize(
    ("pools", "are_lost"),
    [
        ((), False),
        ((ProxyPoolState(pool=LISTED_PROXIES, proxies=3, usable=0),), True),
        ((ProxyPoolState(pool=LISTED_PROXIES, proxies=3, usable=1),), False),
        ((ProxyPoolState(pool="dc", proxies=3, usable=0),), False),
    ],
    ids=["none", "all", "all but one", "those of a provider"],
)
def test_proxies_are_lost_when_none_of_the_listed_can_be_used(
    pools: tuple[ProxyPoolState, ...], are_lost: bool
) -> None:
    assert has_lost_proxies(PlaceLook(at=0.0, pools=pools)) is are_lost
