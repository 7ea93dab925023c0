"""Workers, supervisors and `up` as processes: how they start and end while a crawl goes on."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from acceptance.fleet.conftest import Known
from kit.environment import environment
from kit.fleet import spiders
from kit.fleet.history import again
from kit.fleet.processes import Fleet, Member, Servers
from kit.fleet.steps import (
    SLOW_S,
    STOPPED,
    ended,
    shown_fleet,
    status,
    told,
    told_until_it_drains,
    until,
)
from kit.server_process import free_port

# --------------------------------------------------------------------------- a worker is told to end


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.thorough)])
def test_a_worker_that_is_told_to_end_finishes_what_is_in_flight(
    number: signal.Signals, fleet: Fleet, big: Known
) -> None:
    job = fleet.submit(big.spider, "--max-pages", "600")
    big.site.wait_for(150)
    leaver = fleet.workers[0]
    told(leaver, number)
    code, took_s = ended(leaver, 10)
    assert code == 0, leaver.tail()
    assert took_s < 5
    at = big.site.count()
    big.site.wait_for(at + 100, within_s=3)
    assert fleet.wait(job)["pages"] >= 600
    assert not again(big.truth, big.site.hits())
    verdicts = {tried.verdict for tried in fleet.stored(job).ledger}
    assert "expired" not in verdicts


@pytest.mark.long
def test_a_worker_finishes_a_slow_page_and_ends_at_once_when_told_again(fleet: Fleet, slow: Known) -> None:
    job = fleet.submit(slow.spider, "--concurrency", "8")
    slow.site.wait_for(3 + 32)
    patient, hasty = fleet.workers
    done = {tried.url for tried in fleet.ledger(job) if tried.verdict == "success"}
    told(patient, signal.SIGTERM)
    told_until_it_drains(hasty, signal.SIGINT)
    told(hasty, signal.SIGINT)
    code, took_s = ended(hasty, 5)
    assert (code, took_s < 1) == (STOPPED, True)
    hasty.start()
    code, took_s = ended(patient, SLOW_S + 3)
    assert (code, took_s < SLOW_S + 1.5) == (0, True)
    slow.site.wait_for(slow.site.count() + 20)
    twice = again(slow.truth, slow.site.hits())
    assert len(twice) <= 16, "how many were in hand depends on the moment: none, if all were just recorded"
    assert done
    assert not twice.keys() & done, "what was recorded is done"
    fleet.run("cancel", job)


@pytest.mark.long
def test_an_idle_worker_ends_at_once(fleet: Fleet) -> None:
    for worker, number in zip(fleet.workers, (signal.SIGTERM, signal.SIGINT), strict=True):
        told(worker, number)
    for worker in fleet.workers:
        code, took_s = ended(worker, 10)
        assert (code, took_s < 3) == (0, True), worker.tail()


@pytest.mark.long
def test_a_supervisor_hands_over(fleet: Fleet, big: Known) -> None:
    job = fleet.submit(big.spider, "--max-pages", "600")
    big.site.wait_for(150)
    leader = shown_fleet(fleet)["leader"]
    (first,) = [member for member in fleet.supervisors if f":{member.pid}:" in leader]
    (second,) = [member for member in fleet.supervisors if member is not first]
    before = second.log.read_text().count("leading")
    told(first, signal.SIGTERM)
    code, took_s = ended(first, 5)
    assert (code, took_s < 3) == (0, True), first.tail()
    until(lambda: second.log.read_text().count("leading") > before, 3, "another that leads")
    fleet.wait(job)
    assert not again(big.truth, big.site.hits())


SEEDS = """
import asyncio
from pathlib import Path

from gossamer import Request, Spider


class Seeds(Spider):
    name = "seeds"
    allowed_domains = ["127.0.0.1"]

    async def start(self):
        for number in range(800):
            if number == 600 and not Path("{mark}").exists():
                Path("{mark}").touch()
                await asyncio.sleep(60)
            yield Request(f"{url}/p/{number}")

    def parse(self, response):
        pass
"""


@pytest.mark.long
def test_seeding_is_taken_over(fleet: Fleet, big: Known, folder: Path) -> None:
    spider = spiders.write(folder, "seeds", SEEDS, url=big.site.url, mark=str(folder / "mark"))
    job = fleet.submit(spider)
    big.site.wait_for(50)
    (shift,) = [shift for shift in shown_fleet(fleet)["shifts"] if shift["lane"] == "seed"]
    (seeder,) = [worker for worker in fleet.workers if f":{worker.pid}:" in shift["worker"]]
    told(seeder, signal.SIGTERM)
    code, took_s = ended(seeder, 5)
    assert (code, took_s < 3) == (0, True), seeder.tail()
    assert "a shift on seed ends (drained)" in seeder.tail()
    fleet.wait(job)
    asked = {hit.path for hit in big.site.hits()}
    assert {f"/p/{number}" for number in range(800) if number % 50 != 7} <= asked
    assert not again(big.truth, big.site.hits())


@pytest.mark.thorough
def test_workers_end_although_redis_is_away(fleet: Fleet, big: Known) -> None:
    job = fleet.submit(big.spider, "--max-pages", "600")
    big.site.wait_for(100)
    (busy, hasty), supervisor = fleet.workers, fleet.supervisors[0]
    fleet.servers.redis.kill()
    told_until_it_drains(hasty, signal.SIGTERM)
    told(supervisor, signal.SIGTERM)
    late = Member("worker", (), fleet._env, "").start()
    try:
        told(hasty, signal.SIGTERM)
        code, took_s = ended(hasty, 5)
        assert (code, took_s < 1.5) == (STOPPED, True), hasty.tail()
        code, took_s = ended(supervisor, 10)
        assert (code, took_s < 3) == (0, True), supervisor.tail()
        until(lambda: "/1 " in late.tail(), 20, "a worker that waits for the broker")
        told(late, signal.SIGTERM)
        code, took_s = ended(late, 5)
        assert (code, took_s < 1) == (0, True), late.tail()
    finally:
        late.stop()
        fleet.servers.redis.start()
    for member in (hasty, supervisor):
        member.start()
    fleet.ready()
    assert busy.is_running
    fleet.run("cancel", job)


def test_a_worker_that_still_waits_for_its_servers_ends_at_once(fleet: Fleet, folder: Path) -> None:
    """The broker is there; the requests are not."""
    env = {**fleet._env, "GOSSAMER_FRONTIER__URL": f"redis://127.0.0.1:{free_port()}/0"}
    worker = Member("worker", (), env, "cannot begin yet").start()
    try:
        until(worker.is_at_work, 20, "a worker that waits for Redis")
        told(worker, signal.SIGTERM)
        code, took_s = ended(worker, 10)
        assert (code, took_s < 1) == (0, True), worker.tail()
    finally:
        worker.stop()


# --------------------------------------------------------------------------- up


def children(pid: int) -> dict[int, str]:
    """The processes that a process has started, with their command lines."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid and fields[0] != "Z":
                text = (stat.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found[int(stat.parent.name)] = text
    return found


@pytest.fixture
def up(folder: Path, places: Servers) -> Iterator[Member]:
    """`gossamer up` with two workers, as a fleet of its own."""
    env = Fleet(folder, places, workers=0, supervisors=0, settings={"cluster.fleet": "upper"})._env
    member = Member("up", ("--workers", "2"), env, "leading the fleet").start()
    try:
        until(lambda: member.log.read_text().count("takes shifts") == 2, 30, "two workers")
        until(member.is_at_work, 10, "a supervisor")
        yield member
    except AssertionError as error:
        error.add_note(member.tail())
        raise
    finally:
        member.kill() if member.is_running else None
        member.stop()


@pytest.mark.long
def test_up_keeps_them_going_and_ends_them(up: Member, fleet: Fleet) -> None:
    before = children(up.pid)
    assert len(before) == 3
    for kind in ("supervisor", "worker"):
        victim = next(pid for pid, text in before.items() if kind in text)
        os.kill(victim, signal.SIGKILL)
    until(lambda: len(children(up.pid).keys() - before.keys()) == 2, 5, "others in their place")
    log = up.log
    until(lambda: log.read_text().count("takes shifts") == 3, 30, "a new worker")
    until(lambda: log.read_text().count("leading the fleet") == 2, 15, "a new leader")
    pids = children(up.pid)
    told(up, signal.SIGTERM)
    code, took_s = ended(up, 10)
    assert (code, took_s < 5) == (0, True), up.tail()
    assert not [pid for pid in pids if Path(f"/proc/{pid}/cmdline").exists()]


@pytest.mark.thorough
def test_up_that_is_told_twice_ends_at_once(up: Member, slow: Known, folder: Path, places: Servers) -> None:
    upper = Fleet(folder, places, workers=0, supervisors=0, settings={"cluster.fleet": "upper"})
    job = upper.submit(slow.spider)
    slow.site.wait_for(3 + 16)
    pids = children(up.pid)
    told_until_it_drains(up, signal.SIGTERM)
    told(up, signal.SIGINT)
    code, took_s = ended(up, 5)
    assert (code, took_s < 2) == (STOPPED, True), up.tail()
    assert not [pid for pid in pids if Path(f"/proc/{pid}/cmdline").exists()]
    assert status(upper, job)["queue"]["leased"] == 0, "given back"
    upper.run("cancel", job)


@pytest.mark.long
def test_nothing_is_left_of_up_that_was_killed(up: Member) -> None:
    pids = children(up.pid)
    assert len(pids) == 3
    up.kill()
    until(lambda: not any(map(is_running, pids)), 20, "the end of all")


def is_running(pid: int) -> bool:
    """One that has ended and that nobody has asked about has no command line any more."""
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


CANNOT = """
import sys
from gossamer.cluster.local_fleet import LocalFleet

child = "import sys, time; print(time.monotonic(), flush=True); sys.exit('no such broker')"
sys.exit(LocalFleet([("worker 1", [sys.executable, "-c", child])], drain_s=1).run())
"""


@pytest.mark.long
def test_up_starts_what_cannot_start_ever_more_rarely() -> None:
    env = environment() | {"PYTHONPATH": os.pathsep.join(sys.path)}
    line = [sys.executable, "-c", CANNOT]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as up:
        assert up.stdout is not None
        assert up.stderr is not None
        starts = [float(up.stdout.readline()) for _ in range(3)]
        assert up.stderr.readline() == "no such broker\n"
        up.terminate()
        assert up.wait(5) == 0
    assert starts[1] - starts[0] > 0.9
    assert starts[2] - starts[1] > 1.9
