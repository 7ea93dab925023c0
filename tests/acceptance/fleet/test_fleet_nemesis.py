"""Whatever is killed, stalled or deleted while a fleet crawls: its history is that of an undisturbed one."""

from __future__ import annotations

from pathlib import Path

import pytest

from acceptance.fleet.conftest import PAGES, Known
from kit.fleet import nemesis
from kit.fleet.history import again, judge
from kit.fleet.nemesis import Act, Nemesis
from kit.fleet.processes import FULL, Fleet, Servers

LONG_S = 1800 if FULL else 200
EVERY = (600, 1400) if FULL else (PAGES // 8, PAGES // 5)
"""Requests between two deeds."""
MOST = 1000 if FULL else 4

pytestmark = pytest.mark.timeout(LONG_S + 120)


def check(act: Act, known: Known, fleet: Fleet, *, seed: int, least: int = 3) -> Nemesis:
    """Crawl under a nemesis, and hold what comes of it against the truth."""
    job = fleet.submit(known.spider)
    with Nemesis(act, fleet, known.site, seed=seed, every=EVERY, most=MOST) as at_it:
        result = fleet.wait(job, timeout_s=LONG_S)
    fleet.all_alive()
    assert len(at_it.deeds) >= least, f"the crawl was hardly disturbed: {at_it}"
    hits, stored = known.site.hits(), fleet.stored(result["job"])
    cost, twice = at_it.cost(hits), sum(again(known.truth, hits).values())
    print(f"{twice} requests again, {cost} allowed, {result['pages_per_second']} pages/s; {at_it.told()}")
    judge(known.truth, hits, stored, refetched=cost)
    counts = (result["finish_reason"], result["pages"], result["items"], result["dead"])
    assert counts == ("finished", len(known.truth.pages), len(known.truth.items), 0)
    return at_it


@pytest.mark.long
@pytest.mark.parametrize(
    "act",
    [
        nemesis.kill_workers,
        pytest.param(nemesis.kill_one_worker, marks=pytest.mark.thorough),
        nemesis.kill_supervisors,
        pytest.param(nemesis.stall_workers, marks=pytest.mark.thorough),
        nemesis.restart_postgres,
    ],
)
@pytest.mark.parametrize("seed", range(3 if FULL else 1))
def test_nothing_is_lost_or_doubled(
    act: Act, seed: int, catalogue: Known, servers: Servers, tmp_path: Path
) -> None:
    with Fleet(tmp_path, servers, workers=2) as fleet:
        check(act, catalogue, fleet, seed=seed)


@pytest.mark.long
def test_another_supervisor_takes_over(catalogue: Known, servers: Servers, tmp_path: Path) -> None:
    """Of two, the one that leads is killed and stays away."""
    with Fleet(tmp_path, servers, workers=2, supervisors=2) as fleet:
        fleet.kill_leader()
        result = fleet.crawl(catalogue.spider, timeout_s=LONG_S)
        judge(catalogue.truth, catalogue.site.hits(), fleet.stored(result["job"]))


@pytest.mark.long
@pytest.mark.parametrize("broker", ["redis", pytest.param("rabbit", marks=pytest.mark.thorough)])
def test_messages_that_are_deleted(
    broker: str, catalogue: Known, servers: Servers, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Shifts are short, so that there are many messages; all that is lost with one is some time."""
    if broker == "rabbit":
        servers = servers.with_broker(request.getfixturevalue("amqp_url"))
    # A small crawl at full pace is over within two shifts, and then nothing is asked for any more.
    settings = {"cluster.shift": 1} if FULL else {"cluster.shift": 1, "delay": 0.002}
    with Fleet(tmp_path, servers, workers=2, settings=settings) as fleet:
        # It takes new messages away for two seconds each time; a small crawl may be over after one.
        at_it = check(nemesis.delete_messages, catalogue, fleet, seed=7, least=3 if FULL else 1)
    assert sum(deed.messages for deed in at_it.deeds) > 0, f"there was none: {at_it}"


@pytest.mark.thorough
def test_a_worker_that_is_gone_for_good_and_one_that_joins(
    catalogue: Known, servers: Servers, tmp_path: Path
) -> None:
    """Workers may come and go: one is killed and not started again, another one comes."""
    with Fleet(tmp_path, servers, workers=2) as fleet:
        job = fleet.submit(catalogue.spider)
        catalogue.site.wait_for(PAGES // 4)
        fleet.workers[0].kill()
        catalogue.site.wait_for(PAGES // 2)
        fleet.workers[0].start()
        result = fleet.wait(job, timeout_s=LONG_S)
        stored = fleet.stored(job)
        judge(catalogue.truth, catalogue.site.hits(), stored, refetched=fleet.in_flight)
        assert result["dead"] == 0
