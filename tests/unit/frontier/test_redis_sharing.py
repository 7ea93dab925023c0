"""What all jobs of a Redis know of hosts: how long it is kept, and what asking for it costs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules, HostCommand, HostOrder, HostSignal, HostSignalKind
from gossamer.core.lifecycle import JobCommand
from gossamer.core.results import Verdict
from gossamer.drivers.redis.server import RedisServer
from gossamer.frontier.redis.frontier import RedisFrontier
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.frontier_harness import make_entry, make_outcome

RULES = FrontierRules(delay_s=1.0, per_host=1)
HOURS_S = 21_600.0
PACES = "paces of jobs"
Open = Callable[..., Awaitable[RedisFrontier]]


@pytest.fixture
async def open_job(server: RedisServer, clock: ManualClock) -> AsyncIterator[Open]:
    opened: list[RedisFrontier] = []

    async def open_it(name: str, rules: FrontierRules = RULES, shards: int = 1) -> RedisFrontier:
        frontier = RedisFrontier(
            server, name, rules, clock, paces=PACES, shards=shards, uses_server_time=False, seed=1
        )
        await frontier.delete_requests()
        await frontier.create_shards()
        opened.append(frontier)
        return frontier

    await server.delete_keys(f"{server.key_for(PACES)}*")
    yield open_it
    for frontier in opened:
        await frontier.delete_requests()


async def lease_and_settle(frontier: RedisFrontier, clock: ManualClock, **signal: object) -> None:
    (lease,) = (await frontier.lease("http", 1, 60.0)).leases
    said = {"kind": HostSignalKind.OK, "started_at": clock.now()} | signal
    await frontier.settle([make_outcome(lease, Verdict.SUCCESS, clock.now(), signal=HostSignal(**said))])  # type: ignore[arg-type]


async def members(server: RedisServer) -> set[str]:
    found = await server.run_command("ZRANGE", f"{server.key_for(PACES)}:jobs", 0, -1)
    return {member.decode().rpartition("{")[2] for member in found}


async def test_jobs_that_are_not_worked_on_are_forgotten(
    server: RedisServer, open_job: Open, clock: ManualClock
) -> None:
    """A killed job says nothing; what is left of it goes when the next one begins, or with the whole key."""
    jobs = {name: await open_job(name, shards=2) for name in ("killed", "paused", "at-work")}
    for name in ("killed", "paused"):
        await jobs[name].add([make_entry(number, f"h{number}") for number in range(9)])
    assert await members(server) == {"killed", "paused"}, "one for all shards of a job"
    await jobs["paused"].apply_change(JobCommand.PAUSE)
    clock.advance(HOURS_S - 60.0)
    await jobs["paused"].lease("http", 9, 60.0)
    await jobs["paused"].add([make_entry(99, "h1")])
    clock.advance(120.0)
    await jobs["at-work"].add([make_entry(1)])
    assert await members(server) == {"at-work"}, "a paused job is not worked on, whoever calls"
    assert 0 < await server.run_command("TTL", f"{server.key_for(PACES)}:jobs") <= HOURS_S
    await jobs["at-work"].apply_change(JobCommand.CANCEL)
    assert await members(server) == set()
    await jobs["at-work"].lease("http", 9, 60.0)
    assert await members(server) == set(), "nor one that is cancelled"


async def test_every_key_of_all_jobs_goes_away_by_itself(
    server: RedisServer, open_job: Open, clock: ManualClock
) -> None:
    for name in ("one", "two"):
        frontier = await open_job(name)
        await frontier.add([make_entry(1)])
        clock.advance(2.0)
        await lease_and_settle(frontier, clock)
    keys = await server.run_command("KEYS", f"{server.key_for(PACES)}*")
    assert len(keys) == 2
    assert all([await server.run_command("TTL", key) > 0 for key in keys])


async def test_of_several_jobs_the_latest_counts(open_job: Open, clock: ManualClock) -> None:
    """Each was alone at the host when it asked; what a person ordered of one job is not for others."""
    waits = {"first": 60.0, "longest": 90.0, "last": 30.0}
    jobs = {name: await open_job(name) for name in (*waits, "held", "new")}
    await jobs["held"].add([make_entry(1)])
    await jobs["held"].steer_host("a.example", HostOrder(command=HostCommand.HOLD, until=clock.now() + 900.0))
    for name in waits:
        await jobs[name].add([make_entry(1), make_entry(2)])
    start = clock.now()
    for name, wait_s in waits.items():
        alone = RedisFrontier(jobs[name]._server, name, RULES, clock, uses_server_time=False)  # tells nobody
        await lease_and_settle(alone, clock, kind=HostSignalKind.THROTTLED, retry_after_s=wait_s)
    await jobs["new"].add([make_entry(1)])
    assert (await jobs["new"].lease("http", 9, 60.0)).leases == ()
    report = await jobs["new"].find_host("a.example")
    assert report is not None
    assert report.state.hold_until == start + 90.0
    clock.advance(90.1)
    assert len((await jobs["new"].lease("http", 9, 60.0)).leases) == 1


async def test_what_others_have_stored_is_read_once_for_a_host(
    server: RedisServer, open_job: Open, clock: ManualClock
) -> None:
    """However many jobs there are: what was asked once is known to all from then on."""
    rules = replace(RULES, delay_s=0.0, per_host=4)
    others = [await open_job(f"other-{number}", rules) for number in range(12)]
    for frontier in others:
        await frontier.add([make_entry(1, "elsewhere.example")])
    job = await open_job("job", rules)
    await job.add([make_entry(number) for number in range(9)])

    async def reads() -> int:
        before = await _calls(server, "hmget")
        await lease_and_settle(job, clock)
        return await _calls(server, "hmget") - before

    first, *later = [await reads() for _ in range(4)]
    assert first > 12, "each other job is asked"
    assert max(later) <= 12, later
    assert len(set(later)) == 1, "and then none"


async def _calls(server: RedisServer, command: str) -> int:
    found = await server.client.info("commandstats")
    return int(found.get(f"cmdstat_{command}", {"calls": 0})["calls"])
