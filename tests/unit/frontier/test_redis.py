"""What only the Redis frontier has to prove: its cost, its bounds, many users, and a Redis that fails."""

import asyncio
import random
from binascii import crc32

import pytest
from msgspec.structs import replace

from gossamer.core.errors import StorageError, TransitionError, UsageError
from gossamer.core.hosts import FrontierRules, HostSignal, HostSignalKind
from gossamer.core.jobs import DeadLetterFilter
from gossamer.core.lifecycle import JOB_TABLE, JobCommand, JobState, RequestState
from gossamer.core.requests import Entry, Request
from gossamer.core.results import Verdict
from gossamer.drivers.redis.server import RedisServer
from gossamer.frontier.redis import search
from gossamer.frontier.redis.frontier import RedisFrontier
from gossamer.frontier.redis.shard import RedisShard
from gossamer.frontier.transitions import ROUND
from gossamer.testing.contracts.frontier_harness import fingerprints_of, make_entry, make_outcome

FREE = FrontierRules(delay_s=0.0, per_host=64)


@pytest.fixture
def make(server, clock):
    """Makes a frontier, and its place."""

    async def make(rules=FREE, job="j", **options):
        frontier = RedisFrontier(server, job, rules, clock, uses_server_time=False, seed=1, **options)
        await frontier.create_shards()
        return frontier

    return make


async def commands(server):
    """How many commands Redis has run, those of scripts included: a cost that no other load changes."""
    stats = await server.client.info("commandstats")
    return sum(row["calls"] for name, row in stats.items() if name not in ("cmdstat_info", "cmdstat_client"))


async def walks(server):
    """How many commands have walked along a list."""
    stats = await server.client.info("commandstats")
    return sum(stats.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in ("lpos", "lrem"))


async def cost(server, call):
    before = await commands(server)
    await call
    return await commands(server) - before


# ------------------------------------------------------------------------------------ cost and bounds


@pytest.mark.parametrize("hosts", [1, 50])
async def test_a_lease_costs_the_same_however_much_waits(server, make, hosts):
    costs = []
    for waiting in (200, 6000):
        frontier = await make(job=f"j{waiting}")
        await frontier.add([make_entry(n, f"h{n % hosts}") for n in range(waiting)])
        costs.append(await cost(server, frontier.lease("http", 32, 60)))
    assert costs[1] <= costs[0]
    assert costs[0] < 32 + hosts + 30


async def test_a_lease_costs_the_same_however_many_hosts_wait_for_their_time(server, make):
    costs = []
    for hosts in (50, 3000):
        frontier = await make(FrontierRules(delay_s=100.0, per_host=2), job=f"j{hosts}")
        await frontier.add([make_entry(n, f"h{n % hosts}") for n in range(2 * hosts)])
        while (await frontier.lease("http", 1000, 60)).leases:
            pass  # all hosts have been asked, and now wait
        await frontier.add([make_entry(-n, f"new{n}") for n in range(1, 9)])
        costs.append(await cost(server, frontier.lease("http", 8, 60)))
    assert costs[1] <= costs[0]


async def test_raising_requests_walks_along_their_queue_a_few_times(server, make):
    costs = []
    for waiting in (1000, 6000):
        frontier = await make(job=f"j{waiting}")
        await frontier.add([make_entry(n) for n in range(waiting)])
        urgent = [make_entry(n, priority=1) for n in range(0, waiting, waiting // 200)]
        before = await walks(server)
        assert await frontier.raise_requests(urgent) == len(urgent)
        costs.append(await walks(server) - before)
    assert costs == [len(urgent) / search.RAISED] * 2


async def test_more_than_one_call_takes(make, clock):
    frontier = await make(FrontierRules(delay_s=0.0, per_host=5000))
    many = 3 * ROUND + 7
    added = await frontier.add([make_entry(n, f"h{n % 3}") for n in range(many)])
    assert added.accepted == many
    leases = (await frontier.lease("http", many, 60)).leases
    assert len({lease.token for lease in leases}) == many
    assert await frontier.extend(leases, 90) == [True] * many
    await frontier.release(leases[: ROUND + 1], [HostSignal()] * (ROUND + 1))
    clock.advance(90)
    expired = []
    while got := (await frontier.lease("http", 0, 60)).expired:
        expired += fingerprints_of(got)
        assert len(got) <= ROUND
    assert sorted(expired) == sorted(fingerprints_of(leases[ROUND + 1 :]))


async def test_a_page_with_very_many_links(make, clock):
    frontier = await make()
    await frontier.add([make_entry(0)])
    (lease,) = (await frontier.lease("http", 1, 60)).leases
    links = tuple(make_entry(n) for n in range(1, 4 * ROUND))
    settled = make_outcome(lease, Verdict.SUCCESS, clock.now(), outlinks=links)
    assert await frontier.settle([settled]) == [True]
    assert await frontier.settle([settled]) == [False]
    stats = await frontier.read_stats()
    assert (stats.done, stats.pending, stats.duplicates) == (1, len(links), 0)
    first = (await frontier.lease("http", 3, 60)).leases
    assert fingerprints_of(first) == [1, 2, 3]
    stale = make_outcome(
        lease, Verdict.SUCCESS, 0.0, outlinks=tuple(make_entry(n) for n in range(9000, 9999))
    )
    assert await frontier.settle([stale]) == [False]
    assert (await frontier.read_stats()).pending == len(links) - 3


async def test_requests_take_little_room(server, make):
    rng, hosts = random.Random(1), 50
    frontier = await make(expected=20_000)
    await frontier.add([make_entry(1)])
    before = (await server.client.info("memory"))["used_memory"]
    for start in range(0, 20_000, 500):
        links = []
        for n in range(start, start + 500):
            host = f"shop{n % hosts:03}.example"
            url = f"https://{host}/catalogue/category-{n % 999:03}/item-{n:08}.html"
            via = f"https://{host}/catalogue/overview-{n % 999:03}/page-7"
            request = Request(url, callback="parse_product", depth=3, via=via)
            links.append(Entry(request=request, fingerprint=rng.getrandbits(64) - 2**63, host=host))
        await frontier.add(links)
    pending = ((await server.client.info("memory"))["used_memory"] - before) / 20_000
    seen = 0
    async for key in server.client.scan_iter(match="*:s:*"):
        assert await server.client.object("encoding", key) == b"intset"
        seen += await server.client.memory_usage(key)
    assert pending < 160
    assert seen / 20_000 < 10


# ------------------------------------------------------------------------------------ many users


async def test_users_never_get_the_same_request(redis_url, make, clock):
    frontier = await make()
    await frontier.add([make_entry(n, f"h{n % 5}") for n in range(200)])
    servers = [RedisServer(redis_url) for _ in range(2)]
    users = [RedisFrontier(each, "j", FREE, clock, uses_server_time=False) for each in servers]
    got = []
    while len(got) < 200:  # at the same time, from two connections
        grants = await asyncio.gather(*(user.lease("http", 7, 60) for user in users))
        for user, grant in zip(users, grants, strict=True):
            got += fingerprints_of(grant.leases)
            assert all(
                await user.settle([make_outcome(x, Verdict.SUCCESS, clock.now()) for x in grant.leases])
            )
    assert sorted(got) == list(range(200))
    for each in servers:
        await each.close()


async def test_turns_and_counts_follow_from_the_queues(server, make, clock):
    """After any history the turns must be what the queues and the hosts say, and the counters, too."""
    frontier = await make(FrontierRules(delay_s=None, per_host=2))
    rng, number = random.Random(4), 0
    for step in range(60):
        new = [
            make_entry(
                number + n,
                f"h{rng.randrange(9)}",
                priority=rng.choice([0, 0, 3, 5, 99, -9]),
                lane=rng.choice("hb"),
            )
            for n in range(4)
        ]
        number += 4
        await frontier.add(new)
        grant = await frontier.lease(rng.choice("hb"), 5, 30)
        verdicts = rng.choices([Verdict.SUCCESS, Verdict.RETRY, Verdict.DEAD], k=len(grant.leases))
        ended = [make_outcome(x, v, clock.now()) for x, v in zip(grant.leases, verdicts, strict=True)]
        await frontier.settle(ended[1:])
        await frontier.release(grant.leases[:1], [HostSignal()] * len(grant.leases[:1]))
        await frontier.revive_letters(DeadLetterFilter(host="h3"))
        if step % 10 == 0:
            await frontier.apply_change(
                JobCommand.RESUME, FrontierRules(delay_s=None, per_host=rng.choice([1, 2, 3]))
            )
        clock.advance(rng.random())
        await check_structures(server, frontier)


async def check_structures(server, frontier):
    """Turns and waiting counts from the queues themselves."""
    key = server.key_for("j:0")
    rules = await frontier.read_rules()
    waiting, turns = {}, {}
    for name in await server.run_command("KEYS", f"{key}:[qb]:*"):
        kind, lane, band, host = name.decode().removeprefix(f"{key}:").split(":")
        size = await server.run_command("LLEN" if kind == "q" else "ZCARD", name)
        waiting.setdefault(host, {}).setdefault(int(lane), {}).setdefault(int(band), 0)
        waiting[host][int(lane)][int(band)] += size
    for name in await server.run_command("KEYS", f"{key}:t:*"):
        lane, band = name.decode().rpartition(":t:")[2].split(":")
        for member in await server.run_command("ZRANGEBYSCORE", name, "-inf", "(inf"):
            turns.setdefault(int.from_bytes(member), {})[int(lane)] = int(band)
    reports = {report.host: report for report in await frontier.busiest_hosts(99)}
    assert {
        host: sum(sum(bands.values()) for bands in lanes.values()) for host, lanes in waiting.items()
    } == {host: report.pending for host, report in reports.items()}
    expected = {}
    for host, lanes in waiting.items():
        if reports[host].state.in_flight < rules.per_host:
            number = int.from_bytes(await server.run_command("HGET", f"{key}:names", host))
            expected[number] = {lane: min(bands) for lane, bands in lanes.items()}
    assert turns == expected
    stats = await frontier.read_stats()
    assert stats.pending == sum(report.pending for report in reports.values())
    assert stats.leased == await server.run_command("HLEN", f"{key}:leases")


async def test_a_token_goes_with_its_request(make):
    frontier = await make()
    await frontier.add([make_entry(1), make_entry(2)])
    one, other = (await frontier.lease("http", 2, 60)).leases
    mixed = replace(one, entry=other.entry)
    assert await frontier.settle([make_outcome(mixed, Verdict.SUCCESS, 0.0)]) == [False]
    stale = [mixed, replace(one, token=-1)]
    assert await frontier.extend([*stale, one], 9) == [False, False, True]
    await frontier.release([mixed, one, one], [HostSignal()] * 3)
    stats = await frontier.read_stats()
    assert (stats.leased, stats.pending) == (1, 1)


# ------------------------------------------------------------------------------------ its place


async def test_a_place_is_made_once_and_forgotten_whole(server, make, clock):
    frontier, other = await make(shards=2), await make(job="other")
    await frontier.add([make_entry(n, f"h{n}") for n in range(30)])
    await other.add([make_entry(1)])
    again = await make(FrontierRules(), shards=7, dedup="bloom")  # one that exists keeps its own
    assert await again.read_rules() == FREE
    assert (await again.read_stats()).pending == 30
    await again.delete_requests()
    await again.delete_requests()
    assert all(key.startswith(b"gossamer:{other:0}") for key in await server.run_command("KEYS", "*"))
    with pytest.raises(StorageError, match="the requests of job j are gone from Redis at 127"):
        await frontier.read_stats()
    assert (await other.read_stats()).pending == 1


async def test_a_redis_that_was_emptied_is_no_finished_crawl(server, make, clock):
    frontier = await make()
    await frontier.add([make_entry(1), make_entry(2)])
    (lease,) = (await frontier.lease("http", 1, 60)).leases
    await server.run_command("FLUSHALL")
    calls = (
        frontier.read_stats,
        lambda: frontier.add([make_entry(3)]),
        lambda: frontier.lease("http", 1, 60),
        lambda: frontier.settle([make_outcome(lease, Verdict.SUCCESS, 0.0)]),
        lambda: frontier.extend([lease], 60),
        lambda: frontier.release([lease], [HostSignal()]),
        lambda: frontier.apply_change(JobCommand.RESUME),
        lambda: frontier.find_request(1, "a.example"),
        frontier.dedup_report,
    )
    for call in calls:
        with pytest.raises(StorageError, match="are gone from Redis"):
            await call()
    assert await server.run_command("KEYS", "*") == []


async def test_a_budget_of_pages_is_counted_in_one_place(make):
    with pytest.raises(UsageError, match=r"frontier\.shards = 1"):
        await make(FrontierRules(max_pages=5), shards=2)
    frontier = await make(shards=2)
    with pytest.raises(UsageError, match=r"frontier\.shards = 1"):
        await frontier.apply_change(JobCommand.RESUME, FrontierRules(max_pages=5))


@pytest.mark.parametrize("first", [JobState.RUNNING, JobState.PAUSED, JobState.CANCELLED, JobState.FINISHED])
@pytest.mark.parametrize("second", list(JobState))
async def test_a_command_that_was_cut_off_between_two_shards_can_be_given_again(server, make, first, second):
    """The first shard decides, whatever the others say."""
    for command in JobCommand:
        frontier = await make(shards=2, job=f"{command}")
        for index, state in enumerate((first, second)):
            await server.run_command("HSET", server.key_for(f"{command}:{index}", "meta"), "state", state)
        if (first, command) not in JOB_TABLE:
            with pytest.raises(TransitionError):
                await frontier.apply_change(command)
            continue
        await frontier.apply_change(command)
        states = [
            (await server.run_command("HGET", server.key_for(f"{command}:{index}", "meta"), "state")).decode()
            for index in range(2)
        ]
        assert states == [JOB_TABLE[first, command]] * 2


async def test_a_change_of_rules_that_was_cut_short_is_finished(server, make, clock, monkeypatch):
    frontier = await make(FrontierRules(delay_s=0.0, per_host=1))
    await frontier.add([make_entry(n) for n in range(4)])
    assert len((await frontier.lease("http", 9, 60)).leases) == 1
    monkeypatch.setattr("gossamer.frontier.redis.admin.place_hosts", _cut_short)
    await frontier.apply_change(JobCommand.RESUME, FrontierRules(delay_s=0.0, per_host=3))
    monkeypatch.undo()
    assert (await frontier.lease("http", 9, 60)).leases == ()
    another = RedisFrontier(server, "j", FREE, clock, uses_server_time=False)
    assert len((await another.lease("http", 9, 60)).leases) == 2
    assert await server.run_command("HGET", server.key_for("j:0", "meta"), "placing") is None


async def test_stricter_rules_hold_before_all_hosts_are_placed_by_them(server, make, monkeypatch):
    frontier = await make(FrontierRules(delay_s=0.0, per_host=3))
    await frontier.add([make_entry(n, f"h{n % 2}") for n in range(8)])
    assert len((await frontier.lease("http", 2, 60)).leases) == 2
    monkeypatch.setattr("gossamer.frontier.redis.admin.place_hosts", _cut_short)
    await frontier.apply_change(JobCommand.RESUME, FrontierRules(delay_s=0.0, per_host=1))
    assert (await frontier.lease("http", 9, 60)).leases == ()


async def _cut_short(shard):
    """As if the process had ended here."""


# ------------------------------------------------------------------------------------ knowing URLs again


@pytest.mark.parametrize("dedup", ["exact", "bloom"])
async def test_seen_urls_are_accepted_again_after_a_time(make, clock, dedup):
    frontier = await make(dedup=dedup, seen_ttl_s=400.0)
    rng = random.Random(2)
    numbers = [rng.getrandbits(64) - 2**63 for _ in range(50)]
    assert (await frontier.add([make_entry(n) for n in numbers])).accepted == 50
    clock.advance(295)
    assert (await frontier.add([make_entry(n) for n in numbers])).duplicates == 50
    clock.advance(105.001)
    assert (await frontier.add([make_entry(n) for n in numbers])).accepted == 50
    assert (await frontier.add([make_entry(n) for n in numbers])).duplicates == 50


async def test_a_filter_errs_as_it_says(make, server):
    frontier, rng = await make(dedup="bloom", expected=9000), random.Random(3)
    assert await frontier.dedup_report() == ("bloom", 0, 0.0)
    wrong = 0
    for _ in range(20):
        numbers = [rng.getrandbits(64) - 2**63 for _ in range(450)]
        wrong += (await frontier.add([make_entry(n) for n in numbers])).duplicates
        assert (await frontier.add([make_entry(n) for n in numbers])).accepted == 0
    report = await frontier.dedup_report()
    assert report.known == 9000 - wrong
    assert 0.0005 < report.error_rate < 0.0015
    assert wrong <= 9000 * 0.0015
    used = sum(
        [await server.client.memory_usage(key) async for key in server.client.scan_iter(match="*:s:*")]
    )
    assert used / 9000 < 2


async def test_exact_never_errs(make):
    frontier = await make()
    assert await frontier.dedup_report() == ("exact", 0, 0.0)
    await frontier.add([make_entry(1)])
    assert await frontier.dedup_report() == ("exact", 1, 0.0)


# ------------------------------------------------------------------------------------ looking and steering


async def test_place_and_find_among_many(make, clock):
    frontier = await make(FrontierRules(delay_s=1.0, max_pages_per_host=7), shards=2)
    await frontier.add([make_entry(n) for n in range(2 * ROUND + 9)])
    await frontier.add(
        [
            make_entry(5000, priority=1),
            make_entry(5001, "b.example"),
            make_entry(5002, due_at=clock.now() + 9),
        ]
    )
    found = await frontier.find_request(2 * ROUND + 3, "a.example")
    assert (found.state, found.place.ahead) == (RequestState.PENDING, 2 * ROUND + 4)
    assert (await frontier.find_request(5002, "a.example")).state is RequestState.DELAYED
    assert await frontier.find_request(7777, "a.example") is None
    leases = {lease.entry.fingerprint: lease for lease in (await frontier.lease("http", 10, 60.0)).leases}
    assert sorted(leases) == [5000, 5001]
    place = (await frontier.find_request(5000, "a.example")).place
    assert (place.granted_at, place.deadline) == (clock.now(), clock.now() + 60)
    await frontier.release([leases[5000]], [HostSignal()])
    assert (await frontier.find_request(2, "a.example")).place.ahead == 3
    clock.advance(10)
    assert sorted(fingerprints_of((await frontier.lease("http", 10, 60.0)).leases)) == [5000]
    await frontier.settle([make_outcome(leases[5001], Verdict.DEAD, clock.now(), reason="client")])
    (letter,) = await frontier.dead_letters(DeadLetterFilter())
    found = await frontier.find_request(5001, "b.example")
    assert (found.place.died_at, found.place.number) == (letter.died_at, letter.id)
    assert found.reason == "client"


@pytest.mark.parametrize("state", ["pending", "delayed", "dead", "done"])
async def test_a_search_looks_at_no_more_than_its_bound_and_says_so(make, clock, monkeypatch, state):
    monkeypatch.setattr(search, "STEP", 3)
    monkeypatch.setattr(search, "OF_HOST", 10)
    monkeypatch.setattr(search, "OF_OTHERS", 4)
    frontier = await make()
    due_at = clock.now() + 9 if state == "delayed" else 0.0
    await frontier.add([make_entry(n, due_at=due_at) for n in range(9 if state == "done" else 30)])
    if state not in ("pending", "delayed"):
        leases = (await frontier.lease("http", 9, 60)).leases
        verdict = Verdict.DEAD if state == "dead" else Verdict.SUCCESS
        await frontier.settle([make_outcome(lease, verdict, clock.now()) for lease in leases])
    found = [await frontier.find_request(n, "a.example") for n in range(9)]
    last = await frontier.find_request(29, "a.example")
    if state == "done":
        assert {(one.state, one.beyond) for one in found} == {(RequestState.DONE, 0)}
        return
    seen = {"pending": 9, "delayed": 4, "dead": 4}[state]
    assert [one.beyond == 0 for one in found] == [True] * seen + [False] * (9 - seen)
    assert {one.state.value for one in found[:seen]} == {state}
    looked_at = {"pending": 10, "delayed": 4, "dead": 14}[state]
    assert (last.state, last.beyond) == (RequestState.PENDING, looked_at)


async def test_what_died_is_looked_for_from_its_last_try_on(make, clock, monkeypatch):
    monkeypatch.setattr(search, "OF_OTHERS", 2)
    frontier = await make()
    await frontier.add([make_entry(n) for n in range(9)])
    tried = {}
    for _ in range(9):
        (lease,) = (await frontier.lease("http", 1, 60)).leases
        tried[lease.entry.fingerprint] = clock.now()
        await frontier.settle([make_outcome(lease, Verdict.DEAD, clock.now())])
        clock.advance(2 * search.SLACK_S)
    assert (await frontier.find_request(8, "a.example")).beyond == 2
    for number, at in tried.items():
        found = await frontier.find_request(number, "a.example", tried_at=at)
        assert (found.state, found.place.died_at) == (RequestState.DEAD, at)


async def test_a_search_costs_the_same_however_much_waits_for_other_hosts(server, make):
    costs = []
    for waiting in (20, 4000):
        frontier = await make(job=f"j{waiting}")
        await frontier.add([make_entry(n, f"h{n % 10}") for n in range(waiting)])
        await frontier.add([make_entry(9999)])
        await frontier.find_request(9999, "a.example")  # the server knows the scripts from now on
        costs.append(await cost(server, frontier.find_request(9999, "a.example")))
    assert costs[0] == costs[1] < 25


async def test_many_dead_letters_are_revived(make, clock):
    frontier = await make(FrontierRules(delay_s=0.0, per_host=5000), shards=2)
    many = ROUND + 40
    await frontier.add([make_entry(n, f"h{n % 7}") for n in range(many)])
    leases = (await frontier.lease("http", many, 60)).leases
    await frontier.settle([make_outcome(x, Verdict.DEAD, clock.now(), reason="tls") for x in leases])
    await frontier.apply_change(JobCommand.FINISH)
    letters = await frontier.dead_letters(DeadLetterFilter(), limit=many)
    assert len({letter.id for letter in letters}) == many
    assert await frontier.drop_letters(DeadLetterFilter(host="h1")) == len(
        [n for n in range(many) if n % 7 == 1]
    )
    assert await frontier.drop_letters(DeadLetterFilter(host="nobody")) == 0
    left = many - len([n for n in range(many) if n % 7 == 1])
    assert await frontier.revive_letters(DeadLetterFilter(reason="tls")) == left
    stats = await frontier.read_stats()
    assert (stats.pending, stats.dead, stats.state) == (left, 0, JobState.RUNNING)
    assert {x.entry.host for x in (await frontier.lease("http", 6, 60)).leases} == {
        f"h{n}" for n in (0, 2, 3, 4, 5, 6)
    }


# ------------------------------------------------------------------------------------ time of the server


async def test_time_is_the_servers(server, clock):
    frontier = RedisFrontier(server, "j", FrontierRules(delay_s=30.0), clock)
    await frontier.create_shards()
    await frontier.add([make_entry(1), make_entry(2)])
    before = await server.read_time()
    (lease,) = (await frontier.lease("http", 9, 60)).leases
    assert before <= lease.granted_at <= await server.read_time()
    signal = HostSignal(kind=HostSignalKind.OK, started_at=lease.granted_at)
    assert await frontier.settle([make_outcome(lease, Verdict.SUCCESS, 0.0, signal=signal)]) == [True]
    grant = await frontier.lease("http", 9, 60)
    assert grant.leases == ()
    assert grant.next_at == pytest.approx(lease.granted_at + 30, abs=1e-6)


# ------------------------------------------------------------------------------------ stores and shards


async def test_jobs_of_two_stores_with_one_id_share_nothing(make):
    one, other = await make(tag="j-aaa"), await make(tag="j-bbb")
    await one.add([make_entry(1)])
    assert (await other.read_stats()).waiting == 0
    await other.delete_requests()
    assert (await one.read_stats()).pending == 1


async def test_a_link_that_moves_to_a_shard_already_read_is_seen(make, monkeypatch):
    frontier = await make(shards=2)
    hosts = {}
    for n in range(9):
        hosts.setdefault(crc32(f"h{n}".encode()) % 2, f"h{n}")
    await frontier.add([make_entry(1, hosts[1])])
    (lease,) = (await frontier.lease("http", 9, 60)).leases
    run, reads = RedisShard.run_script, []

    async def between(self, name, *args, **options):
        if name == "stats":
            reads.append(self.index)
            if reads == [0, 1]:  # the second shard is about to be read for the first time
                link = make_entry(2, hosts[0])
                await frontier.settle([make_outcome(lease, Verdict.SUCCESS, 0.0, outlinks=(link,))])
        return await run(self, name, *args, **options)

    monkeypatch.setattr(RedisShard, "run_script", between)
    assert (await frontier.read_stats()).waiting == 1
    assert reads == [0, 1, 0, 1]


async def test_what_was_half_forgotten_is_forgotten_the_next_time(server, make, monkeypatch):
    frontier = await make(shards=2)
    await frontier.add([make_entry(n, f"h{n}") for n in range(30)])
    monkeypatch.setattr(RedisServer, "delete_keys", _cut_off)
    with pytest.raises(StorageError):
        await frontier.delete_requests()
    monkeypatch.undo()
    with pytest.raises(StorageError, match="are gone from Redis"):
        await frontier.read_stats()
    assert await frontier.is_there()
    await frontier.delete_requests()
    assert not await frontier.is_there()
    assert await server.run_command("KEYS", "*") == []


async def _cut_off(*_args, **_options):
    raise StorageError("away")
