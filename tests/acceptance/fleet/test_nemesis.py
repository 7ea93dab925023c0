"""The nemesis itself: real servers are killed and come back, processes die, stand still and start again."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

import pytest
import redis
from kombu.connection import Connection

from kit.fleet import nemesis
from kit.fleet.nemesis import Deed, Nemesis
from kit.fleet.processes import Fleet, Member, Servers, variables
from kit.fleet.serving import Asked, ServedSite
from kit.servers import PostgresProcess, RedisProcess

AT_WORK = "import sys, time; print('supervisor or worker takes shifts', flush=True); time.sleep(600)"


class StandIn(Member):
    """A process that says that it is at work, and is not."""

    def command(self) -> Sequence[str]:
        return ["/usr/bin/env", "python3", "-c", AT_WORK]


class StandIns(Fleet):
    """A fleet of them."""

    def _member(self, kind: str, args: Sequence[str], ready: str, ahead_s: float = 0.0) -> Member:
        return StandIn(kind, args, {"PATH": "/usr/bin"}, ready)


@pytest.fixture
def fleet(redis_server: RedisProcess, postgres_server: PostgresProcess, tmp_path: Path) -> Iterator[StandIns]:
    servers = Servers(redis_server.start(), postgres_server.start(), postgres_server.url)
    servers.empty()
    with StandIns(tmp_path, servers, workers=2) as fleet:
        yield fleet


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ServedSite]:
    with ServedSite(tmp_path / "site", "catalogue", 20, 0) as site:
        yield site


def pids(members: Sequence[Member]) -> list[int]:
    return [member.pid for member in members]


def test_workers_are_killed_and_started_again(fleet: StandIns) -> None:
    before, supervisors = pids(fleet.workers), pids(fleet.supervisors)
    deed = nemesis.kill_workers(fleet, Random(1))
    assert (deed.what, deed.leases) == ("killed 2 workers", 2 * 2 * 16)
    fleet.ready()
    assert not set(before) & set(pids(fleet.workers))
    assert pids(fleet.supervisors) == supervisors
    assert nemesis.kill_one_worker(fleet, Random(1)).leases == 2 * 16
    nemesis.kill_supervisors(fleet, Random(1))
    assert pids(fleet.supervisors) != supervisors
    fleet.ready()
    fleet.all_alive()


def test_workers_stand_still_and_go_on(fleet: StandIns, monkeypatch: pytest.MonkeyPatch) -> None:
    states: list[str] = []

    def state(seconds: float) -> None:
        deadline = time.monotonic() + 10  # the signal takes its time on a busy machine
        while set(states) != {"T"} and time.monotonic() < deadline:
            stats = [Path(f"/proc/{worker.pid}/stat").read_text() for worker in fleet.workers]
            states[:] = [stat.rpartition(")")[2].split()[0] for stat in stats]

    monkeypatch.setattr(time, "sleep", state)
    before = pids(fleet.workers)
    assert nemesis.stall_workers(fleet, Random(1)).leases == 0
    assert states == ["T", "T"]
    assert pids(fleet.workers) == before
    fleet.all_alive()


def test_servers_are_killed_and_come_back_with_what_they_had(fleet: StandIns) -> None:
    servers = fleet.servers
    with redis.Redis.from_url(servers.redis.url) as client:
        client.set("kept", 1)
        client.wait(0, 0)
    pid, postgres = servers.redis.pid, servers.postgres.pid
    deed = nemesis.kill_redis(fleet, Random(1))
    assert deed.forgets_s > 0
    assert servers.redis.pid != pid
    with redis.Redis.from_url(servers.redis.url) as client:
        assert client.get("kept") == b"1"
    nemesis.restart_postgres(fleet, Random(1))
    assert servers.postgres.pid != postgres


def test_only_messages_are_deleted(fleet: StandIns) -> None:
    """Those of a broker in Redis, waiting ones and delivered ones; requests are in another database."""
    with redis.Redis.from_url(fleet.servers.redis.url) as requests:
        requests.rpush("gossamer:{job:0}:queue", "a request")
        with Connection(fleet.servers.broker_url) as connection:
            queue = connection.SimpleQueue("gossamer.default.http")
            for _ in range(3):
                queue.put({"a": "message"})
            queue.get(timeout=5)  # and not acknowledged
            deed = nemesis.delete_messages(fleet, Random(1))
            with redis.Redis.from_url(fleet.servers.broker_url) as broker:
                kinds = {broker.type(key) for key in broker.scan_iter()}
                assert kinds == {b"set"}, "the bindings are left"
            queue.close()
        assert deed.what.startswith("deleted ")
        assert requests.llen("gossamer:{job:0}:queue") == 1


def test_a_process_that_does_not_come_to_work_is_reported_with_its_log(fleet: StandIns) -> None:
    fleet.workers[1].kill()
    with pytest.raises(AssertionError, match="worker ended:\nsupervisor or worker takes shifts"):
        fleet.all_alive()
    assert "--- worker 3 (ended)\nsupervisor or worker takes shifts" in fleet.logs()


def test_everything_is_ended_also_after_a_failure(
    redis_server: RedisProcess, postgres_server: PostgresProcess, tmp_path: Path
) -> None:
    servers = Servers(redis_server.start(), postgres_server.start(), postgres_server.url)
    fleet = StandIns(tmp_path, servers)
    folders = [member.folder for member in fleet.members]
    with pytest.raises(ZeroDivisionError) as failed, fleet:
        _ = sum(pids(fleet.members)) // 0
    assert "--- supervisor 1\n" in failed.value.__notes__[0]
    assert not [member for member in fleet.members if member.is_running]
    assert not [folder for folder in folders if folder.exists()]


def test_deeds_come_after_so_many_requests_or_when_nothing_moves(fleet: StandIns, site: ServedSite) -> None:
    def ask(count: int) -> None:
        for number in range(count):
            with urllib.request.urlopen(f"{site.url}/p/{number % 5}") as answer:
                answer.read()

    def deed(_: Fleet, chance: Random) -> Deed:
        return Deed(time.time(), f"number {chance.randint(0, 99)}", leases=5, forgets_s=100)

    def until(count: int, nemesis: Nemesis) -> None:
        deadline = time.monotonic() + 10
        while len(nemesis.deeds) < count and time.monotonic() < deadline:
            time.sleep(0.005)
        assert len(nemesis.deeds) == count

    with Nemesis(deed, fleet, site, seed=1, every=(5, 5), most=2) as first:
        for count in (1, 2):
            ask(5)
            until(count, first)
        ask(5)
    assert len(first.deeds) == 2
    hits = site.hits()
    assert first.cost(hits) == 2 * 5 + 5 + 10, "what is lost, and what was done before is done again"
    with Nemesis(deed, fleet, site, seed=1, every=(5, 5), most=1, patience_s=0.05) as second:
        until(1, second)
    assert first.deeds[0].what == second.deeds[0].what, "by the seed"


def test_what_goes_wrong_in_a_nemesis_fails_the_test(fleet: StandIns, site: ServedSite) -> None:
    def fails(_: Fleet, __: Random) -> Deed:
        raise TimeoutError("Redis did not start")

    with (
        pytest.raises(TimeoutError, match="did not start"),
        Nemesis(fails, fleet, site, seed=1, every=(1, 1), patience_s=0.01) as at_it,
    ):
        at_it._thread.join(10)


def test_settings_become_variables() -> None:
    settings: Mapping[str, str | float] = {"frontier.lease_ttl": 5, "delay": 0.5}
    assert variables(settings) == {"GOSSAMER_FRONTIER__LEASE_TTL": "5", "GOSSAMER_DELAY": "0.5"}
    assert Asked(0.0, "127.0.0.1:80", "/a", 200).url == "http://127.0.0.1:80/a"
