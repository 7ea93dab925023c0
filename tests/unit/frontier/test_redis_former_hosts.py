"""Hosts that the former version has written into Redis are read, and written anew when they change."""

from __future__ import annotations

import struct

import msgspec
import pytest

from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DeadLetterFilter
from gossamer.core.results import Verdict
from gossamer.drivers.redis.server import RedisServer
from gossamer.frontier.redis.frontier import RedisFrontier
from gossamer.frontier.redis.wire import host_of
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.frontier_harness import make_entry, make_outcome

NEW_FIELDS = struct.calcsize("<4dI")
FORM_AT, FIXED = 64, 66
RANKED_AT = 20
TIME, DATED = 8, 32


async def test_a_job_of_the_former_version_goes_on(server: RedisServer) -> None:
    clock = ManualClock()
    frontier = RedisFrontier(
        server, "former-1", FrontierRules(delay_s=0.0), clock, uses_server_time=False, seed=1
    )
    await frontier.create_shards()
    await frontier.add([make_entry(number) for number in range(3)])
    key = server.key_for("former-1:0")
    ((host, row),) = (await server.run_command("HGETALL", f"{key}:hosts")).items()
    dated_at = len(row) - len("a.example") - TIME
    former = row[:FORM_AT] + bytes([row[FORM_AT] - 2 - DATED]) + row[FORM_AT + 1 : FIXED]
    former += row[FIXED + NEW_FIELDS : dated_at] + row[dated_at + TIME :]
    await server.run_command("HSET", f"{key}:hosts", host, former)
    rules = msgspec.msgpack.decode(await server.run_command("HGET", f"{key}:meta", "rules"))
    del rules["host_patience_s"]
    await server.run_command("HSET", f"{key}:meta", "rules", msgspec.msgpack.encode(rules))
    await _name_lanes_as_the_former_version(server, f"{key}:meta")

    assert host_of(former).name == "a.example"
    (report,) = await frontier.busiest_hosts(9)
    assert (report.pending, report.state.answered_at) == (3, 0.0)
    for _ in range(3):
        (lease,) = (await frontier.lease("http", 9, 60.0)).leases
        assert await frontier.settle([make_outcome(lease, Verdict.SUCCESS, clock.now())]) == [True]
    assert host_of(await server.run_command("HGET", f"{key}:hosts", host)).state.answered_at == clock.now()
    await frontier.delete_requests()


async def test_the_former_version_cannot_go_on_with_a_job_of_this_one(server: RedisServer) -> None:
    """It would misread the hosts and write them back: their requests would be lost. It asks for ``lanes``."""
    frontier = RedisFrontier(
        server, "former-2", FrontierRules(delay_s=0.0), ManualClock(), uses_server_time=False
    )
    await frontier.create_shards()
    meta = f"{server.key_for('former-2:0')}:meta"
    assert await server.run_command("HGET", meta, "lanes") is None

    await _name_lanes_as_the_former_version(server, meta)
    await frontier.read_stats()
    await frontier.find_request(1, "a.example")
    assert await server.run_command("HGET", meta, "lanes") is not None, "who only looks on changes nothing"
    await frontier.add([make_entry(1)])
    assert await server.run_command("HGET", meta, "lanes") is None
    assert len((await frontier.lease("http", 9, 60.0)).leases) == 1
    await frontier.delete_requests()


async def _name_lanes_as_the_former_version(server: RedisServer, meta: str) -> None:
    await server.run_command("HSET", meta, "lanes", await server.run_command("HGET", meta, "lane_names"))
    await server.run_command("HDEL", meta, "lane_names")


@pytest.mark.parametrize("what", ["an ordinary request", "a far priority", "a host that two jobs share"])
async def test_what_the_version_before_misreads_stops_it(server: RedisServer, what: str) -> None:
    """It asks for ``lane_names``. So long as it can read everything, both may work on a job."""
    clock, rules = ManualClock(), FrontierRules(delay_s=1.0)
    await server.delete_keys(f"{server.key_for('former paces')}*")
    jobs = [
        RedisFrontier(server, f"former-{number}", rules, clock, paces="former paces", uses_server_time=False)
        for number in (3, 4)
    ]
    for frontier in jobs:
        await frontier.create_shards()
    meta = f"{server.key_for('former-3:0')}:meta"
    await jobs[0].add([make_entry(number, priority=1000 * (what == "a far priority")) for number in (1, 2)])
    if what == "a host that two jobs share":
        await jobs[1].add([make_entry(1)])
        assert (await jobs[1].lease("http", 1, 60.0)).leases
    await jobs[0].lease("http", 1, 60.0)
    assert await jobs[0].find_request(1, "a.example") is not None
    known = await server.run_command("HMGET", meta, "lane_names", "lane_list")
    assert [bool(names) for names in known] == (
        [True, False] if what == "an ordinary request" else [False, True]
    )
    for frontier in jobs:
        await frontier.delete_requests()


async def test_a_dead_letter_of_the_former_version_is_revived_and_buried(server: RedisServer) -> None:
    """That one knew bands only: what had a far priority stands among the band's own."""
    clock = ManualClock()
    frontier = RedisFrontier(server, "former-5", FrontierRules(delay_s=0.0), clock, uses_server_time=False)
    await frontier.create_shards()
    await frontier.add([make_entry(1, priority=1000)])
    (lease,) = (await frontier.lease("http", 1, 60.0)).leases
    await frontier.settle([make_outcome(lease, Verdict.DEAD, clock.now(), reason="client")])
    key = f"{server.key_for('former-5:0')}:dead"
    (member,) = await server.run_command("ZRANGE", key, 0, -1)
    assert member[RANKED_AT] == 3
    await server.run_command("DEL", key)
    former = member[:RANKED_AT] + b"\1" + member[RANKED_AT + 9 :]
    await server.run_command("ZADD", key, clock.now(), former)
    letters = await frontier.dead_letters(DeadLetterFilter())
    assert await frontier.revive_letters(DeadLetterFilter()) == 1
    assert await frontier.bury_letters(letters, were_dropped=False) == 1
    assert len(await frontier.dead_letters(DeadLetterFilter())) == 1
    await frontier.delete_requests()
