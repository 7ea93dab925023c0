"""The Redis frontier when its server is full, gone, hangs, or is a cluster."""

import asyncio
import time
from contextlib import asynccontextmanager

import pytest

from gossamer.core.errors import StorageError
from gossamer.core.hosts import FrontierRules, HostSignal
from gossamer.core.results import Verdict
from gossamer.drivers.redis.server import RedisServer
from gossamer.frontier.redis.frontier import RedisFrontier
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.frontier import FrontierSubject, frontier_checks
from gossamer.testing.contracts.frontier_harness import fingerprints_of, make_entry, make_outcome
from kit.servers import RedisProcess, redis_cluster

FREE = FrontierRules(delay_s=0.0, per_host=64)


def frontier_on(server, clock, **options):
    return RedisFrontier(server, "j", FREE, clock, uses_server_time=False, **options)


async def test_a_full_redis_takes_nothing_in_and_finishes_what_is_under_way(redis_url):
    clock = ManualClock()
    server = RedisServer(redis_url)
    frontier = frontier_on(server, clock)
    await frontier.create_shards()
    await frontier.add([make_entry(n) for n in range(6)])
    first, second = (await frontier.lease("http", 2, 60)).leases
    before = await frontier.read_stats()
    await server.run_command("CONFIG", "SET", "maxmemory", "1mb")
    try:
        with pytest.raises(StorageError, match="is full: its maxmemory is reached"):
            await frontier.add([make_entry(7), make_entry(8, "new.example")])
        with pytest.raises(StorageError, match="is full"):
            await frontier.settle([make_outcome(first, Verdict.SUCCESS, 0.0, outlinks=(make_entry(9),))])
        assert await frontier.read_stats() == before
        assert await frontier.find_request(7, "a.example") is None
        assert await frontier.settle([make_outcome(second, Verdict.SUCCESS, 0.0)]) == [True]
        assert len((await frontier.lease("http", 1, 60)).leases) == 1
    finally:
        await server.run_command("CONFIG", "SET", "maxmemory", "0")
    assert await frontier.settle([make_outcome(first, Verdict.SUCCESS, 0.0, outlinks=(make_entry(9),))]) == [
        True
    ]
    assert (await frontier.add([make_entry(7), make_entry(8, "new.example")])).accepted == 2
    await server.close()


async def test_a_short_break_of_the_server_is_waited_out_but_not_by_lease():
    clock = ManualClock()
    with RedisProcess(options=("--appendfsync", "always")) as process:
        server = RedisServer(process.url)
        frontier = frontier_on(server, clock)
        await frontier.create_shards()
        await frontier.add([make_entry(n) for n in range(3)])
        leases = (await frontier.lease("http", 2, 60)).leases
        other = frontier_on(server, clock)  # which has nothing to remember
        await other.read_stats()
        process.kill()
        with pytest.raises(StorageError, match=f"Redis at 127.0.0.1:{process.port}/0 cannot be reached"):
            await frontier.lease("http", 1, 60)
        calls = asyncio.gather(
            frontier.settle([make_outcome(leases[0], Verdict.SUCCESS, 0.0)]),
            frontier.extend(leases[1:], 60),
            other.add([make_entry(9)]),
            frontier.read_stats(),
        )
        await asyncio.to_thread(process.start)
        settled, extended, added, _ = await calls
        assert (settled, extended, added.accepted) == ([True], [True], 1)
        await frontier.release(leases[1:], [HostSignal()])
        assert fingerprints_of((await frontier_on(server, clock).lease("http", 9, 60)).leases) == [1, 2, 9]
        await server.close()


@pytest.mark.parametrize("shards", [1, 2])
async def test_after_a_restart_nobody_goes_by_what_was_accepted_before(shards):
    clock = ManualClock()
    with RedisProcess(options=("--appendfsync", "always")) as process:
        server = RedisServer(process.url)
        leasing, adding = (frontier_on(server, clock, shards=shards) for _ in range(2))
        await leasing.create_shards()
        await adding.add([make_entry(1)])
        assert (await leasing.lease("http", 0, 60)).leases == ()
        process.kill()
        await asyncio.to_thread(process.start)
        before = await leasing.read_stats()
        with pytest.raises(StorageError, match="was restarted"):
            await leasing.lease("http", 9, 60)
        with pytest.raises(StorageError, match="was restarted"):
            await adding.add([make_entry(1), make_entry(2)])
        assert await leasing.read_stats() == before, "what raised has done nothing"
        assert (await adding.add([make_entry(2)])).accepted == 1, "it is said once"
        assert fingerprints_of((await leasing.lease("http", 9, 60)).leases) == [1, 2]
        await server.close()


async def test_a_user_who_may_not_know_which_life_it_is_works_all_the_same(redis_url):
    server = RedisServer(redis_url)
    await server.run_command("ACL", "SETUSER", "blind", "on", ">pw", "~gossamer:*", "+@all", "-info")
    blind = RedisServer(redis_url.replace("redis://", "redis://blind:pw@"))
    frontier = frontier_on(blind, ManualClock())
    try:
        await frontier.create_shards()
        await frontier.add([make_entry(1)])
        assert fingerprints_of((await frontier.lease("http", 9, 60)).leases) == [1]
    finally:
        await server.run_command("ACL", "DELUSER", "blind")
        await blind.close()
        await server.close()


async def test_waiting_for_a_server_that_stays_away_ends_and_is_not_busy(monkeypatch):
    monkeypatch.setattr("gossamer.drivers.redis.server.PATIENCE_S", 0.5)
    with RedisProcess() as process:
        server = RedisServer(process.url)
        frontier = frontier_on(server, ManualClock())
        await frontier.create_shards()
        await frontier.read_stats()
        process.kill()
        tries = []
        ask = server.client.evalsha
        monkeypatch.setattr(server.client, "evalsha", lambda *args: tries.append(1) or ask(*args))
        started = time.monotonic()
        with pytest.raises(StorageError, match="cannot be reached"):
            await frontier.read_stats()
        assert time.monotonic() - started < 5
        assert 2 <= len(tries) <= 8
        await server.close()


# ------------------------------------------------------------------------------------ a cluster


@pytest.fixture(scope="module")
def cluster_url():
    """Three nodes that share the slots."""
    with redis_cluster() as nodes:
        yield f"redis+cluster://127.0.0.1:{nodes[0].port}"


@pytest.mark.thorough
async def test_the_contract_holds_on_a_cluster(cluster_url):
    number = 0

    @asynccontextmanager
    async def make(rules, clock):
        nonlocal number
        number += 1
        job, server = f"job-{number}", RedisServer(cluster_url)

        async def reopen():
            return RedisFrontier(server, job, FrontierRules(), clock, uses_server_time=False, seed=1)

        shards = 3 if rules.max_pages is None else 1
        frontier = RedisFrontier(server, job, rules, clock, uses_server_time=False, seed=1, shards=shards)
        try:
            await frontier.create_shards()
            yield FrontierSubject(frontier, reopen)
            await frontier.delete_requests()
            assert [key async for key in server.client.scan_iter(match=f"*{{{job}:*")] == []
        finally:
            await server.close()

    for check in frontier_checks().values():
        await check(make)


@pytest.mark.long
async def test_shards_are_spread_over_a_cluster(cluster_url):
    server = RedisServer(cluster_url)
    await server.check_server()
    frontier = frontier_on(server, ManualClock(), shards=12)
    await frontier.create_shards()
    await frontier.add([make_entry(n, f"h{n}") for n in range(100)])
    leases = (await frontier.lease("http", 30, 60)).leases
    assert len(leases) == 30
    links = tuple(make_entry(n, f"h{n}") for n in range(200, 260))
    assert all(await frontier.settle([make_outcome(x, Verdict.SUCCESS, 0.0, outlinks=links) for x in leases]))
    stats = await frontier.read_stats()
    assert (stats.pending, stats.done, stats.duplicates) == (130, 30, 29 * 60)
    nodes = {server.client.get_node_from_key(server.key_for(f"j:{n}")).port for n in range(12)}
    assert len(nodes) == 3
    await frontier.delete_requests()
    await server.close()
