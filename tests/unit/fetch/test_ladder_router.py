"""The router that climbs: what it reads and says, lanes, rungs that cannot be used here."""

import pytest

from gossamer.core.errors import MissingServiceError
from gossamer.core.events import NoticeEvent
from gossamer.core.requests import Request
from gossamer.core.routes import Block, BlockKind, Detour, Route
from gossamer.fetch.routing.ladder import SPACE, LadderStore, decode_state
from gossamer.fetch.routing.router import MAX_TRIES, LadderRouter
from gossamer.policy.ladder import PROBE_TTL_S, LadderRules
from gossamer.policy.rung_plan import RungPlan
from gossamer.shared.memory import MemorySharedState
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.router import CERTAIN, HOST, RUNGS, RouterSubject
from kit.engine import Events

MISSING = MissingServiceError("there is no Chromium: install it")


class CountingState(MemorySharedState):
    """Counts what it is asked."""

    def __init__(self, clock):
        super().__init__(clock)
        self.reads = []
        self.writes = []

    async def get(self, space, key):
        self.reads.append(key)
        return await super().get(space, key)

    async def put(self, space, key, value, ttl_s):
        self.writes.append((key, ttl_s))
        await super().put(space, key, value, ttl_s)


class World:
    def __init__(self):
        self.clock = ManualClock()
        self.shared = CountingState(self.clock)
        self.events = Events()
        self.subject = RouterSubject(self.open, self.clock)

    def open(self, rungs=RUNGS, *, is_alone=False, lanes=("http",), missing=None, **plan):
        store = LadderStore(self.shared, self.clock, remember_s=1e6, is_alone=is_alone)
        plan = RungPlan(rungs, **plan)
        return LadderRouter(store, plan, LadderRules(), self.clock, self.events, lanes=lanes, missing=missing)

    async def block(self, router, rung="http", **more):
        return await self.subject.report(router, rung, status=403, block=CERTAIN, **more)

    @property
    def told(self):
        return [(event.level, event.text) for event in self.events.of(NoticeEvent)]


@pytest.fixture
def world():
    return World()


class TestCost:
    async def test_a_page_costs_no_round_trip(self, world):
        router = world.open()
        for _ in range(1000):
            await world.subject.choose_rung(router)
            await world.subject.report(router, "http")
        assert world.shared.reads == ["", HOST]
        assert world.shared.writes == []

    async def test_a_worker_that_is_alone_reads_no_stamp(self, world):
        router = world.open(is_alone=True)
        for _ in range(9):
            await world.subject.choose_rung(router)
            world.clock.advance(10)
        assert world.shared.reads == [HOST]

    async def test_several_workers_read_a_stamp_twice_a_second_at_most(self, world):
        router = world.open()
        for _ in range(100):
            await world.subject.choose_rung(router)
            world.clock.advance(0.1)
        assert len(world.shared.reads) <= 21

    async def test_a_ladder_of_one_rung_reads_nothing(self, world):
        router = world.open(("impersonate",))
        assert await world.subject.choose_rung(router) == "impersonate"
        assert await world.block(router, "impersonate") is None
        assert (world.shared.reads, world.shared.writes) == ([], [])

    async def test_a_climb_is_written_once_however_many_are_refused(self, world):
        router = world.open()
        await world.subject.choose_rung(router)
        began = world.clock.now()
        world.clock.advance(1)
        for _ in range(64):
            await world.block(router, started_at=began)
        assert [key for key, _ in world.shared.writes] == [HOST, ""]


class TestWhatIsSaid:
    async def test_one_climb_is_one_notice(self, world):
        router = world.open()
        await world.subject.choose_rung(router)
        began = world.clock.now()
        world.clock.advance(1)
        advice = [await world.block(router, started_at=began) for _ in range(3)]
        step = "climbs from http to impersonate: cloudflare: cf-mitigated: challenge"
        assert world.told == [("info", f"{HOST} {step}")]
        assert [one.detail for one in advice] == [step, *["tried again by impersonate"] * 2]

    async def test_what_is_known_says_why(self, world):
        router = world.open()
        await world.block(router)
        state = decode_state(await world.shared.get(SPACE, HOST))
        assert (state.rung, state.why) == (
            "impersonate",
            "climbs from http to impersonate: cloudflare: cf-mitigated: challenge",
        )

    async def test_what_cannot_be_read_is_unknown(self, world):
        await world.shared.put(SPACE, HOST, b"\xc1 of another version", 100)
        assert await world.subject.choose_rung(world.open()) == "http"


async def test_looks_that_are_not_certain_are_tried_again_later(world):
    router = world.open()
    await world.subject.choose_rung(router)
    look = Block(kind=BlockKind.STATUS, is_certain=False)
    advice = await world.subject.report(router, "http", status=403, block=look)
    assert advice.due_at == world.clock.now() + 5
    for _ in range(2):
        advice = await world.subject.report(router, "http", status=403, block=look)
    assert (advice.due_at, await world.subject.choose_rung(router)) == (0.0, "impersonate")


async def test_a_probe_that_is_given_back_before_it_was_sent_makes_room_for_another(world):
    router = world.open()
    await world.block(router)
    world.clock.advance(3600)
    for _ in range(3):
        route = await router.choose_route(Request(f"https://{HOST}/"), HOST)
        assert route.rung == "http"
        await router.release_route(Request(f"https://{HOST}/"), route, HOST)


async def test_a_request_is_not_tried_forever(world):
    router = world.open()
    await world.block(router)
    late = world.subject
    for attempt in (MAX_TRIES - 1, MAX_TRIES):
        advice = await late.report(router, "http", status=403, block=CERTAIN, started_at=0.0, attempt=attempt)
        assert (advice is None) is (attempt == MAX_TRIES)


async def test_a_request_that_was_tried_often_is_not_lost_by_a_probe_or_a_climb(world):
    router = world.open()
    assert await world.block(router, attempt=MAX_TRIES) is not None
    world.clock.advance(3600)
    assert await world.subject.choose_rung(router) == "http"
    assert await world.block(router, attempt=MAX_TRIES) is not None, "its own rung has not refused it"
    assert await world.subject.choose_rung(router) == "impersonate"


class TestLanes:
    LANES = ("http", "browser")

    async def test_requests_that_need_a_browser_wait_in_its_lane(self, world):
        router = world.open(lanes=self.LANES)
        request = Request(f"https://{HOST}/")
        assert router.lane_for(request, HOST) == "http"
        await world.block(router)
        advice = await world.block(router, "impersonate")
        assert advice.lane == "browser"
        assert router.lane_for(request, HOST) == "browser", "new links go there at once"
        route = await router.choose_route(request, HOST)
        assert isinstance(route, Detour)
        assert (route.lane, route.why) == ("browser", "it is to be fetched by browser, on the lane browser")
        assert await world.subject.choose_rung(router, lane="browser") == "browser"

    async def test_one_request_goes_back_to_probe_and_all_when_the_host_has_come_down(self, world):
        router = world.open(("http", "browser"), lanes=self.LANES)
        await world.block(router)
        for _ in range(2):
            world.clock.advance(3600)
            waiting = [await world.subject.choose_rung(router, lane="browser") for _ in range(5)]
            assert waiting == ["lane:http", *["browser"] * 4]
            assert await world.subject.choose_rung(router) == "http"
            assert await world.subject.choose_rung(router) == "lane:browser", "one probe is enough"
            await world.subject.report(router, "http")
        assert await world.subject.choose_rung(router, lane="browser") == "lane:http"
        assert router.lane_for(Request(f"https://{HOST}/", lane="browser"), HOST) == "http"

    async def test_a_probe_that_never_came_to_its_lane_is_sent_again(self, world):
        router = world.open(("http", "browser"), lanes=self.LANES)
        await world.block(router)
        world.clock.advance(3600)
        assert await world.subject.choose_rung(router, lane="browser") == "lane:http"
        world.clock.advance(PROBE_TTL_S - 1)
        assert await world.subject.choose_rung(router, lane="browser") == "browser"
        world.clock.advance(1)
        assert await world.subject.choose_rung(router, lane="browser") == "lane:http"

    async def test_a_request_that_names_the_browser_goes_there_at_once(self, world):
        router = world.open(lanes=self.LANES)
        request = Request(f"https://{HOST}/", fetch="browser")
        assert router.lane_for(request, HOST) == "browser"
        assert await world.subject.choose_rung(router, fetch="browser") == "lane:browser"

    async def test_lanes_of_other_names_are_their_authors_own(self, world):
        router = world.open(choice="browser", lanes=(*self.LANES, "slow"))
        assert await world.subject.choose_rung(router, lane="slow") == "browser"

    async def test_without_such_a_lane_there_is_one(self, world):
        router = world.open(choice="browser")
        assert await world.subject.choose_rung(router) == "browser"
        assert router.lane_for(Request(f"https://{HOST}/"), HOST) == "http"


class TestRungsThatCannotBeUsed:
    REQUEST = Request(f"https://{HOST}/")

    async def test_it_is_skipped_and_that_is_said_once(self, world):
        router = world.open()
        for _ in range(3):
            assert router.skip_rung(self.REQUEST, HOST, Route(rung="impersonate"), MISSING)
        text = (
            "the rung impersonate is skipped, since it cannot be used here: there is no Chromium: install it"
        )
        assert world.told == [("error", text)]
        await world.block(router)
        assert await world.subject.choose_rung(router) == "browser"

    async def test_all_rungs_of_its_way_are(self, world):
        router = world.open(("http", "browser", "browser+mobile", "gateway"), missing={"browser": MISSING})
        await world.block(router)
        assert await world.subject.choose_rung(router) == "gateway"

    async def test_there_must_be_another(self, world):
        router = world.open(("browser",), choice="auto", hosts={HOST: ("browser",)})
        assert not router.skip_rung(self.REQUEST, HOST, Route(rung="browser"), MISSING)
        assert world.told == []

    @pytest.mark.parametrize("known", [("impersonate", "browser"), ("browser",)])
    async def test_a_host_none_of_whose_rungs_can_be_used_has_no_other(self, world, known):
        missing = dict.fromkeys(known, MISSING)
        router = world.open(("http",), hosts={HOST: ("impersonate", "browser")}, missing=missing)
        rung = await world.subject.choose_rung(router)
        assert not router.skip_rung(self.REQUEST, HOST, Route(rung=rung), MISSING)

    async def test_a_rung_that_was_skipped_meanwhile_is_not_the_last_one(self, world):
        router = world.open(missing={"http": MISSING})
        assert router.skip_rung(self.REQUEST, HOST, Route(rung="http"), MISSING)

    async def test_a_request_that_names_it_has_no_other(self, world):
        named = Request(f"https://{HOST}/", fetch="browser")
        assert not world.open().skip_rung(named, HOST, Route(rung="browser"), MISSING)

    async def test_a_browser_with_a_lane_of_its_own_is_other_workers(self, world):
        router = world.open(lanes=("http", "browser"))
        assert not router.skip_rung(self.REQUEST, HOST, Route(rung="browser"), MISSING)


async def test_a_climb_of_one_host_lets_workers_read_few_others_again(world):
    one, two = world.open(), world.open()
    hosts = [f"host{nth}.test" for nth in range(20)]
    for host in hosts:
        await two.choose_route(Request(f"http://{host}/"), host)
    await world.block(one)
    world.clock.advance(1)
    world.shared.reads.clear()
    for host in [*hosts, HOST]:
        await two.choose_route(Request(f"http://{host}/"), host)
    assert HOST in world.shared.reads
    assert len(world.shared.reads) <= 4
