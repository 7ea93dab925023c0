"""Pools of proxies over shared state: what every worker knows, what a look costs, and who is told."""

import asyncio
import random
import sys
from collections import Counter
from contextlib import closing

import pytest
from msgspec.structs import replace

from gossamer.core.errors import Fault, MissingServiceError, StorageError
from gossamer.core.requests import Entry, Lease, Request
from gossamer.core.results import Attempt, FetchResult, Outcome, Verdict, VisitResult
from gossamer.core.routes import Block, BlockKind, Detour, Proxy, Route, RouteReport
from gossamer.drivers.sqlite.database import Database
from gossamer.fetch.routing.proxies import MOST_DOUBTED_TRIES, MOST_FREE_TRIES, ProxyPool
from gossamer.fetch.routing.proxy_health import read_records
from gossamer.policy.proxies import ProxyOutcome, wait_s_of
from gossamer.policy.proxy_rotation import RotationOrder
from gossamer.shared.memory import MemorySharedState
from gossamer.shared.sqlite import SqliteSharedState
from gossamer.testing.clock import ManualClock
from kit.choosing import some_of
from kit.recording_sink import RecordingSink

ANSWERED, BLOCKED, FAILED, STALLED, SILENT, DOUBTED = ProxyOutcome


class CountingState(MemorySharedState):
    """Counts calls, and can be away."""

    def __init__(self, clock):
        super().__init__(clock)
        self.calls = Counter()
        self.is_away = False

    async def get(self, space, key):
        self.note("get")
        return await super().get(space, key)

    async def update(self, space, key, change, ttl_s):
        self.note("update")
        value = change(await super().get(space, key))
        await self.put(space, key, value, ttl_s)
        return value

    def note(self, what):
        self.calls[what] += 1
        if self.is_away:
            raise StorageError("away")


def proxies(count, **fields):
    return [Proxy(scheme="http", host=f"p{n}", port=1, **fields) for n in range(count)]


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def shared(clock):
    return CountingState(clock)


def report(proxy, clock, fault="", *, host="shop", attempt=1, is_block=False):
    request = Request(f"https://{host}/")
    entry, now = Entry(request=request, fingerprint=1, host=host), clock.now()
    lease = Lease(entry=entry, token=1, granted_at=now, start_by=now, deadline=now, attempt=attempt)
    row = Attempt(at=now, url=request.url, fingerprint=1, verdict=Verdict.RETRY, attempt=attempt)
    times = {"started_at": now, "latency_s": 0.5, "elapsed_s": 0.5}
    answer = FetchResult(url=request.url, status=200, headers=(), body=b"", rung="http", **times)
    return RouteReport(
        request=request,
        host=host,
        route=Route(proxy=proxy),
        result=VisitResult(
            outcome=Outcome(lease=lease, verdict=Verdict.RETRY, reason=fault), attempts=(row,)
        ),
        fetched=None if fault else answer,
        block=Block(kind=BlockKind.CAPTCHA) if is_block else None,
    )


async def health_of(shared, proxy):
    (health,) = await read_records(shared, [proxy.name])
    return health


async def record(pool, proxy, outcome, clock, host="shop"):
    await pool.record_outcome(proxy, host, outcome, started_at=clock.now())


async def test_what_one_worker_learns_all_know_within_a_second(shared, clock):
    one, other = (ProxyPool(proxies(2), shared, clock) for _ in range(2))
    assert isinstance(await other.choose_proxy("shop"), Proxy)
    bad = proxies(2)[0]
    await record(one, bad, BLOCKED, clock)
    clock.advance(1.0)
    taken = {(await pool.choose_proxy("shop")).host for pool in (one, other) for _ in range(4)}
    assert taken == {"p1"}
    elsewhere = {(await other.choose_proxy("elsewhere")).host for _ in range(4)}
    assert elsewhere == {"p0", "p1"}, "it is blocked at one host only"


async def test_the_crawl_that_is_resumed_knows_it_too(tmp_path, clock):
    with closing(Database(tmp_path / "x.db")) as db:
        pool = ProxyPool(proxies(2), SqliteSharedState(db, clock), clock)
        await record(pool, proxies(2)[0], FAILED, clock)
        await record(pool, proxies(2)[1], ANSWERED, clock)
        await pool.close()
    with closing(Database(tmp_path / "x.db")) as db:
        shared = SqliteSharedState(db, clock)
        pool = ProxyPool(proxies(2), shared, clock)
        assert {(await pool.choose_proxy("shop")).host for _ in range(4)} == {"p1"}
        assert (await health_of(shared, proxies(2)[1])).answers == 1


async def test_pages_without_news_cost_shared_state_nothing(shared, clock):
    pool = ProxyPool(proxies(3), shared, clock)
    await pool.choose_proxy("shop")
    shared.calls.clear()
    for _ in range(500):
        proxy = await pool.choose_proxy("shop")
        assert await pool.learn_from(report(proxy, clock)) is None
    assert not shared.calls
    for _ in range(30):  # half a minute of work, with ten pages a second
        clock.advance(1.0)
        for _ in range(10):
            await pool.learn_from(report(await pool.choose_proxy("shop"), clock))
    assert shared.calls["get"] <= 30
    assert shared.calls["update"] <= 15 * 3
    await pool.close()
    assert sum([(await health_of(shared, proxy)).answers for proxy in proxies(3)]) == 800


@pytest.mark.parametrize("place", ["memory", "sqlite"])
async def test_counts_stay_right_when_many_workers_count_at_once(place, tmp_path, clock):
    with closing(Database(tmp_path / "x.db")) as db:
        shared = SqliteSharedState(db, clock) if place == "sqlite" else MemorySharedState(clock)
        pools = [ProxyPool(proxies(3), shared, clock, start=n) for n in range(4)]
        sent = Counter()

        async def work(pool, seed):
            chance = random.Random(seed)
            for _ in range(60):
                proxy = await pool.choose_proxy(chance.choice("abc"))
                if isinstance(proxy, Detour):
                    clock.advance(chance.choice([0.3, 40.0, 700.0]))
                    continue
                outcome = chance.choice([ANSWERED] * 8 + [BLOCKED, FAILED])
                sent[proxy.name, outcome] += 1
                await record(pool, proxy, outcome, clock, host=chance.choice("abc"))
                await asyncio.sleep(0)

        await asyncio.gather(*(work(pool, n) for n, pool in enumerate(pools * 3)))
        for pool in pools:
            await pool.close()
        for proxy in proxies(3):
            health = await health_of(shared, proxy)
            told = health.answers, health.blocks, health.failures
            assert told == tuple(sent[proxy.name, outcome] for outcome in (ANSWERED, BLOCKED, FAILED))
        assert sum(sent.values()) > 200


async def test_one_request_of_all_workers_tries_a_proxy_out(shared, clock):
    pools = [ProxyPool(proxies(1), shared, clock) for _ in range(3)]
    (proxy,) = proxies(1)
    await record(pools[0], proxy, FAILED, clock)
    clock.advance(31.0)
    tried = await asyncio.gather(*(pool.choose_proxy("shop") for pool in pools for _ in range(5)))
    assert [one for one in tried if isinstance(one, Proxy)] == [proxy]
    canary_of = pools[next(n for n, one in enumerate(tried) if isinstance(one, Proxy)) // 5]
    await record(canary_of, proxy, ANSWERED, clock)
    clock.advance(1.0)
    tried = await asyncio.gather(*(pool.choose_proxy("shop") for pool in pools for _ in range(5)))
    assert tried == [proxy] * 15


async def test_a_canary_that_comes_to_nothing_lets_the_next_one_go(shared, clock):
    pool = ProxyPool(proxies(1), shared, clock)
    await record(pool, proxies(1)[0], FAILED, clock)
    clock.advance(31.0)
    proxy = await pool.choose_proxy("shop")
    assert isinstance(await pool.choose_proxy("shop"), Detour)
    await pool.learn_from(report(proxy, clock, Fault.ROBOTS))
    assert await pool.choose_proxy("shop") == proxy
    await pool.learn_from(report(proxy, clock, Fault.TIMEOUT_HEADERS))
    assert (await health_of(shared, proxy)).whole.strikes == 2, "one that is on trial must answer"


@pytest.mark.parametrize("fault", [Fault.ROBOTS, Fault.TIMEOUT_HEADERS])
async def test_a_late_request_is_not_taken_for_the_canary(shared, clock, fault):
    pool = ProxyPool(proxies(1), shared, clock)
    proxy = await pool.choose_proxy("shop")
    late = report(proxy, clock, fault)
    await record(pool, proxy, FAILED, clock)
    clock.advance(31.0)
    assert await pool.choose_proxy("shop") == proxy
    await pool.learn_from(late)
    assert isinstance(await pool.choose_proxy("shop"), Detour), "the canary is still under way"
    assert (await health_of(shared, proxy)).whole.strikes == 1


async def test_proxies_that_have_left_the_list_are_forgotten(shared, clock):
    turns = iter(range(1, 100))

    async def read_list():
        return [Proxy(scheme="http", host=f"p{next(turns)}", port=1)]

    pool = ProxyPool(proxies(1), shared, clock, read_list=read_list, refresh_s=60.0)
    for _ in range(20):
        proxy = await pool.choose_proxy("shop")
        await pool.learn_from(report(proxy, clock, Fault.TIMEOUT_HEADERS))
        await asyncio.sleep(0)
        clock.advance(60.0)
    assert max(len(pool._uses), len(pool._silences), len(pool._health._known)) <= 2
    await pool.close()


async def test_what_is_known_of_new_proxies_is_read_though_the_list_came_during_a_look(shared, clock):
    old, new = proxies(2)
    former = ProxyPool([old, new], shared, clock)
    for proxy in (old, new):
        await former.record_outcome(proxy, "shop", FAILED, started_at=clock.now())
    pool, get = ProxyPool([old], shared, clock), shared.get

    async def get_late(space, key):
        if key == old.name:
            pool._take_list([new])
        return await get(space, key)

    shared.get = get_late
    await pool.choose_proxy("shop")
    clock.advance(2)
    assert isinstance(await pool.choose_proxy("shop"), Detour)


async def test_no_proxy_left_is_told_once_and_again_when_there_is_one(shared, clock):
    sink = RecordingSink()
    pools = [ProxyPool(proxies(2), shared, clock, sink=sink) for _ in range(2)]
    for proxy in proxies(2):
        await record(pools[0], proxy, FAILED, clock)
    for pool in pools * 3:
        detour = await pool.choose_proxy("shop")
        assert isinstance(detour, Detour)
        assert 0 < detour.wait_s <= 30.0
    (event,) = sink.events
    assert event.level == "error"
    assert event.text.startswith("no proxy may be used now: 2 proxies are in quarantine; requests wait,")
    assert event.text.endswith("and the next try is in 30 s")
    clock.advance(30.0)
    proxy = await pools[0].choose_proxy("shop")
    await record(pools[0], proxy, ANSWERED, clock)
    assert len(sink.events) == 1
    later = ProxyPool(proxies(2), shared, clock, sink=sink)  # it was not there when it began
    await later.choose_proxy("shop")
    for pool in (*pools, later):
        await pool.choose_proxy("shop")
    assert [(event.level, event.text) for event in sink.events[1:]] == [("info", "a proxy may be used again")]
    for proxy in proxies(2):
        await record(pools[0], proxy, BLOCKED, clock)
    await pools[0].choose_proxy("shop")
    assert sink.events[2].level == "warning"
    assert "no proxy for shop may be used now" in sink.events[2].text


async def test_a_host_whose_proxies_rest_for_long_asks_again_soon_and_says_so_when_resumed(shared, clock):
    """What a host is held for outlives the crawl: with other proxies it continues at once, or nearly so."""
    sink = RecordingSink()
    await record(ProxyPool(proxies(1), shared, clock), *proxies(1), BLOCKED, clock)
    for _ in range(2):
        pool = ProxyPool(proxies(1), shared, clock, sink=sink, is_alone=True)
        for _ in range(3):
            detour = await pool.choose_proxy("shop")
            assert detour.wait_s == 30.0
    assert len(sink.events) == 2
    assert all(event.text.endswith("the next try is in 600 s") for event in sink.events)


async def test_who_is_told_that_no_proxy_is_left_hears_why(shared, clock):
    sink = RecordingSink()
    pool = ProxyPool(proxies(1), shared, clock, sink=sink)
    failed = report(await pool.choose_proxy("shop"), clock, Fault.PROXY)
    (row,) = failed.result.attempts
    refused = replace(row, detail="shop: proxy http://p0:1 refuses the user and password (407)")
    await pool.learn_from(replace(failed, result=replace(failed.result, attempts=(refused,))))
    await pool.choose_proxy("shop")
    assert sink.events[0].text.endswith(f"; the last failure was: {refused.detail}")


async def test_there_must_be_a_proxy_of_the_kind_that_is_asked_for(shared, clock):
    pool = ProxyPool(proxies(1, kind="mobile"), shared, clock)
    assert await pool.choose_proxy("shop", kind="mobile") == proxies(1, kind="mobile")[0]
    with pytest.raises(MissingServiceError, match="no proxy of the kind 'residential'"):
        await pool.choose_proxy("shop", kind="residential")


async def test_a_proxys_failure_costs_its_request_nothing_but_not_for_ever(shared, clock):
    pool = ProxyPool(proxies(9), shared, clock)
    proxy = await pool.choose_proxy("shop")
    advice = await pool.learn_from(report(proxy, clock, Fault.PROXY))
    assert (advice.due_at, advice.lane) == (clock.now(), "")
    assert proxy.name in advice.detail
    assert await pool.learn_from(report(proxy, clock, Fault.PROXY, attempt=MOST_FREE_TRIES + 1)) is None


async def test_a_host_that_no_proxy_reaches_takes_few_of_them_with_it(shared, clock):
    pool = ProxyPool(proxies(10), shared, clock)
    for _ in range(10):
        proxy = await pool.choose_proxy("forbidden")
        await pool.learn_from(report(proxy, clock, Fault.PROXY, host="forbidden"))
    assert isinstance(await pool.choose_proxy("forbidden"), Detour)
    assert len({(await pool.choose_proxy("shop")).host for _ in range(20)}) == 8


async def test_a_proxy_that_swallows_requests_is_found_out(shared, clock):
    pool = ProxyPool(proxies(2), shared, clock)
    hole = proxies(2)[0]
    for host in ("a", "b", "c"):
        await record(pool, hole, SILENT, clock, host=host)
    assert wait_s_of(await health_of(shared, hole), "d", clock.now()) > 0
    for _ in range(3):
        await record(pool, proxies(2)[1], SILENT, clock, host="a")
    health = await health_of(shared, proxies(2)[1])
    assert wait_s_of(health, "a", clock.now()) > 0
    assert wait_s_of(health, "b", clock.now()) == 0, "perhaps it is the host"


async def test_counts_outlast_a_break_of_shared_state(shared, clock):
    pool = ProxyPool(proxies(1), shared, clock)
    await record(pool, proxies(1)[0], ANSWERED, clock)
    clock.advance(5.0)
    shared.is_away = True
    with pytest.raises(StorageError):
        await record(pool, proxies(1)[0], ANSWERED, clock)
    with pytest.raises(StorageError):
        await record(pool, proxies(1)[0], FAILED, clock)
    with pytest.raises(StorageError):
        await pool.choose_proxy("shop")
    shared.is_away = False
    await pool.close()
    health = await health_of(shared, proxies(1)[0])
    assert (health.answers, health.failures) == (2, 1)


async def test_the_list_is_read_anew_and_a_bad_one_changes_nothing(shared, clock):
    sink, lists = RecordingSink(), [proxies(3), StorageError("proxies.txt cannot be read"), proxies(1)]

    async def read_list():
        found = lists.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    pool = ProxyPool(proxies(2), shared, clock, sink=sink, read_list=read_list, refresh_s=60.0)
    counts = []
    for _ in range(4):
        await pool.choose_proxy("shop")
        await asyncio.sleep(0)
        counts.append(len(pool.proxies))
        clock.advance(60.0)
    assert counts == [2, 3, 3, 1]
    assert [event.level for event in sink.events] == ["info", "warning", "info"]
    assert sink.events[1].text == "proxies.txt cannot be read; the former list of proxies stays in use"
    await pool.close()


@pytest.mark.slow
@pytest.mark.parametrize("order", some_of(RotationOrder, RotationOrder.LEAST_USED))
async def test_dead_and_banned_proxies_get_less_than_a_hundredth_of_the_attempts(shared, clock, order):
    """Ten proxies, of which three are dead and two are banned: an hour of two workers."""
    pools = [ProxyPool(proxies(10), shared, clock, order=order, start=n * 5) for n in range(2)]
    dead, banned = {"p1", "p4", "p8"}, {"p2", "p6"}
    attempts = Counter()
    for second in range(3600):
        for pool in pools:
            proxy = await pool.choose_proxy("shop", session=f"s{second % 50}")
            fault = Fault.PROXY if proxy.host in dead else ""
            attempts[proxy.host] += 1
            await pool.learn_from(report(proxy, clock, fault, is_block=proxy.host in banned))
        clock.advance(1.0)
    total = sum(attempts.values())
    assert total == 3600 * 2
    assert 0 < sum(attempts[host] for host in dead) < total / 100
    assert 0 < sum(attempts[host] for host in banned) < total / 100
    well = [attempts[f"p{n}"] for n in range(10) if f"p{n}" not in dead | banned]
    assert min(well) > total / 20 if order is not RotationOrder.STICKY else min(well) > 0


async def test_a_proxy_whose_answers_are_errors_where_those_of_others_are_not_rests(clock):
    shared = MemorySharedState(clock)
    broken, well = proxies(2)
    pool = ProxyPool([broken, well], shared, clock)
    for page in range(3):
        url = f"http://shop/{page}"
        assert pool.doubt_error(Route(proxy=broken), "shop", url, is_signed=False)
        advice = await pool.learn_from(report(broken, clock, Fault.PROXY_ANSWER))
        assert advice is not None
        assert advice.detail.startswith("again through another proxy")
        pool.note_answer(well, "shop", url)
    assert wait_s_of(await health_of(shared, broken), "shop", clock.now()) == 30.0
    assert not pool.doubt_error(Route(proxy=well), "shop", "http://shop/9", is_signed=False), "none is left"
    assert (
        await pool.learn_from(report(broken, clock, Fault.PROXY_ANSWER, attempt=MOST_DOUBTED_TRIES + 1))
        is None
    )


async def test_an_error_does_not_end_the_trial_of_a_proxy(clock):
    shared = MemorySharedState(clock)
    (one,) = proxies(1)
    pool = ProxyPool([one], shared, clock)
    await record(pool, one, FAILED, clock, host="shop")
    clock.advance(60.0)
    assert await pool.choose_proxy("shop") == one
    error = report(one, clock)
    await pool.learn_from(replace(error, fetched=replace(error.fetched, status=503)))
    assert (await health_of(shared, one)).whole.ended_at == 0.0
    assert await pool.choose_proxy("shop") == one, "the next request tries it out"


async def _crawl_by_one_slot(pool, clock, hanging, pages):
    """When each page of a crawl came that sends one request after the other, the first for robots.txt."""
    came_at = []
    for _ in range(pages):
        failed = ()
        for attempt in range(1, 100):
            proxy = await pool.choose_proxy("shop", avoid=failed[-3:])
            if isinstance(proxy, Detour):
                clock.advance(proxy.wait_s)
            elif proxy.host in hanging:
                failed, told = (*failed, proxy.name), report(proxy, clock, Fault.PROXY, attempt=attempt)
                clock.advance(30.0)
                await pool.learn_from(told)
            else:
                told = report(proxy, clock, attempt=attempt)
                clock.advance(0.1)
                pool.note_answer(proxy, "shop", told.request.url)
                await pool.learn_from(told)
                break
        came_at.append(clock.now())
    return came_at


@pytest.mark.parametrize("order", RotationOrder)
async def test_proxies_that_hang_take_a_fifth_of_the_time_once_another_works(shared, clock, order):
    """A bug it would catch: each rests shorter than the others hang, so every page tries them all out."""
    pool, began_at = ProxyPool(proxies(10), shared, clock, order=order), clock.now()
    hanging = {f"p{n}" for n in range(9)}
    first, *others = await _crawl_by_one_slot(pool, clock, hanging, pages=3000)
    assert first - began_at <= 9 * 30 + 1, "each was tried once"
    assert others[39] - first <= 5 + 30, "with one trial among forty pages"
    waits = [after - before for before, after in zip([first, *others], others, strict=False)]
    assert max(waits) <= 31, "no page meets two that hang"
    assert others[-1] - first <= 300 * 1.25 + 31


@pytest.mark.slow
async def test_proxies_that_hang_are_used_again_when_they_answer(shared, clock):
    pool = ProxyPool(proxies(4), shared, clock)
    await _crawl_by_one_slot(pool, clock, {"p0", "p1", "p2"}, pages=1000)
    await _crawl_by_one_slot(pool, clock, set(), pages=20_000)
    taken = Counter([(await pool.choose_proxy("shop")).host for _ in range(400)])
    assert set(taken.values()) == {100}


async def test_proxies_that_work_are_used_in_turn_from_the_first_request(shared, clock):
    pool = ProxyPool(proxies(5), shared, clock)
    taken = [(await pool.choose_proxy("shop")).host for _ in range(10)]
    for proxy in proxies(5):
        pool.note_answer(proxy, "shop", "https://shop/")
        await record(pool, proxy, ANSWERED, clock)
    taken += [(await pool.choose_proxy("shop")).host for _ in range(10)]
    assert taken == [f"p{n}" for n in range(5)] * 4


async def _count_calls(pool):
    """So many calls one request costs that is sent through the pool for the second time."""
    calls = Counter()
    await pool.choose_proxy("shop")
    sys.setprofile(lambda frame, event, argument: calls.update([event]))
    try:
        await pool.choose_proxy("shop")
    finally:
        sys.setprofile(None)
    return calls["call"]


async def _begin_pause(pool, clock):
    """One proxy answers the host, another one hangs: trials are paused there; both of them."""
    works = await pool.choose_proxy("shop", preferred=proxies(3)[1].name)
    pool.note_answer(works, "shop", "https://shop/")
    await record(pool, works, ANSWERED, clock)
    hangs = await pool.choose_proxy("shop", preferred=proxies(3)[2].name)
    told = report(hangs, clock, Fault.PROXY)
    clock.advance(30)
    await pool.learn_from(told)
    return works, hangs


@pytest.mark.parametrize("bond", ["preferred", "sticky"])
async def test_a_trial_that_fails_moves_no_session_from_its_proxy(shared, clock, bond):
    """A bug it would catch: another worker, or one begun anew, has not used the proxy of a session yet."""
    order = RotationOrder.STICKY if bond == "sticky" else RotationOrder.ROUND_ROBIN
    pool = ProxyPool(proxies(5), shared, clock, order=order)
    asked = {"preferred": proxies(5)[4].name} if bond == "preferred" else {}
    before = {}
    for session in "abcdefgh":
        before[session] = await pool.choose_proxy("shop", session=session, **asked)
    works, hangs = await _begin_pause(pool, clock)
    for session, proxy in before.items():
        chosen = await pool.choose_proxy("shop", session=session, **asked)
        assert chosen == (works if proxy == hangs else proxy)


@pytest.mark.parametrize("order", RotationOrder)
async def test_pauses_of_trials_cost_no_time_that_grows_with_the_list(shared, clock, order):
    """A bug it would catch: each request of a paused host compares all proxies of the list."""
    pool = ProxyPool(proxies(2000), shared, clock, order=order)
    await pool.choose_proxy("shop")  # ranks the session's proxies
    usual = await _count_calls(pool)
    await _begin_pause(pool, clock)
    assert await _count_calls(pool) < usual + 200
