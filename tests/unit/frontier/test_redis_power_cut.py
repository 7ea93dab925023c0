"""A Redis that loses power comes back without its last second: whatever rested on that is done again."""

import asyncio
import time

import pytest

from gossamer.core.errors import StorageError
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DeadLetterFilter
from gossamer.core.lifecycle import JobCommand
from gossamer.core.results import Verdict
from gossamer.drivers.redis.server import RedisServer
from gossamer.frontier.redis.frontier import RedisFrontier
from gossamer.frontier.redis.shares import shard_of
from gossamer.frontier.transitions import ROUND
from gossamer.testing.contracts.frontier_harness import fingerprints_of, make_entry, make_outcome
from kit.servers import SYNCED, RedisProcess, is_complete, redis_cluster

FREE = FrontierRules(delay_s=0.0, per_host=64)


@pytest.fixture
def process():
    with RedisProcess(options=SYNCED) as started:
        yield started


@pytest.fixture
def redis_url(process):
    return process.url


@pytest.fixture
def open_frontier(server, clock):
    async def make(shards=1):
        frontier = RedisFrontier(server, "j", FREE, clock, uses_server_time=False, shards=shards)
        await frontier.create_shards()
        return frontier

    return make


async def cut(process, length):
    await asyncio.to_thread(process.cut_power, length)


def cut_after(frontier, process, name, length):
    """Once: after this step of the frontier, before the next one."""
    step = getattr(frontier, name)

    async def stepped(*args):
        setattr(frontier, name, step)
        answer = await step(*args)
        await cut(process, length)
        return answer

    setattr(frontier, name, stepped)


# ------------------------------------------------------------------------------------ seeds


@pytest.mark.parametrize("shards", [1, 3])
async def test_seeds_that_were_lost_before_the_end_of_the_seeding_are_noticed(process, open_frontier, shards):
    frontier = await open_frontier(shards)
    before = process.written()
    await frontier.add([make_entry(n, f"h{n}") for n in range(6)])
    await cut(process, before)
    with pytest.raises(StorageError, match="was restarted"):
        await frontier.finish_seeding()
    assert not (await frontier.read_stats()).seeded


@pytest.mark.parametrize("shards", [1, 3])
async def test_seeds_that_are_lost_later_take_the_record_of_the_seeding_with_them(
    process, open_frontier, shards
):
    frontier = await open_frontier(shards)
    before = process.written()
    await frontier.add([make_entry(n, f"h{n}") for n in range(6)])
    await frontier.finish_seeding()
    assert (await frontier.read_stats()).seeded
    await cut(process, before)
    assert not (await frontier.read_stats()).seeded
    again = await open_frontier()
    assert (await again.add([make_entry(n, f"h{n}") for n in range(6)])).accepted == 6
    await again.finish_seeding()
    after = process.written()
    await cut(process, after)
    assert (await again.read_stats()).seeded, "what was not lost is not done again"


async def test_a_crawl_whose_seeds_were_lost_is_not_called_finished(process, open_frontier):
    frontier = await open_frontier()
    before = process.written()
    await frontier.add([make_entry(1)])
    await cut(process, before)
    assert (await frontier.read_stats()).waiting == 0
    with pytest.raises(StorageError, match="was restarted"):
        await frontier.apply_change(JobCommand.FINISH)
    assert (await frontier.read_stats()).state == "running"


# ------------------------------------------------------------------------------------ links


def on_another_shard(shards, host):
    """A host that is not on the same shard as ``host``."""
    ours = shard_of(shards, host)
    return next(f"g{n}" for n in range(99) if shard_of(shards, f"g{n}") is not ours)


@pytest.mark.parametrize("verdict", [Verdict.SUCCESS, Verdict.DEAD])
async def test_links_that_were_lost_before_their_page_was_settled_are_found_again(
    process, open_frontier, verdict
):
    frontier = await open_frontier(2)
    elsewhere = on_another_shard(await frontier._open_shards(), "h1")
    await frontier.add([make_entry(1, "h1"), make_entry(2, "h1")])
    leases = (await frontier.lease("http", 2, 60)).leases
    links = (make_entry(7, "h1"), make_entry(8, elsewhere))
    cut_after(frontier, process, "_add_ahead", process.written())
    ended = [make_outcome(lease, verdict, 0.0, outlinks=links * (not at)) for at, lease in enumerate(leases)]
    assert await frontier.settle(ended) == [True, True]
    assert await frontier.find_request(8, elsewhere) is None, "it is lost"
    assert await frontier.redo_lost() == 1
    assert await frontier.redo_lost() == 0
    stats = await frontier.read_stats()
    assert (stats.pending, stats.done + stats.dead) == (2, 1)
    assert stats.pages == sum(one.is_page for one in ended) - ended[0].is_page
    again = await open_frontier()  # what this process remembers does not count
    found = (await again.lease("http", 9, 60)).leases
    assert fingerprints_of(found) == [1, 7]
    assert await again.settle([make_outcome(found[0], Verdict.SUCCESS, 0.0, outlinks=links)]) == [True]
    assert fingerprints_of((await again.lease("http", 9, 60)).leases) == [8]
    assert await again.redo_lost() == 0


async def test_links_of_a_page_that_has_more_than_one_call_takes(process, open_frontier):
    frontier = await open_frontier()
    await frontier.add([make_entry(1)])
    (lease,) = (await frontier.lease("http", 1, 60)).leases
    links = tuple(make_entry(n) for n in range(10, 10 + ROUND + 5))
    cut_after(frontier, process, "_add_ahead", process.written())
    assert await frontier.settle([make_outcome(lease, Verdict.SUCCESS, 0.0, outlinks=links)]) == [True]
    assert (await frontier.read_stats()).waiting < len(links)
    assert await frontier.redo_lost() == 1
    again = await open_frontier()
    (lease,) = [found for found in (await again.lease("http", 9, 60)).leases if found.entry.fingerprint == 1]
    assert await again.settle([make_outcome(lease, Verdict.SUCCESS, 0.0, outlinks=links)]) == [True]
    assert (await again.read_stats()).waiting == len(links)


async def test_a_dead_letter_that_a_person_has_revived_is_not_revived_again(process, open_frontier):
    frontier = await open_frontier(2)
    elsewhere = on_another_shard(await frontier._open_shards(), "h1")
    await frontier.add([make_entry(1, "h1")])
    (lease,) = (await frontier.lease("http", 1, 60)).leases
    cut_after(frontier, process, "_add_ahead", process.written())
    await frontier.settle([make_outcome(lease, Verdict.DEAD, 0.0, outlinks=(make_entry(8, elsewhere),))])
    assert await frontier.revive_letters(DeadLetterFilter()) == 1
    assert await frontier.redo_lost() == 0
    assert (await frontier.read_stats()).pending == 1


async def test_on_one_server_nothing_is_remembered_and_nothing_done_again(process, server, open_frontier):
    frontier = await open_frontier(2)
    elsewhere = on_another_shard(await frontier._open_shards(), "h1")
    await frontier.add([make_entry(1, "h1")])
    (lease,) = (await frontier.lease("http", 1, 60)).leases
    await frontier.settle([make_outcome(lease, Verdict.SUCCESS, 0.0, outlinks=(make_entry(8, elsewhere),))])
    assert await server.run_command("KEYS", "*:relied") == await server.run_command("KEYS", "*:on:*") == []
    await cut(process, process.written())
    assert await frontier.redo_lost() == 0


# ------------------------------------------------------------------------------------ several servers


@pytest.fixture(scope="module")
def nodes():
    with redis_cluster() as started:
        yield started


@pytest.fixture
async def cluster(nodes):
    server = RedisServer(f"redis+cluster://127.0.0.1:{nodes[0].port}")
    yield server
    await server.close()


@pytest.fixture
async def spread(cluster, nodes, clock):
    """A frontier on two nodes, a host of each, and the process of the second one."""

    async def make(job):
        frontier = RedisFrontier(cluster, job, FREE, clock, uses_server_time=False, shards=12)
        await frontier.create_shards()
        shards = await frontier._open_shards()
        node_of = [cluster.client.get_node_from_key(shard.key).port for shard in shards]
        first = shard_of(shards, "h1")
        other = next(
            host
            for host in (f"g{n}" for n in range(999))
            if node_of[shard_of(shards, host).index] != node_of[first.index]
        )
        port = node_of[shard_of(shards, other).index]
        return frontier, other, next(node for node in nodes if node.port == port)

    return make


async def come_together(nodes):
    deadline = time.monotonic() + 60
    while not await asyncio.to_thread(lambda: all(map(is_complete, nodes))):
        assert time.monotonic() < deadline


@pytest.mark.long
async def test_a_node_that_loses_links_of_a_page_on_another_node(spread, cluster, nodes, clock):
    frontier, elsewhere, node = await spread("lost")
    await frontier.add([make_entry(1, "h1"), make_entry(2, "h1")])
    leases = (await frontier.lease("http", 2, 60)).leases
    before = node.written()
    links = (make_entry(8, elsewhere),)
    ended = [
        make_outcome(leases[0], Verdict.SUCCESS, 0.0, outlinks=links),
        make_outcome(leases[1], Verdict.SUCCESS, 0.0),
    ]
    assert await frontier.settle(ended) == [True, True]
    assert await frontier.redo_lost() == 0
    assert (await frontier.read_stats()).pending == 1
    await cut(node, before)
    await come_together(nodes)
    assert (await frontier.read_stats()).waiting == 0, "the link is lost, the page is done"
    assert await frontier.redo_lost() == 1
    stats = await frontier.read_stats()
    assert (stats.pending, stats.done, stats.pages) == (1, 1, 1)
    again = RedisFrontier(cluster, "lost", FREE, clock, uses_server_time=False)
    assert fingerprints_of((await again.lease("http", 9, 60)).leases) == [1]


@pytest.mark.long
async def test_what_is_surely_on_disk_or_finished_is_not_remembered(spread, cluster, nodes, clock):
    frontier, elsewhere, node = await spread("kept")
    await frontier.add([make_entry(n, "h1") for n in range(3)])
    leases = (await frontier.lease("http", 3, 60)).leases
    for number, lease in enumerate(leases):
        links = (make_entry(100 + number, elsewhere),)
        assert await frontier.settle([make_outcome(lease, Verdict.SUCCESS, 0.0, outlinks=links)]) == [True]
        clock.advance(8.0)
    (key,) = [key async for key in cluster.client.scan_iter(match="*{kept:*:on:*")]
    assert await cluster.run_command("ZCARD", key) == 2
    await cut(node, node.written())
    await come_together(nodes)
    again = RedisFrontier(cluster, "kept", FREE, clock, uses_server_time=False)
    await frontier.read_stats()  # waits until the node answers
    await again.apply_change(JobCommand.FINISH)
    assert [key async for key in cluster.client.scan_iter(match="*{kept:*:on:*")] == []
    assert await again.redo_lost() == 0
