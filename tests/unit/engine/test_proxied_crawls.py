"""A crawl through proxies, on virtual time: what a request does not need, it does not wait for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.core.errors import Fault, FetchError
from gossamer.core.lifecycle import FinishReason
from gossamer.core.requests import Request
from gossamer.core.results import ExtractResult, FetchResult
from gossamer.core.routes import Proxy, Route
from gossamer.engine.supervisor import RunSummary, Supervisor
from gossamer.engine.worker import Worker
from gossamer.fetch.robots_cache import RobotsCache
from gossamer.fetch.routing.guises import GuisePlanner
from gossamer.fetch.routing.ladder import LadderStore
from gossamer.fetch.routing.proxies import ProxyPool
from gossamer.fetch.routing.router import LadderRouter
from gossamer.fetch.sessions.pool import SessionPool
from gossamer.policy.ladder import LadderRules, climb
from gossamer.policy.proxies import ProxyOutcome
from gossamer.policy.proxy_rotation import RotationOrder
from gossamer.policy.rung_plan import RungPlan
from gossamer.policy.sessions import SessionRules
from gossamer.shared.memory import MemorySharedState
from kit.engine import CALM, URL, Answer, Kit, Site, follow, virtually

ROUND_TRIP_S = 0.001
HOST = "site.test"
SILENCE_S = 20.0
CHALLENGE = (("content-type", "text/html"), ("cf-mitigated", "challenge"))


class SlowState(MemorySharedState):
    """Shared state that is asked over a network."""

    def __init__(self, clock: Any) -> None:
        super().__init__(clock)
        self._sleep = clock.sleep

    async def get(self, space: str, key: str) -> bytes | None:
        await self._sleep(ROUND_TRIP_S)
        return await super().get(space, key)


class ProxiedSite(Site):
    """A site that is asked through proxies, some of which may give no answer."""

    def __init__(self, clock: Any) -> None:
        super().__init__(clock, 0.1)
        self.silent: set[str] = set()  # proxies that give no answer
        self.silent_until = float("inf")
        self.refused_rung = ""
        self.dead_until = 0.0  # proxies do not work before that
        self.routes: list[Route] = []
        self.on_first: Callable[[Proxy], Awaitable[None]] | None = None  # called once, with its proxy

    async def fetch(self, request: Request, route: Any = None) -> FetchResult:
        self.routes.append(route)
        if route.proxy is not None and self.clock.now() < self.dead_until:
            raise FetchError(Fault.PROXY, "out of order", rung=route.rung)
        if (
            route.proxy is not None
            and route.proxy.name in self.silent
            and self.clock.now() < self.silent_until
        ):
            await self.clock.sleep(SILENCE_S)
            raise FetchError(Fault.TIMEOUT_HEADERS, "no answer", rung=route.rung)
        page = replace(await super().fetch(request), rung=route.rung)
        if route.rung == self.refused_rung:
            return replace(page, status=403, headers=CHALLENGE)
        if self.on_first is not None and route.proxy is not None:
            on_first, self.on_first = self.on_first, None
            await on_first(route.proxy)
        return page


def make_proxies(count: int) -> list[Proxy]:
    return [Proxy(scheme="http", host=f"p{n}.test", port=8080) for n in range(count)]


class World:
    """A kit whose site is asked through proxies."""

    def __init__(
        self,
        proxies: list[Proxy],
        rungs: tuple[str, ...] = ("http",),
        *,
        always: bool = True,
        sticky: bool = False,
    ) -> None:
        self.kit = kit = Kit(replace(CALM, per_host=1))
        self.site = ProxiedSite(kit.clock)
        self.shared = SlowState(kit.clock)
        order = RotationOrder.STICKY if sticky else RotationOrder.ROUND_ROBIN
        self.pool = ProxyPool(proxies, self.shared, kit.clock, order=order)
        sessions = SessionPool(self.shared, kit.clock, "t", SessionRules())
        guises = GuisePlanner(sessions, self.pool, always=always, is_sticky=sticky)
        self.store = LadderStore(self.shared, kit.clock, remember_s=1e6)
        self.router = LadderRouter(
            self.store, RungPlan(rungs), LadderRules(), kit.clock, kit.events, guises=guises
        )

    def follow(self, *paths: str) -> None:
        self.kit.pages.yields = {URL: follow(*(URL + path for path in paths))}

    async def run(self, *urls: str, **parts: Any) -> RunSummary:
        parts = self.kit.with_parts(fetcher=self.site, router=self.router, **parts)
        supervisor = Supervisor(parts, Worker(parts, self.kit.shift), drain_s=5.0)
        return await supervisor.run(self.kit.seeds_of(*(urls or (URL,))))

    @property
    def pages(self) -> set[str]:
        return {url for url, verdict, _ in self.kit.ledger.verdicts if verdict == "success"}


def crawl(main: Callable[[], Coroutine[Any, Any, tuple[World, RunSummary]]]) -> tuple[World, float]:
    """The world after a crawl, and how long that took."""
    world, ran = virtually(main)
    assert ran.reason is FinishReason.FINISHED
    return world, ran.ended_at - ran.started_at


def test_a_page_that_robots_txt_forbids_keeps_nobody_from_a_proxy_on_trial() -> None:
    async def main() -> tuple[World, RunSummary]:
        world = World(make_proxies(1))
        forbidden = [f"forbidden{n}" for n in range(5)]
        world.follow(*forbidden, "a", "b")
        for path in forbidden:
            world.kit.gate.answers[URL + path] = [Answer(allowed=False, reason=Fault.ROBOTS)]

        async def fail(proxy: Proxy) -> None:
            now = world.kit.clock.now()
            await world.pool.record_outcome(proxy, HOST, ProxyOutcome.STALLED, started_at=now)
            await world.kit.clock.sleep(31)

        world.site.on_first = fail
        return world, await world.run()

    world, took_s = crawl(main)
    assert len(world.pages) == 3
    assert took_s < 40


def test_a_page_that_robots_txt_forbids_is_not_taken_for_the_probe_of_a_rung() -> None:
    async def main() -> tuple[World, RunSummary]:
        world = World(make_proxies(1), ("http", "impersonate"))
        rules = LadderRules(rungs=("http", "impersonate"))
        began = world.kit.clock.now()
        await world.store.change_state(HOST, lambda state: climb(state, rules, "", began - 4000))
        world.follow("forbidden", "a", "b")
        world.kit.gate.answers[URL] = [Answer(allowed=False, reason=Fault.ROBOTS)]
        return world, await world.run(URL, URL + "a", URL + "b")

    world, took_s = crawl(main)
    assert [route.rung for route in world.site.routes] == ["http", "http"]
    assert took_s < 40


def test_who_keeps_to_a_proxy_that_gives_no_answer_any_more_takes_another() -> None:
    async def main() -> tuple[World, RunSummary]:
        world = World(make_proxies(10), sticky=True)
        world.follow("a", "b")

        async def fall_silent(proxy: Proxy) -> None:
            world.site.silent.add(proxy.name)

        world.site.on_first = fall_silent
        return world, await world.run()

    world, took_s = crawl(main)
    assert len(world.pages) == 3
    assert took_s < 600


def test_who_keeps_to_a_proxy_through_which_robots_txt_is_never_had_takes_another() -> None:
    async def main() -> tuple[World, RunSummary]:
        world = World(make_proxies(10), sticky=True)
        choice = await world.pool.choose_proxy(HOST)
        assert isinstance(choice, Proxy)
        world.site.silent.add(choice.name)
        robots = RobotsCache(world.site, world.shared, world.kit.clock, user_agent="x")
        return world, await world.run(robots=robots)

    world, took_s = crawl(main)
    assert len(world.pages) == 1
    assert took_s < 600


@pytest.mark.slow
def test_a_host_that_comes_back_from_an_outage_is_asked_soon_through_its_only_proxy() -> None:
    async def main() -> tuple[World, RunSummary]:
        world = World(make_proxies(1))
        world.follow("a", "b", "c", "d")

        async def go_away(proxy: Proxy) -> None:
            world.site.silent.add(proxy.name)
            world.site.silent_until = world.kit.clock.now() + 1800

        world.site.on_first = go_away
        return world, await world.run()

    world, took_s = crawl(main)
    assert len(world.pages) == 5
    assert took_s < 1800 + 120
    assert {route.session for route in world.site.routes} == {""}, "and the cookies are kept"


@pytest.mark.slow
def test_requests_that_name_a_kind_of_proxy_keep_no_others_of_their_host_waiting() -> None:
    async def main() -> tuple[World, RunSummary]:
        world = World([Proxy(scheme="http", host="p.test", port=1, kind="residential")], always=False)
        dear = [Request(f"{URL}dear{n}", fetch="http+residential") for n in range(3)]
        plain = [Request(f"{URL}plain{n}") for n in range(20)]
        world.kit.pages.yields = {URL: ExtractResult(requests=(*dear, *plain))}
        world.site.dead_until = world.kit.clock.now() + 600
        return world, await world.run()

    world, took_s = crawl(main)
    assert len(world.pages) == 24
    assert took_s < 2 * 600
    at = {row.url: row.at for result in world.kit.ledger.results for row in result.attempts}
    assert max(when for url, when in at.items() if "plain" in url) < min(at.values()) + 60


def test_a_host_that_refuses_all_proxies_but_one_that_gives_no_answer_climbs_soon() -> None:
    async def main() -> tuple[World, RunSummary]:
        world = World(make_proxies(3), ("http", "impersonate"))
        world.site.silent.add(make_proxies(3)[2].name)
        world.site.refused_rung = "http"
        return world, await world.run()

    world, took_s = crawl(main)
    assert len(world.pages) == 1
    assert took_s < 900
