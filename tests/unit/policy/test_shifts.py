"""How slots are shared: by cases, by laws that hold for any fleet, and by playing fleets through."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.core.jobs import FrontierStats
from gossamer.core.lifecycle import JobState
from gossamer.core.shifts import (
    EXTRACT_LANE,
    EndReason,
    LaneHealth,
    RosterView,
    Shift,
    ShiftState,
    WorkerInfo,
    WorkerState,
)
from gossamer.policy.shifts import (
    LaneDemand,
    ShiftLimits,
    demand_of,
    idle_workers,
    lost_shifts,
    pause_s,
    plan_shifts,
)

NOW = 1000.0
LIMITS = ShiftLimits()


def worker(name="w1", slots=4, lanes=("seed", "http"), **fields):
    return WorkerInfo(**({"id": name, "slots": slots, "lanes": lanes, "beat_at": NOW} | fields))


def working(number, job, worker="w1", lane="http", age_s=1.0, **fields):
    whole = {"state": ShiftState.WORKING, "worker": worker, "began_at": NOW - age_s, "beat_at": NOW} | fields
    return Shift(id=f"{job}:{lane}:{number}", job=job, lane=lane, **whole)


def asked(number, job, lane="http", left_s=5.0):
    return Shift(id=f"{job}:{lane}:asked{number}", job=job, lane=lane, asked_at=NOW, expires_at=NOW + left_s)


def wish(job, useful=10, lane="http"):
    return LaneDemand(job=job, lane=lane, useful=useful)


def decide(*claims, workers=None, shifts=(), standings=()):
    workers = [worker()] if workers is None else workers
    view = RosterView(at=NOW, workers=tuple(workers), shifts=tuple(shifts), standings=tuple(standings))
    return plan_shifts(view, claims, LIMITS)


def by_job(decision):
    return dict(Counter(job for job, _ in decision.asks))


def waits(at, *lanes):
    return dict.fromkeys(lanes or ("http", "extract"), at)


def stats(**fields):
    whole = {"state": JobState.RUNNING, "pending": 100, "hosts": 100, "next_by_lane": waits(NOW)} | fields
    return FrontierStats(**whole)


# --------------------------------------------------------------------------- what is useful


@pytest.mark.parametrize(
    ("fields", "per_host", "expected"),
    [
        ({"pending": 1}, 1, 1),
        ({"pending": 32}, 8, 1),
        ({"pending": 33}, 8, 2),
        ({"pending": 3200}, 1, 13),  # 100 hosts, one request each: eight to a shift
        ({"pending": 3200, "hosts": 1}, 1, 1),  # one slow host
        ({"pending": 3200, "hosts": 1}, 64, 8),
        ({"pending": 0, "delayed": 5}, 1, 1),  # a retry has come due
        ({"next_by_lane": waits(NOW + 0.9)}, 8, 4),
        ({"next_by_lane": waits(NOW + 1.1)}, 8, 0),  # nothing is due for long
        ({"next_by_lane": {}}, 8, 0),
        ({"next_by_lane": waits(NOW, "browser")}, 8, 0),  # others work on that
        ({"next_by_lane": waits(NOW, "browser"), "deadline": NOW}, 8, 4),  # a lease to take back
        ({"budget_spent": True}, 8, 0),
        ({"state": JobState.PAUSED}, 8, 0),
    ],
)
def test_useful_shifts(fields, per_host, expected):
    found = demand_of("a", "http", stats(**fields), per_host, now=NOW, limits=LIMITS)
    assert (found.job, found.lane, found.useful, found.busy) == ("a", "http", expected, 0)


def test_hosts_bound_no_shifts_that_ask_nobody():
    """One slow host may have thousands of pages in the archive."""
    found = demand_of("a", EXTRACT_LANE, stats(pending=3200, hosts=1), 1, now=NOW, limits=LIMITS)
    assert found.useful == 100


def test_what_is_in_hand_keeps_its_shift_and_asks_for_none():
    """The only request of a slow host is under way, and its next turn has not come."""
    under_way = stats(leased=1, hosts=1, next_by_lane=waits(NOW + 50))
    found = demand_of("a", "http", under_way, 1, now=NOW, limits=LIMITS)
    assert (found.useful, found.busy) == (0, 1)
    one = [worker(slots=1)]
    assert decide(found, wish("b"), workers=one, shifts=[working(1, "a")]).recalls == {}
    assert by_job(decide(found, workers=one)) == {}
    assert (
        demand_of("a", "http", replace(under_way, state=JobState.PAUSED), 1, now=NOW, limits=LIMITS).busy == 0
    )


# --------------------------------------------------------------------------- shares


def test_one_job_has_all_that_is_useful_to_it():
    assert by_job(decide(wish("a", 3))) == {"a": 3}
    assert by_job(decide(wish("a", 9))) == {"a": 4}


def test_a_small_job_is_not_starved_by_a_huge_one():
    assert by_job(decide(wish("huge", 1000), wish("small", 1))) == {"huge": 3, "small": 1}
    assert by_job(decide(wish("huge", 1000), wish("b", 1000))) == {"huge": 2, "b": 2}


def test_those_who_have_too_much_make_room():
    huge = [working(n, "huge", age_s=n + 1) for n in range(4)]
    decision = decide(wish("huge"), wish("small", 1), shifts=huge)
    assert by_job(decision) == {}
    assert decision.recalls == {huge[3].id: EndReason.YIELD}, "the one that has worked longest"
    assert "slot" in decision.troubles["small"]


def test_room_that_is_being_made_is_not_made_twice():
    leaving = working(9, "huge", recalled=EndReason.YIELD)
    there = [working(n, "huge") for n in range(3)]
    assert decide(wish("huge", 2), wish("small", 1), shifts=[leaving, *there]).recalls == {}
    assert len(decide(wish("huge", 2), wish("small", 2), shifts=[leaving, *there]).recalls) == 1


def test_the_odd_slot_stays_where_it_is():
    shifts = [working(1, "a", age_s=99), working(2, "b", age_s=99), working(3, "b", age_s=99)]
    for wishes in ([wish("a"), wish("b")], [wish("b"), wish("a")]):
        decision = decide(*wishes, workers=[worker(slots=3)], shifts=shifts)
        assert (decision.asks, decision.recalls) == ((), {})


def test_nobody_makes_room_while_there_is_a_free_slot():
    huge = [working(n, "huge") for n in range(3)]
    decision = decide(wish("huge", 3), wish("small", 1), shifts=huge)
    assert (by_job(decision), decision.recalls) == ({"small": 1}, {})


def test_a_shift_with_less_to_do_goes_on_while_nobody_lacks_its_slot():
    there = [working(n, "a") for n in range(3)]
    assert decide(wish("a", 1), shifts=there).recalls == {}
    assert decide(wish("a", 0), shifts=there).recalls == {}


def test_what_was_asked_for_and_not_begun_makes_room_first():
    shifts = [*[working(n, "huge") for n in range(3)], asked(1, "huge")]
    assert decide(wish("huge"), wish("small", 1), shifts=shifts).recalls == {shifts[3].id: EndReason.YIELD}


def test_what_is_asked_for_is_not_asked_again_before_it_expires():
    assert by_job(decide(wish("a", 1), shifts=[asked(1, "a")])) == {}
    assert by_job(decide(wish("a", 1), shifts=[asked(1, "a", left_s=0.0)])) == {"a": 1}


@pytest.mark.parametrize(
    ("fields", "shifts", "standings", "expected"),
    [
        ({}, [asked(1, "a")], [], ("w1",)),
        ({}, [], [], ()),
        ({}, [asked(1, "a", lane="browser")], [], ()),
        ({}, [asked(1, "a"), working(1, "b")], [], ()),
        ({"state": WorkerState.DRAINING}, [asked(1, "a")], [], ()),
        ({"beat_at": NOW - 60}, [asked(1, "a")], [], ()),
        ({}, [asked(1, "a")], [LaneHealth(job="a", lane="http", refused_by=("w1",))], ()),
    ],
)
def test_a_worker_that_takes_no_shift_although_its_lane_is_asked_for(fields, shifts, standings, expected):
    view = RosterView(at=NOW, workers=(worker(**fields),), shifts=tuple(shifts), standings=tuple(standings))
    assert idle_workers(view, LIMITS) == expected


def test_seeding_goes_first():
    decision = decide(wish("a", 1), wish("b", 1, "seed"), workers=[worker(slots=1)])
    assert decision.asks == (("b", "seed"),)


def test_a_job_counts_over_all_its_lanes():
    both = worker(lanes=("seed", "http", "browser"), slots=4)
    decision = decide(wish("a", 9), wish("a", 9, "browser"), wish("b", 9), workers=[both])
    assert by_job(decision) == {"a": 2, "b": 2}


def test_workers_of_few_lanes_are_used_before_those_of_many():
    workers = [worker("all", 1, ("http", "browser")), worker("plain", 1, ("http",))]
    decision = decide(wish("a", 1), wish("b", 1, "browser"), workers=workers)
    assert sorted(decision.asks) == [("a", "http"), ("b", "browser")]


@pytest.mark.parametrize(
    "state", [{"state": WorkerState.DRAINING}, {"state": WorkerState.PAUSED}, {"beat_at": NOW - 10}]
)
def test_a_worker_that_takes_none_counts_for_nothing(state):
    assert by_job(decide(wish("a"), workers=[worker("w1"), worker("w2", **state)])) == {"a": 4}


def test_no_worker_is_said_so():
    assert "no worker" in decide(wish("a"), workers=[]).troubles["a"]
    decision = decide(wish("a", 1, "browser"))
    assert (decision.asks, "browser" in decision.troubles["a"]) == ((), True)


def test_shifts_of_jobs_that_do_not_run_are_recalled():
    shifts = [working(1, "gone"), asked(2, "gone"), working(3, "gone", recalled=EndReason.YIELD)]
    recalls = decide(wish("a", 1), shifts=shifts).recalls
    assert recalls == {shifts[0].id: EndReason.STOPPED, shifts[1].id: EndReason.STOPPED}


def test_more_jobs_than_slots_take_turns():
    old = working(1, "served", age_s=LIMITS.slice_s + 1)
    waiting = [LaneHealth(job="b", lane="http", at=NOW - 60), LaneHealth(job="c", lane="http", at=NOW - 90)]
    claims = [wish("served"), wish("b"), wish("c")]
    one = [worker(slots=1)]
    decision = decide(*claims, workers=one, shifts=[old], standings=waiting)
    assert decision.recalls == {old.id: EndReason.YIELD}
    young = working(1, "served", age_s=LIMITS.slice_s - 1)
    assert decide(*claims, workers=one, shifts=[young], standings=waiting).recalls == {}
    assert decide(*claims, workers=one, standings=waiting).asks == (("served", "http"),), "never served"
    served = LaneHealth(job="served", lane="http", at=NOW)
    assert decide(*claims, workers=one, standings=[*waiting, served]).asks == (("c", "http"),)


# --------------------------------------------------------------------------- trouble


def failing(times, ago_s, why=EndReason.FAILED, **fields):
    return LaneHealth(
        job="a", lane="http", failures=times, at=NOW - ago_s, why=why, detail="no store", **fields
    )


@pytest.mark.parametrize(("times", "wait_s"), [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (500, 60)])
def test_failing_jobs_are_asked_for_ever_more_rarely(times, wait_s):
    assert by_job(decide(wish("a"), standings=[failing(times, wait_s - 0.1)])) == {}
    assert by_job(decide(wish("a"), standings=[failing(times, wait_s)])) == {"a": 1}, "one, to see"


def test_a_failing_job_says_why_and_leaves_the_others_alone():
    decision = decide(wish("a"), wish("b"), standings=[failing(3, 0)])
    assert "no store" in decision.troubles["a"]
    assert by_job(decision) == {"b": 4}


def test_a_job_that_some_workers_refuse_is_done_by_the_others():
    workers = [worker("w1", 2), worker("w2", 3)]
    refused = failing(9, 1.0, EndReason.REFUSED, refused_by=("w1",))
    assert by_job(decide(wish("a"), workers=workers, standings=[refused])) == {"a": 3}
    assert by_job(decide(wish("a"), workers=workers, standings=[replace(refused, at=NOW - 0.5)])) == {}


def test_a_job_that_all_workers_refuse_says_so():
    decision = decide(wish("a"), standings=[failing(9, 1.0, EndReason.REFUSED, refused_by=("w1",))])
    assert (by_job(decision), decision.troubles["a"]) == ({}, "the only worker cannot do it: no store")


def test_empty_shifts_are_asked_for_more_rarely():
    def empties(times):
        return pause_s(LaneHealth(job="a", lane="http", empties=times), LIMITS, others_can=False)

    assert [empties(n) for n in (0, 1, 2, 3, 9)] == [0, 0, 1, 2, 8]


def test_the_dead_are_those_without_a_beat_while_somebody_watched():
    quiet = working(1, "a", beat_at=NOW - 10)
    heard = working(2, "a", beat_at=NOW - 9.9)
    given_up = working(3, "a", state=ShiftState.LOST)
    view = RosterView(at=NOW, shifts=(quiet, heard, given_up, asked(1, "a")))
    assert lost_shifts(view, 60.0, LIMITS) == [quiet, given_up]
    assert lost_shifts(view, 9.0, LIMITS) == [given_up], "after a break everybody may be heard of again"


# --------------------------------------------------------------------------- laws

LANES = st.sampled_from([("seed", "http"), ("http",), ("browser",), ("seed", "http", "browser")])
JOBS = st.sampled_from("abcdef")


@st.composite
def fleets(draw):
    workers = [
        worker(f"w{n}", draw(st.integers(0, 5)), draw(LANES), beat_at=NOW - draw(st.sampled_from([0, 20])))
        for n in range(draw(st.integers(0, 4)))
    ]
    shifts = []
    for number in range(draw(st.integers(0, 8))):
        job, lane = draw(JOBS), draw(st.sampled_from(["seed", "http", "browser"]))
        takers = [w for w in workers if lane in w.lanes]
        if takers and draw(st.booleans()):
            recalled = draw(st.sampled_from([None, None, EndReason.YIELD]))
            age_s = draw(st.floats(0, 60))
            shifts.append(
                working(number, job, draw(st.sampled_from(takers)).id, lane, age_s=age_s, recalled=recalled)
            )
        else:
            shifts.append(asked(number, job, lane, left_s=draw(st.sampled_from([-1.0, 3.0]))))
    claims = {}
    for _ in range(draw(st.integers(0, 8))):
        job, lane = draw(JOBS), draw(st.sampled_from(["seed", "http", "browser"]))
        claims[job, lane] = wish(job, draw(st.integers(0, 12)), lane)
    standings = [
        LaneHealth(job=job, lane=lane, failures=draw(st.integers(0, 3)), at=NOW - draw(st.floats(0, 9)))
        for job, lane in claims
        if draw(st.booleans())
    ]
    return workers, shifts, list(claims.values()), standings


@pytest.mark.slow
@given(fleets())
@settings(max_examples=100, deadline=None)
def test_laws(fleet):
    workers, shifts, claims, standings = fleet
    decision = decide(*claims, workers=workers, shifts=shifts, standings=standings)
    alive = [w for w in workers if w.beat_at == NOW]
    void = {s.id for s in shifts if s.state is ShiftState.ASKED and s.expires_at <= NOW}
    held = [
        s
        for s in shifts
        if s.id not in void
        and (s.state is ShiftState.ASKED or s.worker in {w.id for w in alive})
        and not (s.state is ShiftState.ASKED and s.id in decision.recalls)
    ]
    busy = Counter(s.worker for s in held)
    assert len(decision.asks) <= sum(max(0, w.slots - busy[w.id]) for w in alive), "never more than slots"
    for lane in ("seed", "http", "browser"):
        of_lane = sum(1 for _, asked_lane in decision.asks if asked_lane == lane)
        assert of_lane <= sum(w.slots for w in alive if lane in w.lanes), "of a lane, either"
    wants = {(c.job, c.lane): c.useful for c in claims}
    for job_lane, count in Counter(decision.asks).items():
        there = [s for s in held if (s.job, s.lane) == job_lane and s.recalled is None]
        stay = [s for s in there if s.id not in decision.recalls]
        assert count + len(there) <= wants[job_lane], "never more than useful"
        assert len(stay) == len(there), "nobody is recalled who is asked for"
    running = {c.job for c in claims}
    for shift_id, why in decision.recalls.items():
        (told,) = [s for s in shifts if s.id == shift_id]
        assert told.recalled is None
        assert shift_id not in void
        assert (why is EndReason.STOPPED) == (told.job not in running)


@given(st.integers(1, 12), st.lists(st.integers(0, 30), min_size=1, max_size=8), st.integers(1, 3))
def test_shares_are_fair(slots, wishes, count):
    """Nobody has less than another by more than one, unless it wants no more; and no slot is wasted."""
    claims = [wish(f"j{n}", wanted) for n, wanted in enumerate(wishes)]
    workers = [worker(f"w{n}", slots) for n in range(count)]
    shares = by_job(decide(*claims, workers=workers))
    assert sum(shares.values()) == min(slots * count, sum(wishes))
    most = max(shares.values(), default=0)
    for n, wanted in enumerate(wishes):
        share = shares.get(f"j{n}", 0)
        assert share <= wanted
        assert share == wanted or share >= most - 1


class Play:
    """A fleet played through: shifts begin at once, last for a while, leave when told to."""

    def __init__(self, slots, wishes, lasts_s):
        self.now, self.lasts_s = NOW, lasts_s
        self.slots, self.wishes = slots, wishes
        self.shifts, self.standings, self.served, self.number = {}, {}, Counter(), 0

    def look(self):
        card = worker(slots=self.slots, beat_at=self.now)
        view = RosterView(
            at=self.now,
            workers=(card,),
            shifts=tuple(self.shifts.values()),
            standings=tuple(self.standings.values()),
        )
        claims = [wish(f"j{n}", wanted) for n, wanted in enumerate(self.wishes)]
        decision = plan_shifts(view, claims, LIMITS)
        for job, lane in decision.asks:
            self.number += 1
            shift = working(self.number, job, lane=lane, began_at=self.now, beat_at=self.now)
            self.shifts[shift.id] = shift
        assert len(self.shifts) <= self.slots
        for shift in self.shifts.values():
            self.served[shift.job] += 1
        for shift in list(self.shifts.values()):
            if shift.id in decision.recalls or shift.began_at + self.lasts_s <= self.now:
                del self.shifts[shift.id]
                self.standings[shift.job] = LaneHealth(
                    job=shift.job, lane="http", at=self.now, why=EndReason.TIME
                )
        self.now += 1.0
        return decision


@pytest.mark.slow
@given(
    st.integers(1, 6),
    st.lists(st.integers(1, 20), min_size=1, max_size=12),
    st.sampled_from([5.0, 60.0, 1e9]),
)
@settings(max_examples=40, deadline=None)
def test_everybody_is_served_in_the_end(slots, wishes, lasts_s):
    """However many jobs there are, and however long a shift would go on by itself."""
    play = Play(slots, wishes, lasts_s)
    rounds = int((LIMITS.slice_s + 3) * (len(wishes) + 1))
    for _ in range(rounds):
        play.look()
    served = [play.served[f"j{n}"] for n in range(len(wishes))]
    assert min(served) > 0, "no starvation"
    if len(wishes) > slots:
        assert min(served) * len(wishes) >= 0.3 * slots * rounds, "and nobody has much less than its share"


@pytest.mark.slow
@given(st.integers(1, 8), st.lists(st.integers(1, 20), min_size=1, max_size=8))
@settings(max_examples=40, deadline=None)
def test_shares_settle(slots, wishes):
    """With no more jobs than slots nobody is moved about once everybody has its share."""
    if len(wishes) > slots:
        wishes = wishes[:slots]
    play = Play(slots, wishes, 1e9)
    for _ in range(3):
        play.look()
    for _ in range(100):
        decision = play.look()
        assert (decision.asks, decision.recalls) == ((), {})


def test_a_new_job_has_its_share_within_two_looks():
    play = Play(4, [20], 1e9)
    play.look()
    play.wishes = [20, 20]
    for _ in range(3):
        play.look()
    assert Counter(shift.job for shift in play.shifts.values()) == {"j0": 2, "j1": 2}


def test_seeding_makes_room_for_nobody():
    """It would begin with its first URL again: two long ones would keep each other from ever ending."""
    old = LIMITS.slice_s * 10
    seeding = [working(n, job, lane="seed", age_s=old) for n, job in enumerate("ab")]
    wishes = [wish("a", 1, "seed"), wish("b", 1, "seed"), wish("c", 1, "seed"), wish("d")]
    decision = decide(*wishes, workers=[worker(slots=2)], shifts=seeding)
    assert decision.recalls == {}
