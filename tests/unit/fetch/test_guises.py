"""Proxies and sessions of a ladder: who is refused goes as somebody else."""

from collections import Counter

import pytest
from msgspec.structs import replace

from gossamer.core.errors import Fault, FetchError, MissingServiceError
from gossamer.core.events import NoticeEvent
from gossamer.core.requests import Request
from gossamer.core.routes import Block, BlockKind, Detour, Proxy, Route
from gossamer.fetch.routing import guises
from gossamer.fetch.routing.guises import GuisePlanner
from gossamer.fetch.routing.ladder import LadderStore
from gossamer.fetch.routing.proxies import ProxyPool
from gossamer.fetch.routing.router import MAX_TRIES, OTHERS_TURN_S, LadderRouter
from gossamer.fetch.sessions.pool import SessionPool
from gossamer.policy.ladder import MOST_LOOKS, SUSPECTS_ON_TOP, LadderRules
from gossamer.policy.proxies import ProxyOutcome
from gossamer.policy.proxy_rotation import RotationOrder
from gossamer.policy.rung_plan import RungPlan
from gossamer.policy.sessions import SessionRules
from gossamer.shared.memory import MemorySharedState
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.router import CERTAIN, RouterSubject
from kit.engine import Events

HOST = "site.example"
LOOK = Block(kind=BlockKind.STATUS, is_certain=False)


def make_proxies(count, kind="datacenter"):
    return [Proxy(scheme="http", host=f"p{n}.test", port=8080, kind=kind) for n in range(count)]


class World:
    """A router over real pools; ``answer`` says what came of a route."""

    def __init__(
        self,
        proxies=(),
        rungs=("http", "impersonate"),
        *,
        always=True,
        sticky=False,
        bound=False,
        clock=None,
        shared=None,
        **plan,
    ):
        self.clock = clock or ManualClock()
        self.events = Events()
        self.shared = shared or MemorySharedState(self.clock)
        order = RotationOrder.STICKY if sticky else RotationOrder.ROUND_ROBIN
        self.pool = (
            ProxyPool(proxies, self.shared, self.clock, order=order, sink=self.events) if proxies else None
        )
        self.sessions = SessionPool(self.shared, self.clock, "job-1", SessionRules())
        planner = GuisePlanner(self.sessions, self.pool, always=always, is_sticky=sticky)
        store = LadderStore(self.shared, self.clock, remember_s=1e6)
        plan = RungPlan(rungs, **plan)
        self.router = LadderRouter(
            store, plan, LadderRules(), self.clock, self.events, guises=planner, is_bound=bound
        )
        self.subject = RouterSubject(lambda: self.router, self.clock)

    def another_worker(self, proxies, *args, **options):
        return World(proxies, *args, clock=self.clock, shared=self.shared, **options)

    async def choose(self, path="", **request):
        return await self.router.choose_route(Request(f"https://{HOST}/{path}", **request), HOST)

    async def answer(self, route, *, block=None, status=200, fault=None, path="", **request):
        self.clock.advance(0.01)
        if block:
            status = 403
        return await self.subject.report(
            self.router,
            route.rung,
            route=route,
            status=status,
            block=block,
            fault=fault,
            path=path,
            **request,
        )

    @property
    def told(self):
        return [event.text for event in self.events.of(NoticeEvent)]


async def test_a_refused_proxy_is_replaced_and_after_three_in_a_row_the_rung_is_to_blame():
    world = World(make_proxies(8))
    used = []
    for _ in range(3):
        route = await world.choose()
        used.append(route.proxy.name)
        advice = await world.answer(route, block=CERTAIN)
        assert advice is not None
    assert len(set(used)) == 3
    assert advice.detail.startswith("climbs from http to impersonate: cloudflare")
    assert (await world.choose()).rung == "impersonate"


async def test_what_one_proxy_is_refused_another_may_have():
    """Two proxies are banned; the rung is not to blame, and they rest."""
    world = World(make_proxies(8))
    banned = {proxy.name for proxy in make_proxies(2)}
    seen = []
    for _ in range(100):
        route = await world.choose()
        seen.append(route.proxy.name)
        await world.answer(route, block=CERTAIN if route.proxy.name in banned else None)
    assert sum(name in banned for name in seen) == 2
    assert (await world.choose()).rung == "http"


async def test_a_bare_403_is_the_proxys_when_the_page_is_had_through_another():
    world = World(make_proxies(4))
    bad = "http://p0.test:8080"
    tries, counts = [], []
    for number in range(40):
        path = str(number)
        for _ in range(2):
            route = await world.choose(path)
            tries.append(route.proxy.name)
            is_refused = route.proxy.name == bad
            advice = await world.answer(route, block=LOOK if is_refused else None, path=path)
            counts.append(is_refused)
            if advice is None:
                break
            assert advice.due_at > world.clock.now()
    assert sum(counts) == 1, "it rests from the moment when the page was had"
    assert (await world.choose()).rung == "http"


async def test_a_page_that_is_closed_to_everybody_puts_no_proxy_to_rest():
    world = World(make_proxies(3))
    for number in range(30):
        path = "closed" if number % 3 == 0 else str(number)
        route = await world.choose(path)
        assert not isinstance(route, Detour)
        await world.answer(route, block=LOOK if path == "closed" else None, path=path)
    names = {(await world.choose(str(n))).proxy.name for n in range(9)}
    assert len(names) == 3


@pytest.mark.parametrize("rungs", [("http",), ("http", "impersonate")])
async def test_a_few_pages_that_are_closed_to_everybody_put_no_proxy_to_rest_on_the_last_rung(rungs):
    world = World(make_proxies(3), rungs)
    if len(rungs) > 1:
        for _ in range(3):
            await world.answer(await world.choose("a"), block=CERTAIN, path="a")
    tries = Counter()
    for path in [str(number) for number in range(SUSPECTS_ON_TOP - 1)] * 3:
        tries[path] += 1
        advice = await world.answer(await world.choose(path), block=LOOK, path=path)
        assert (advice is not None) == (tries[path] < 3), "it is tried through three of them"
    assert len({(await world.choose("x")).proxy for _ in range(9)}) == 3


@pytest.mark.long
async def test_of_many_pages_that_look_refused_none_is_tried_without_end():
    world = World(make_proxies(3), ("http",))
    await world.answer(await world.choose())
    for attempt in range(1, MOST_LOOKS + 3):
        for path in range(200):
            route = await world.choose(str(path))
            advice = await world.answer(route, block=LOOK, path=str(path), attempt=attempt)
            assert advice is None or attempt <= MOST_LOOKS
            await world.answer(await world.choose())


async def test_a_proxy_that_fails_costs_nothing_and_another_is_taken():
    world = World(make_proxies(3))
    route = await world.choose("x")
    advice = await world.answer(route, status=0, fault=Fault.PROXY, path="x")
    assert advice.detail == f"again, since the proxy {route.proxy.name} failed"
    again = await world.choose("x")
    assert again.proxy != route.proxy
    assert again.rung == "http"


async def test_a_page_is_not_asked_for_again_and_again_through_the_same_two_proxies():
    """Of two providers: each of them goes before the others of the other's provider."""
    a, b, *others = (
        replace(proxy, provider=name) for proxy, name in zip(make_proxies(4), "abbb", strict=True)
    )
    world = World([a, b, *others])
    used = []
    for _ in range(3):
        route = await world.choose("x")
        used.append(route.proxy)
        await world.answer(route, status=0, fault=Fault.ROBOTS_UNREACHABLE, path="x")
    assert len(set(used)) == 3


async def test_when_all_proxies_are_refused_the_host_climbs_instead_of_waiting():
    world = World(make_proxies(2))
    for _ in range(2):
        await world.answer(await world.choose(), block=CERTAIN)
    route = await world.choose()
    assert (route.rung, route.proxy is None) == ("impersonate", False), "they may go there again by this rung"
    assert f"{HOST} climbs from http to impersonate: no proxy is left that is not refused" in world.told


@pytest.mark.parametrize(("refused", "rung"), [(2, "http"), (3, "impersonate")])
async def test_a_host_that_refuses_enough_proxies_waits_for_none_that_is_out_of_order(refused, rung):
    """Pages in between: never three refusals in a row."""
    world = World(make_proxies(6))
    routes = [await world.choose() for _ in range(6)]
    for number, route in enumerate(routes):
        await world.answer(routes[5])
        if number < refused:
            await world.answer(route, block=CERTAIN)
        else:
            await world.answer(route, status=0, fault=Fault.PROXY)
    route = await world.choose()
    assert (route.rung if isinstance(route, Route) else "http") == rung


async def test_while_proxies_are_being_pardoned_nobody_waits_for_the_end_of_their_rest_nor_climbs_again():
    """Other requests choose their routes between the climb and the pardon."""
    world = World(make_proxies(2), ("http", "impersonate", "browser"))
    for _ in range(2):
        await world.answer(await world.choose(), block=CERTAIN)
    pardon, met = world.pool.pardon_host, []

    async def pardon_host(host):
        met.append(await world.choose())
        await pardon(host)

    world.pool.pardon_host = pardon_host
    assert (await world.choose()).rung == "impersonate"
    route = met[0]
    assert isinstance(route, Detour)
    assert route.wait_s <= 1.0
    assert (await world.choose()).rung == "impersonate"


async def test_who_climbs_pardons_the_proxies_that_other_workers_have_put_to_rest_just_now():
    one = World(make_proxies(3))
    other = one.another_worker(make_proxies(3))
    routes = [await one.choose(str(number)) for number in range(3)]
    await other.choose()
    for world, route in zip((other, other, one), routes, strict=True):
        await world.answer(route, block=CERTAIN)
    one.clock.advance(2)
    used = [await one.choose(str(number)) for number in range(9)]
    assert {route.rung for route in used} == {"impersonate"}
    assert len({route.proxy.name for route in used}) == 3


async def test_who_has_not_all_proxies_keeps_no_host_waiting_and_gives_up_no_request_of_others():
    bound = World(make_proxies(1), ("http",), bound=True)
    for _ in range(3):
        route = await bound.choose("a")
        assert isinstance(route, Route)
        await bound.answer(route, block=CERTAIN, path="a")
        waiting = await bound.choose("a")
        assert isinstance(waiting, Detour)
        assert waiting.wait_s <= OTHERS_TURN_S
        bound.clock.advance(4 * 3600)
    await bound.answer(await bound.choose("a"), block=CERTAIN, path="a")
    with pytest.raises(FetchError, match="refused every proxy"):
        await bound.choose("a")


async def test_a_rung_with_a_kind_takes_proxies_of_that_kind():
    world = World(make_proxies(2, "mobile"), ("http", "http+mobile"), always=False)
    route = await world.choose()
    assert (route.rung, route.proxy) == ("http", None)
    await world.answer(route, block=CERTAIN)
    route = await world.choose()
    assert (route.rung, route.proxy.kind) == ("http+mobile", "mobile")


async def test_a_rung_without_a_proxy_of_its_kind_is_left_out():
    world = World(rungs=("http", "http+mobile", "impersonate"))
    assert world.told == ["the rung http+mobile is skipped: the crawl has no proxy of its kind"]
    await world.answer(await world.choose(), block=CERTAIN)
    assert (await world.choose()).rung == "impersonate"


async def test_a_kind_that_is_no_longer_in_the_list_is_left_out_and_comes_back_with_it():
    world = World(make_proxies(2, "mobile"), ("http+mobile", "impersonate"), always=False)
    assert (await world.choose()).rung == "http+mobile"
    world.pool._take_list(make_proxies(2))
    assert (await world.choose()).rung == "impersonate"
    world.pool._take_list(make_proxies(2, "mobile"))
    assert (await world.choose()).rung == "http+mobile"


async def test_a_request_that_names_such_a_rung_stops_the_crawl():
    for proxies in (make_proxies(2), ()):
        world = World(proxies, always=False)
        with pytest.raises(MissingServiceError, match="mobile"):
            await world.choose(fetch="http+mobile")


@pytest.mark.parametrize("rungs", [("http",), ("http", "impersonate")])
async def test_on_the_last_rung_a_page_is_tried_through_every_proxy(rungs):
    world = World(make_proxies(8), rungs)
    used = []
    for _ in range(8):
        route = await world.choose("x", fetch="http")
        used.append(route.proxy.name)
        assert await world.answer(route, block=CERTAIN, path="x", fetch="http") is not None
    assert len(set(used)) == 8
    assert isinstance(await world.choose("x", fetch="http"), Detour)


async def test_a_request_that_names_a_rung_says_nothing_of_the_rung_of_its_host():
    world = World(make_proxies(8))
    for number in range(2):
        route = await world.choose(f"named{number}", fetch="http")
        await world.answer(route, block=CERTAIN, path=f"named{number}", fetch="http")
    await world.answer(await world.choose("x"), block=CERTAIN, path="x")
    assert (await world.choose("x")).rung == "http", "one refusal of the ladder's own"
    await world.answer(await world.choose("y"), block=CERTAIN, path="y")
    await world.answer(await world.choose("named", fetch="http"), path="named", fetch="http")
    await world.answer(await world.choose("z"), block=CERTAIN, path="z")
    assert (await world.choose("z")).rung == "impersonate", "three in a row"


@pytest.mark.parametrize("count", [1, 2, 10])
async def test_a_host_that_refuses_all_proxies_again_after_their_rest_is_given_up(count):
    world = World(make_proxies(count), ("http",))
    began, dead = world.clock.now(), 0
    for number in range(100):
        for _ in range(MAX_TRIES):
            try:
                route = await world.choose(str(number))
            except FetchError as error:
                dead += error.fault is Fault.BLOCKED
                break
            if isinstance(route, Detour):
                world.clock.advance(route.wait_s)
            elif await world.answer(route, block=CERTAIN, path=str(number)) is None:
                break
    assert dead > 90
    assert world.clock.now() - began < 3600


@pytest.mark.parametrize("count", [1, 2])
async def test_while_a_proxy_is_tried_out_no_request_is_given_up(count):
    world = World(make_proxies(count), ("http",))
    for _ in range(3):
        for _ in range(count):
            await world.answer(await world.choose("a"), block=CERTAIN, path="a")
        world.clock.advance(2 * 3600)
    canaries = [await world.choose(str(number)) for number in range(count)]
    assert isinstance(await world.choose("b"), Detour)
    for number, canary in enumerate(canaries):
        assert isinstance(canary, Route)
        await world.answer(canary, path=str(number))
    assert isinstance(await world.choose("b"), Route)


async def test_nobody_waits_for_a_proxy_that_only_the_probe_of_a_rung_needs():
    cheap, dear = make_proxies(1), [Proxy(scheme="http", host="home.test", port=1, kind="residential")]
    world = World([*cheap, *dear], ("http+datacenter", "http+residential"), always=False)
    await world.answer(await world.choose("a"), block=CERTAIN, path="a")
    assert (await world.choose("b")).rung == "http+residential"
    world.clock.advance(3600)
    await world.pool.record_outcome(*cheap, HOST, ProxyOutcome.FAILED, started_at=world.clock.now())
    for path in "cde":
        assert (await world.choose(path)).rung == "http+residential"


async def test_where_all_proxies_are_out_of_order_requests_wait_and_the_host_stays_on_its_rung():
    world = World(make_proxies(5))
    await world.answer(await world.choose("a"), block=CERTAIN, path="a")
    for number in range(4):
        await world.answer(await world.choose(str(number)), status=0, fault=Fault.PROXY, path=str(number))
    for _ in range(5):
        route = await world.choose("b")
        assert isinstance(route, Detour)
        world.clock.advance(5)
    assert not any("climbs" in text for text in world.told)


async def test_while_a_proxy_is_tried_out_the_host_stays_on_its_rung():
    world = World(make_proxies(2))
    await world.answer(await world.choose("a"), block=CERTAIN, path="a")
    await world.answer(await world.choose("b"), status=0, fault=Fault.PROXY, path="b")
    world.clock.advance(40)
    assert (await world.choose("c")).rung == "http"
    assert isinstance(await world.choose("d"), Detour)
    assert not any("climbs" in text for text in world.told)


async def test_dead_proxies_are_not_waited_for_where_all_others_are_refused():
    world = World(make_proxies(2))
    dead = make_proxies(1)[0]
    for _ in range(3):
        await world.pool.record_outcome(dead, HOST, ProxyOutcome.FAILED, started_at=world.clock.now())
        world.clock.advance(121)
    await world.pool.record_outcome(dead, HOST, ProxyOutcome.FAILED, started_at=world.clock.now())
    await world.answer(await world.choose("a"), block=CERTAIN, path="a")
    assert (await world.choose("a")).rung == "impersonate"


class TestSessions:
    async def test_who_is_refused_comes_back_without_cookies(self):
        world = World()
        first = await world.choose()
        await world.answer(first, block=CERTAIN)
        second = await world.choose()
        assert (first.session, second.session) == ("", "#2")

    async def test_a_sticky_identity_keeps_its_proxy_and_ends_with_it(self):
        world = World(make_proxies(4), sticky=True)
        routes = [await world.choose(str(n)) for n in range(10)]
        assert len({(route.proxy.name, route.session) for route in routes}) == 1
        await world.answer(routes[0], status=0, fault=Fault.PROXY)
        after = await world.choose()
        assert after.proxy != routes[0].proxy
        assert after.session != routes[0].session
        assert (await world.choose("more")) == after

    async def test_a_sticky_identity_that_lost_its_proxy_has_one_successor(self):
        world = World(make_proxies(50), sticky=True)
        first = await world.choose("x")
        await world.answer(first, status=0, fault=Fault.PROXY, path="x")
        guises = set()
        for number in range(50):
            route = await world.choose(str(number))
            guises.add((route.session, route.proxy.name))
            await world.answer(route, path=str(number))
        assert len(guises) == 1

    @pytest.mark.parametrize("fault", [Fault.SERVER, Fault.TIMEOUT_BODY, Fault.LOGGED_OUT])
    async def test_a_page_that_is_retried_keeps_a_sticky_identity(self, fault):
        world = World(make_proxies(50), sticky=True)
        first = await world.choose("x")
        await world.answer(first, status=500, fault=fault, path="x")
        assert await world.choose("x") == first

    @pytest.mark.parametrize("number", range(8))
    async def test_the_successor_of_a_sticky_identity_has_another_proxy(self, number):
        """Whatever one is called, by chance its first choice may be that of the other."""
        world = World(make_proxies(2), sticky=True)
        first = await world.choose("x", session=str(number))
        await world.answer(first, block=CERTAIN, path="x", session=str(number))
        world.clock.advance(4 * 3600)
        second = await world.choose("x", session=str(number))
        assert second.session != first.session
        assert second.proxy != first.proxy
        assert await world.choose("y", session=str(number)) == second

    async def test_a_sticky_identity_whose_proxy_is_the_only_one_waits_for_it(self):
        world = World(make_proxies(1), sticky=True)
        first = await world.choose("x")
        await world.answer(first, status=0, fault=Fault.PROXY, path="x")
        assert isinstance(await world.choose("x"), Detour)
        world.clock.advance(3600)
        assert await world.choose("x") == first

    async def test_a_proxy_that_was_looked_at_for_an_identity_that_ends_is_not_kept_on_trial(self):
        world = World(make_proxies(2), sticky=True)
        first = await world.choose("x")
        other = next(proxy for proxy in make_proxies(2) if proxy != first.proxy)
        for proxy in (other, first.proxy):
            await world.pool.record_outcome(proxy, HOST, ProxyOutcome.FAILED, started_at=world.clock.now())
            world.clock.advance(29)
        assert (await world.choose("x")).proxy == other

    async def test_the_identity_in_use_is_remembered_longest(self, monkeypatch):
        monkeypatch.setattr(guises, "MAX_KEPT", 3)
        world = World()
        for number in range(9):
            route = await world.choose("x")
            await world.choose("x", session=str(number))
        await world.answer(route, block=CERTAIN, path="x")
        assert (await world.choose("x")).session == "#2"

    async def test_a_named_session_is_the_requests_own(self):
        world = World()
        assert (await world.choose(session="anna")).session == "anna"
