"""What one look at a job of a fleet says of who could work on it, and of links that it has left out."""

import pytest
from msgspec.structs import replace

from gossamer.config.layers import load_settings
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import JobTotals
from gossamer.core.shifts import RosterView, WorkerState
from gossamer.policy.sentences.job_facts import YOUNG_S
from gossamer.policy.troubles import TroubleKind
from gossamer.queries.observed_jobs import observe_job, say_of, troubles_of
from gossamer.testing.contracts.frontier_harness import make_entry
from gossamer.testing.contracts.roster_harness import make_card
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
    is_told = say_of(known).answer == "Nobody works on shop-1: no worker takes its lane."
    is_trouble = TroubleKind.NO_WORKER in [trouble.kind for trouble in troubles_of(known)]
    assert (is_told, is_trouble) == (not is_taken, not is_taken)


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
