"""What one look at a job of a fleet says of who could work on it, and of links that it has left out."""

import re

import pytest
from msgspec.structs import replace

from gossamer.cli.commands.submit import progress_line
from gossamer.config.layers import load_settings
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DueCounts, FrontierStats, Job, JobTotals
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.results import Attempt, Verdict
from gossamer.core.shifts import EndReason, LaneHealth, RosterView, WorkerState
from gossamer.policy.alert_readings import PlaceLook
from gossamer.policy.alerts_on import AlertView
from gossamer.policy.host_sums import HostSums
from gossamer.policy.job_memory import JobMemory, PlaceMemory
from gossamer.policy.pace_limit import DelayReason, PaceLimit
from gossamer.policy.sentences import job_facts
from gossamer.policy.sentences.job_facts import YOUNG_S
from gossamer.policy.time_left import LeftReason, TimeEstimate
from gossamer.policy.troubles import TroubleKind, make_trouble
from gossamer.queries.fleet_troubles import troubles_alone, troubles_of_place
from gossamer.queries.job_workers import TakerCounts, workers_of
from gossamer.queries.observed_jobs import (
    ObservedJob,
    left_text,
    observe_closely,
    observe_job,
    say_of,
    troubles_of,
)
from gossamer.queries.status import read_status
from gossamer.testing.contracts.frontier_harness import make_entry
from gossamer.testing.contracts.roster_harness import make_card
from gossamer.watch.memories import save_job_memory
from gossamer.wiring.backends import open_backends


@pytest.mark.parametrize(
    ("lanes", "workers", "is_taken"),
    [
        (["http"], [make_card(lanes=("http", "seed"))], True),
        (["http", "browser"], [make_card(lanes=("http",))], True),
        (["browser"], [make_card(lanes=("http", "seed"))], False),
        (["http"], [make_card(state=WorkerState.DRAINING)], False),
        (["http"], [make_card(beat_at=-60.0)], False),
        (["http"], [], False),
    ],
)
async def test_a_job_says_at_once_that_no_worker_takes_its_lane(tmp_path, lanes, workers, is_taken):
    """Workers that are there for other lanes are no help."""
    given = {"data": str(tmp_path), "cluster.lanes": lanes}
    backends = await open_backends(load_settings(env={}, overrides=given).settings, create=True)
    try:
        now = backends.clock.now()
        job = await backends.book.create("shop", "http://a.example/", plan=b"plan")
        await backends.requests.create_frontier(job, FrontierRules())
        await backends.open_frontier(job).add([make_entry(1)])
        there = tuple(replace(worker, beat_at=now + worker.beat_at) for worker in workers)
        view = RosterView(at=now, leader="s1", workers=there)
        known = replace(await observe_job(backends, job, view=view), at=job.created_at + YOUNG_S)
    finally:
        await backends.close()
    is_told = say_of(known).answer == "No worker takes the lane of shop-1."
    is_trouble = TroubleKind.NO_WORKER in [trouble.kind for trouble in troubles_of(known)]
    assert (is_told, is_trouble) == (not is_taken, not is_taken)


async def test_a_job_that_no_worker_begins_is_a_trouble_before_anything_waits(tmp_path):
    """Bug it would catch: with a supervisor and no worker, the overview says that nothing needs anybody."""
    backends = await open_backends(
        load_settings(env={}, overrides={"data": str(tmp_path)}).settings, create=True
    )
    try:
        job = await backends.book.create("shop", "http://a.example/", plan=b"plan")
        await backends.requests.create_frontier(job, FrontierRules())
        view = RosterView(at=backends.clock.now(), leader="s1")
        known = replace(await observe_job(backends, job, view=view), at=job.created_at + YOUNG_S)
    finally:
        await backends.close()
    (trouble,) = troubles_of(known)
    assert trouble.text == "shop-1 waits, and no worker takes its lane."
    assert not troubles_of(replace(known, stats=replace(known.stats, seeded=True)))


@pytest.mark.parametrize("others", [0, 3])
async def test_what_waits_for_a_browser_is_told_where_only_other_workers_are(tmp_path, others):
    """Else a crawl stands still with workers that are well, and nobody is told why."""
    given = {"data": str(tmp_path), "cluster.lanes": ["http", "browser"]}
    backends = await open_backends(load_settings(env={}, overrides=given).settings, create=True)
    try:
        now = backends.clock.now()
        job = await backends.book.create("shop", "http://a.example/", plan=b"plan")
        await backends.requests.create_frontier(job, FrontierRules())
        entries = [make_entry(number, f"h{number}.example", lane="browser") for number in range(2)]
        entries += [make_entry(9 + number, host="b.example") for number in range(others)]
        await backends.open_frontier(job).add(entries)
        worker = make_card(lanes=("http", "seed"), beat_at=now)
        view = RosterView(at=now, leader="s1", workers=(worker,))
        known = replace(await observe_job(backends, job, view=view), at=job.created_at + YOUNG_S)
    finally:
        await backends.close()
    told = "2 requests of shop-1 may start now, and no worker takes the lane browser."
    (trouble,) = [one for one in troubles_of(known) if one.kind is TroubleKind.NO_WORKER]
    assert (trouble.text, trouble.ways[0].command) == (told, "gossamer worker --lanes browser")
    assert (say_of(known).answer == told) == (not others)


async def test_links_that_were_left_out_as_a_trap_are_a_trouble(tmp_path):
    """Those over a limit of one's own, or that robots rules out, are not."""
    backends = await open_backends(
        load_settings(env={}, overrides={"data": str(tmp_path)}).settings, create=True
    )
    try:
        job = await backends.book.create("shop", "http://a.example/", plan=b"plan")
        await backends.requests.create_frontier(job, FrontierRules())
        known = await observe_job(backends, job)
    finally:
        await backends.close()
    dropped = {"link:nofollow": 3, "link:trap_pattern": 4, "link:trap_repeats": 9}
    assert troubles_of(replace(known, totals=JobTotals(dropped=dropped))) == []
    totals = JobTotals(dropped={**dropped, "link:trap_calendar": 5, "link:trap_mirror": 2})
    (trouble,) = troubles_of(replace(known, totals=totals))
    assert trouble.kind is TroubleKind.TRAP
    assert trouble.text.startswith("shop-1: 7 links were not followed")
    assert trouble.ways[0].command == "gossamer report traps shop-1"


async def test_the_counts_of_a_status_are_of_one_moment(tmp_path, monkeypatch):
    """The sentence, the queue and the line of progress count the same requests, however fast those change."""
    backends = await open_backends(
        load_settings(env={}, overrides={"data": str(tmp_path)}).settings, create=True
    )
    try:
        job = await backends.book.create("shop", "http://a.example/")
        await backends.requests.create_frontier(job, FrontierRules())
        frontier = backends.open_frontier(job)
        stats, looks = await frontier.read_stats(), iter(range(1, 100))

        async def read_stats(self):
            return replace(stats, pending=next(looks))

        monkeypatch.setattr(type(frontier), "read_stats", read_stats)
        async with backends.requests.lock_target(job.target):
            status = await read_status(backends, job)
            known = await observe_closely(backends, job)
    finally:
        await backends.close()
    assert (status.queue.pending, status.waiting) == (1, 1)
    assert status.say[1].startswith("1 request waits.")
    assert progress_line(known).startswith("shop-1 has just begun; 0 pages; 2 pending, ")


@pytest.mark.parametrize("is_there", [True, False])
async def test_no_end_is_foreseen_of_a_job_on_which_nobody_works(tmp_path, monkeypatch, is_there):
    monkeypatch.setattr(job_facts, "YOUNG_S", -1.0)
    backends = await open_backends(
        load_settings(env={}, overrides={"data": str(tmp_path)}).settings, create=True
    )
    try:
        now = backends.clock.now()
        job = await backends.book.create("shop", "http://a.example/", plan=b"plan")
        await backends.requests.create_frontier(job, FrontierRules())
        await backends.store.record_attempts(
            job, [Attempt(at=now, url="http://a.example/", fingerprint=1, verdict=Verdict.SUCCESS)]
        )
        left = TimeEstimate(at=now, reason=LeftReason.KNOWN, least_s=900.0, most_s=1600.0)
        await save_job_memory(backends.requests.shared, job, JobMemory(at=now, due_at=now + 60, left=left))
        worker = make_card(lanes=("http", "seed"), beat_at=now)
        view = RosterView(at=now, leader="s1", workers=(worker,) if is_there else ())
        known = await observe_job(backends, job, view=view)
    finally:
        await backends.close()
    assert known.left.is_known == is_there
    assert ("done in" in say_of(known).answer) == is_there


REFUSAL = LaneHealth(job="shop-1", lane="http", why=EndReason.REFUSED, detail="no spider", refused_by=("w1",))


@pytest.mark.parametrize(
    ("leader", "standings", "kind", "answer"),
    [
        ("", (), "no_supervisor", "No supervisor looks after shop-1."),
        ("s1", (REFUSAL,), "no_worker", "No worker can run shop-1."),
        ("s1", (), None, "shop-1 has not begun: no request has been tried yet."),
    ],
)
async def test_what_the_first_sentence_says_is_missing_is_a_trouble_too(
    tmp_path, leader, standings, kind, answer
):
    """Else the page of the job says below it that nothing needs anybody."""
    backends = await open_backends(
        load_settings(env={}, overrides={"data": str(tmp_path)}).settings, create=True
    )
    try:
        now = backends.clock.now()
        job = await backends.book.create("shop", "http://a.example/", plan=b"plan")
        await backends.requests.create_frontier(job, FrontierRules())
        await backends.open_frontier(job).add([make_entry(1)])
        worker = make_card("w1", lanes=("http", "seed"), beat_at=now)
        view = RosterView(at=now, leader=leader, workers=(worker,), standings=standings)
        known = replace(await observe_job(backends, job, view=view), at=job.created_at + YOUNG_S)
    finally:
        await backends.close()
    assert say_of(known).answer == answer
    assert [one.kind for one in troubles_alone(known)] == ([kind] if kind else [])
    assert troubles_of_place(AlertView(), view, [known], now) == [], "it is said once"


@pytest.mark.parametrize(
    ("refused_by", "told"),
    [
        (("w1", "gone", "silent"), ["1 worker cannot do shop-1: another version."]),
        (("gone", "silent"), []),
    ],
)
def test_a_refusal_is_that_of_workers_that_are_there(refused_by: tuple[str, ...], told: list[str]) -> None:
    """Bug it would catch: the refusal of a worker was shown for as long as no shift did well."""
    job = Job(id="shop-1", name="shop", target="shop.py", created_at=0.0)
    beats = {"w1": 100.0, "w2": 100.0, "silent": 60.0}
    there = tuple(make_card(name, lanes=("http",), beat_at=at) for name, at in beats.items())
    standing = replace(REFUSAL, refused_by=refused_by, detail="another version", at=90.0)
    view = RosterView(at=100.0, leader="s1", workers=there, standings=(standing,))
    workers = workers_of(view, job.id, ["http"])
    known = ObservedJob(
        job=job,
        at=100.0,
        totals=JobTotals(),
        stats=FrontierStats(state=JobState.RUNNING),
        workers=workers,
    )
    found = [one for one in troubles_of_place(AlertView(), view, [known], 100.0) if one.kind == "refused"]
    assert [one.text for one in found] == told
    assert (workers.trouble, workers.refusing) == ("another version" if told else "", 0)


def test_an_alert_hides_the_same_trouble_alone_and_no_other_of_its_kind() -> None:
    """Bug it would catch: an alert about one lane, once acknowledged, hid that no worker takes another."""
    job = Job(id="shop-1", name="shop", target="shop.py", created_at=0.0, plan=b"plan")
    lanes = tuple(DueCounts(lane=lane, requests=2) for lane in ("browser", "slow"))
    known = ObservedJob(
        job=job,
        at=YOUNG_S,
        totals=JobTotals(),
        stats=FrontierStats(state=JobState.RUNNING),
        unserved=lanes,
        place=PlaceMemory(
            look=PlaceLook(at=YOUNG_S, refusing={"Redis": "it is read-only", "PostgreSQL": "its disk"})
        ),
    )
    browser = make_trouble(TroubleKind.NO_WORKER, "browser", "no worker", since=1.0, job=job.id)
    redis = make_trouble(TroubleKind.AWAY, "Redis", "no changes", since=1.0)
    alerts = AlertView(acknowledged=(browser, redis))
    assert [one.who for one in troubles_of(replace(known, alerts=alerts))] == ["slow"]
    assert [one.who for one in troubles_of_place(alerts, None, [known], YOUNG_S)] == ["PostgreSQL"]


@pytest.mark.parametrize(("workers", "is_over"), [(None, False), (TakerCounts(there=1), True)])
def test_an_alert_about_workers_is_refuted_by_their_roster_alone(
    workers: TakerCounts | None, is_over: bool
) -> None:
    """Bug it would catch: with many fleets, "no worker takes it" was taken off the list."""
    job = Job(id="shop-1", name="shop", target="shop.py", created_at=0.0, plan=b"plan")
    alert = make_trouble(TroubleKind.NO_WORKER, job.id, "no worker", since=1.0, job=job.id)
    known = ObservedJob(
        job=job,
        at=1.0,
        totals=JobTotals(),
        stats=FrontierStats(state=JobState.RUNNING),
        alerts=AlertView(troubles=(alert,)),
        workers=workers,
    )
    assert troubles_of(known) == ([] if is_over else [alert])


def test_when_a_host_may_be_asked_again_fits_a_column() -> None:
    job = Job(id="shop-1", name="shop", target="shop.py", created_at=0.0)
    hosts = HostSums(hosts=1, held={DelayReason.DOWN: 1}, held_until=120.0)
    known = ObservedJob(
        job=job, at=60.0, totals=JobTotals(), stats=FrontierStats(state=JobState.RUNNING),
        hosts=hosts, limit=PaceLimit.HELD,
    )  # fmt: skip
    assert re.fullmatch(r"from \d\d:\d\d", left_text(known))


@pytest.mark.parametrize(
    ("rules", "answer"),
    [
        (FrontierRules(max_pages=600), "shop-1 reached its budget of 600 pages."),
        (
            FrontierRules(max_pages_per_host=9),
            "shop-1 has nothing left that may be asked for: its hosts have",
        ),
    ],
)
async def test_a_job_that_ended_says_which_budget_of_pages_is_spent(tmp_path, rules, answer):
    backends = await open_backends(
        load_settings(env={}, overrides={"data": str(tmp_path)}).settings, create=True
    )
    try:
        job = await backends.book.create("shop", "http://a.example/")
        await backends.requests.open_frontier(job, rules).add([make_entry(1)])
        job = replace(job, end_reason=FinishReason.MAX_PAGES, finished_at=backends.clock.now())
        await backends.book.update(job)
        said = say_of(await observe_job(backends, job)).answer
    finally:
        await backends.close()
    assert said.startswith(answer)
