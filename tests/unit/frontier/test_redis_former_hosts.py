"""Hosts that the former version has written into Redis are read, and written anew when they change."""

from __future__ import annotations

import struct

import msgspec

from gossamer.core.hosts import Rules
from gossamer.core.results import Verdict
from gossamer.drivers.redis.server import RedisServer
from gossamer.frontier.redis.frontier import RedisFrontier
from gossamer.frontier.redis.wire import host_of
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.frontier_world import entry, outcome

NEW_FIELDS = struct.calcsize("<4dI")
FORM_AT, FIXED = 64, 66


async def test_a_job_of_the_former_version_goes_on(server: RedisServer) -> None:
    clock = ManualClock()
    frontier = RedisFrontier(server, "former-1", Rules(delay_s=0.0), clock, uses_server_time=False, seed=1)
    await frontier.create()
    await frontier.add([entry(number) for number in range(3)])
    key = server.key("former-1:0")
    ((host, row),) = (await server.ask("HGETALL", f"{key}:hosts")).items()
    former = row[:FORM_AT] + bytes([row[FORM_AT] - 2]) + row[FORM_AT + 1 : FIXED] + row[FIXED + NEW_FIELDS :]
    await server.ask("HSET", f"{key}:hosts", host, former)
    rules = msgspec.msgpack.decode(await server.ask("HGET", f"{key}:meta", "rules"))
    del rules["host_patience_s"]
    await server.ask("HSET", f"{key}:meta", "rules", msgspec.msgpack.encode(rules))
    await _name_lanes_as_the_former_version(server, f"{key}:meta")

    assert host_of(former).name == "a.example"
    (report,) = await frontier.hosts(9)
    assert (report.pending, report.state.answered_at) == (3, 0.0)
    for _ in range(3):
        (lease,) = (await frontier.lease("http", 9, 60.0)).leases
        assert await frontier.settle([outcome(lease, Verdict.SUCCESS, clock.now())]) == [True]
    assert host_of(await server.ask("HGET", f"{key}:hosts", host)).state.answered_at == clock.now()
    await frontier.forget()


async def test_the_former_version_cannot_go_on_with_a_job_of_this_one(server: RedisServer) -> None:
    """It would misread the hosts and write them back: their requests would be lost. It asks for ``lanes``."""
    frontier = RedisFrontier(server, "former-2", Rules(delay_s=0.0), ManualClock(), uses_server_time=False)
    await frontier.create()
    meta = f"{server.key('former-2:0')}:meta"
    assert await server.ask("HGET", meta, "lanes") is None

    await _name_lanes_as_the_former_version(server, meta)
    await frontier.stats()
    await frontier.place(1)
    assert await server.ask("HGET", meta, "lanes") is not None, "who only looks on changes nothing"
    await frontier.add([entry(1)])
    assert await server.ask("HGET", meta, "lanes") is None
    assert len((await frontier.lease("http", 9, 60.0)).leases) == 1
    await frontier.forget()


async def _name_lanes_as_the_former_version(server: RedisServer, meta: str) -> None:
    await server.ask("HSET", meta, "lanes", await server.ask("HGET", meta, "lane_names"))
    await server.ask("HDEL", meta, "lane_names")
