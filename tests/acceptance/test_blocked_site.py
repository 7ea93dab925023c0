"""A site that refuses plain clients after 50 pages by address, with ten proxies: three dead, two banned.

Whole crawls on virtual time: the frontier, workers, router, ladder, proxy pool and shared state are those of
any crawl; the site and its proxies are simulated.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from gossamer.core.errors import Fault, FetchError
from gossamer.core.events import NoticeEvent
from gossamer.core.hosts import FrontierRules
from gossamer.core.requests import Request
from gossamer.core.results import ExtractResult, FetchResult
from gossamer.core.routes import Proxy, Route
from gossamer.engine.parts import ShiftOptions
from gossamer.engine.supervisor import Supervisor
from gossamer.engine.worker import Worker
from gossamer.fetch.routing.guises import GuisePlanner
from gossamer.fetch.routing.ladder import LadderStore
from gossamer.fetch.routing.proxies import ProxyPool
from gossamer.fetch.routing.router import LadderRouter
from gossamer.fetch.sessions.pool import SessionPool
from gossamer.policy.ladder import LadderRules
from gossamer.policy.rung_plan import RungPlan
from gossamer.policy.sessions import SessionRules
from gossamer.shared.memory import MemorySharedState
from kit.engine import URL, Kit, Site, virtually

FREE = 50
"""Pages that a plain client gets from one address."""
PROXIES = [Proxy(scheme="http", host=f"p{n}.test", port=8080, kind="datacenter") for n in range(10)]
DEAD = {proxy.name for proxy in PROXIES[:3]}
BANNED = {proxy.name for proxy in PROXIES[3:5]}
CHALLENGE = (("content-type", "text/html"), ("cf-mitigated", "challenge"))
RULES = FrontierRules(delay_s=0.0, per_host=8, backoff_base_s=1.0)
PRICE = 0.25
"""What a page by the rung ``impersonate`` costs here."""


class BlockingSite(Site):
    """The site with its proxies in front of it."""

    def __init__(self, clock: Any) -> None:
        super().__init__(clock, 0.05)
        self.plain: Counter[str] = Counter()
        self.asked: list[tuple[float, Route]] = []

    async def fetch(self, request: Request, route: Any = None) -> FetchResult:
        self.asked.append((self.clock.now(), route))
        name = route.proxy.name
        if name in DEAD:
            await self.clock.sleep(0.01)
            raise FetchError(Fault.PROXY, f"{name} does not answer", rung=route.rung)
        page = await super().fetch(request)
        self.plain[name] += route.rung == "http"
        cost = PRICE if route.rung == "impersonate" else 0.0
        is_refused = name in BANNED or (route.rung == "http" and self.plain[name] > FREE)
        status, headers = (403, CHALLENGE) if is_refused else (page.status, page.headers)
        return FetchResult(
            url=page.url,
            status=status,
            headers=headers,
            body=page.body,
            started_at=page.started_at,
            latency_s=page.latency_s,
            elapsed_s=page.elapsed_s,
            rung=route.rung,
            proxy=name,
            cost=cost,
        )

    def requests_to(self, names: set[str], since: float = 0.0) -> int:
        return sum(route.proxy.name in names for at, route in self.asked if at >= since)


class World:
    """One job, and the workers that work on it."""

    def __init__(self, pages: int) -> None:
        self.kit = Kit(RULES)
        self.site = BlockingSite(self.kit.clock)
        self.shared = MemorySharedState(self.kit.clock)
        self.pages = pages
        links = tuple(Request(f"{URL}{n}") for n in range(pages - 1))
        self.kit.pages.yields = {URL: ExtractResult(requests=links)}

    def make_worker(self, number: int) -> Worker:
        kit, clock = self.kit, self.kit.clock
        guises = GuisePlanner(
            SessionPool(self.shared, clock, "t-1", SessionRules()),
            ProxyPool(PROXIES, self.shared, clock, sink=kit.events, start=number),
            always=True,
        )
        store = LadderStore(self.shared, clock, remember_s=1e6)
        plan = RungPlan(("http", "impersonate"))
        router = LadderRouter(store, plan, LadderRules(), clock, kit.events, guises=guises)
        self.parts = kit.with_parts(fetcher=self.site, router=router)
        options = ShiftOptions(random=lambda: 0.0, worker=f"w{number}", concurrency=4, idle_wait_s=0.1)
        return Worker(self.parts, options)

    async def crawl(self, workers: int = 1, *, is_killed: bool = False) -> None:
        """A run to its end, or broken off after the climb as by a kill: what is in hand is lost."""
        first, *others = [self.make_worker(number) for number in range(workers)]
        running = [asyncio.create_task(worker.run()) for worker in others]
        supervising = asyncio.create_task(
            Supervisor(self.parts, first, drain_s=5.0).run(self.kit.seeds_of(URL))
        )
        while is_killed and not self.climbs:
            await self.kit.clock.sleep(0.1)
        if is_killed:
            supervising.cancel()
        else:
            await supervising
        for worker in others:
            worker.stop()
        for task in running:
            if is_killed:
                task.cancel()
        await asyncio.gather(supervising, *running, return_exceptions=True)

    def check_pages(self) -> None:
        verdicts = self.kit.ledger.verdicts
        arrived = {url for url, verdict, _ in verdicts if verdict == "success"}
        assert len(arrived) == self.pages
        assert [verdict for _, verdict, _ in verdicts if verdict == "dead"] == []

    @property
    def climbs(self) -> list[str]:
        return [event.text for event in self.kit.events.of(NoticeEvent) if "climbs" in event.text]


def crawl_pages(pages: int, workers: int = 1) -> World:
    async def main() -> World:
        world = World(pages)
        await world.crawl(workers)
        return world

    return virtually(main)


@pytest.mark.parametrize(
    ("pages", "workers"), [(300, 1), (600, 4), pytest.param(2000, 4, marks=pytest.mark.thorough)]
)
def test_every_page_arrives_and_the_ladder_is_climbed_once(pages: int, workers: int) -> None:
    world = crawl_pages(pages, workers)
    world.check_pages()
    assert len(world.climbs) == (1 if pages > FREE * 5 else 0), world.climbs
    refused = [reason for _, _, reason in world.kit.ledger.verdicts if reason == "blocked"]
    assert len(refused) <= 100, "per address, and not per page"
    to_dead = world.site.requests_to(DEAD, since=world.site.asked[0][0] + 5.0)
    assert to_dead <= max(0.01 * len(world.site.asked), len(DEAD))
    costs = [row.cost for result in world.kit.ledger.results for row in result.attempts]
    assert sum(costs) == PRICE * sum(
        route.rung == "impersonate" for _, route in world.site.asked if route.proxy.name not in DEAD
    )


def test_what_was_learnt_before_a_kill_is_not_learnt_again() -> None:
    async def main() -> World:
        world = World(600)
        await world.crawl(2, is_killed=True)
        world.killed_at = world.kit.clock.now()
        await world.crawl(2)
        return world

    world = virtually(main)
    world.check_pages()
    assert len(world.climbs) == 1
    later = [route for at, route in world.site.asked if at >= world.killed_at]
    assert later
    assert {route.rung for route in later} == {"impersonate"}
