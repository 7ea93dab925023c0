"""By which way each request is fetched: from the settings and the spider to the router of a crawl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from gossamer.config.settings import Settings
from gossamer.core.errors import MissingServiceError
from gossamer.core.jobs import Job
from gossamer.core.record import Record
from gossamer.core.requests import Request
from gossamer.core.rungs import AUTO, BROWSER_WAY, way_of
from gossamer.core.shifts import BROWSER_LANE, PAGE_LANE
from gossamer.engine.fixed_router import FixedRouter
from gossamer.engine.job_stop import JobStop
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.robots_cache import RobotsCache
from gossamer.fetch.routing.budgeted import BudgetFetcher, BudgetRouter
from gossamer.fetch.routing.dispatch import RoutedFetcher
from gossamer.fetch.routing.spending import SpendingMeter
from gossamer.fetch.sessions.shared_cookies import SharedCookieStore
from gossamer.fetch.trusted_hosts import TrustedHosts, TrustingFetcher
from gossamer.policy.domains import find_domain
from gossamer.policy.rung_plan import RungPlan
from gossamer.ports.clock import Clock
from gossamer.ports.fetcher import Fetcher
from gossamer.ports.router import Router
from gossamer.ports.shared_state import SharedState
from gossamer.ports.sink import Sink
from gossamer.spiders.spider import Spider
from gossamer.targets.discovery import CrawlTarget
from gossamer.wiring.fetchers import fetcher_of, touches_network
from gossamer.wiring.hooks import with_request_hooks, with_response_hooks
from gossamer.wiring.page_tasks import guide_of
from gossamer.wiring.sessions import SessionFetcher, has_identities

if TYPE_CHECKING:
    from gossamer.callbacks.hooks import SpiderHooks
    from gossamer.fetch.routing.proxies import ProxyPool
    from gossamer.wiring.archives import JobArchive


class RouteParts(Record, frozen=True, kw_only=True):
    """The parts that fetching and routes are assembled from."""

    settings: Settings
    target: CrawlTarget
    shared: SharedState
    clock: Clock
    job: Job
    guard: AddressGuard
    cookies: SharedCookieStore
    sink: Sink
    worker: str
    stop: JobStop  # ends the job's run
    authorizations: Mapping[str, str]  # by origin
    trust: TrustedHosts | None = None  # the hosts that a fleet's workers share; None: there is one worker
    lanes: Sequence[str] = (PAGE_LANE,)
    is_alone: bool = True
    archive: JobArchive | None = None  # keeps every response; None: they are not kept
    spending: SpendingMeter | None = None  # counts the spending of the job; None: it has no budget
    proxies: ProxyPool | None = None  # those that the settings name; None: they name none
    hooks: SpiderHooks | None = None  # hooks of requests and responses; None: no spider has any

    def __repr__(self) -> str:  # without the authorizations
        return f"<RouteParts of {self.job.id}>"


async def begin_spending(parts: RouteParts, opening: AsyncExitStack) -> None:
    """Count the job's spending from now on, and save the rest at the end."""
    if parts.spending is not None:
        opening.push_async_callback(parts.spending.save)
        await parts.spending.begin(is_alone=parts.is_alone)


async def open_ways(parts: RouteParts, opening: AsyncExitStack) -> tuple[Fetcher, Router]:
    """Open the fetcher with the job's cookies, and the router; ``opening`` closes both."""
    by_way = fetcher_of(
        parts.settings,
        parts.guard,
        parts.clock,
        cookies=parts.cookies,
        authorizations=parts.authorizations,
        guide=guide_of(parts.settings, parts.target),
    )
    ways: Fetcher = by_way
    if parts.settings.proxies.are_there:
        parts, ways = await import_module("gossamer.wiring.ladder").compare_proxies(parts, by_way)
    own: Fetcher = SessionFetcher(ways, parts.cookies)
    if parts.trust is not None:
        own = TrustingFetcher(own, parts.guard, parts.trust)
    own = with_request_hooks(own, parts.hooks)
    if parts.settings.domain and own.touches_network:
        own = _domains_room().with_domains(own, parts.settings, parts.cookies, parts.clock)
    if parts.settings.cache.on and own.touches_network and not parts.job.is_fleet:
        room = import_module("gossamer.wiring.cache")  # with the archive, which most crawls do without
        own = await room.open_cache(parts.settings, parts.target, parts.job, parts.clock, own)
    if parts.archive is not None:
        own = parts.archive.wrap_fetcher(own)
    if parts.spending is not None:
        own = BudgetFetcher(own, parts.spending)
    fetcher = with_response_hooks(own, parts.hooks)
    opening.push_async_callback(fetcher.close)
    plan = plan_of(parts.settings, parts.target)
    router = await open_router(parts, plan, open_rungs(by_way, plan, parts.lanes))
    if parts.spending is not None:
        router = BudgetRouter(router, parts.spending)
    opening.push_async_callback(router.close)
    return fetcher, router


def plan_of(settings: Settings, target: CrawlTarget) -> RungPlan:
    """Return the plan of rungs by the settings and the target's spiders."""
    ladder = settings.ladder
    by_callback = rungs_by_callback(target.spider)

    def rung_of_callback(request: Request) -> str:
        own = rungs_by_callback(target.choose(request))
        return own.get(request.callback or "parse", "")

    return RungPlan(
        ladder.rungs,
        choice=settings.fetch,
        hosts={**_rungs_by_domain(settings), **ladder.hosts},
        by_callback=rung_of_callback if by_callback else None,
        named=by_callback.values(),
    )


def _rungs_by_domain(settings: Settings) -> dict[str, str | tuple[str, ...]]:
    """Return the rungs that the settings name for single domains: the ladder's, if it has any.

    A domain without rungs is listed if it is below one with rungs, which do not apply to it.
    """
    named = {domain.lower(): own.fetch for domain, own in settings.domain.items() if own.fetch is not None}
    below = {domain for domain in settings.domain if find_domain(named, domain.lower()) is not None}
    said = {domain: settings.domain[domain].fetch or settings.fetch for domain in below}
    return {domain: settings.ladder.rungs if fetch == AUTO else fetch for domain, fetch in said.items()}


def robots_gate_of(settings: Settings, fetcher: Fetcher, shared: SharedState, clock: Clock) -> RobotsCache:
    """Return the gate of robots.txt, if the settings want one."""
    room = _domains_room() if settings.domain else None
    return RobotsCache(
        fetcher,
        shared,
        clock,
        user_agent=settings.user_agent if room is None else room.agent_at(settings),
        obey=settings.robots if room is None else room.obeys_at(settings),
        retry_after_cap_s=settings.retry_after_cap,
    )


def _domains_room() -> ModuleType:
    """Import the settings of single domains, which most crawls do not have."""
    return import_module("gossamer.wiring.domains")


def rungs_by_callback(spider: Spider) -> Mapping[str, str]:
    """Return the rungs that a spider names for its callbacks."""
    return spider.fetch if isinstance(spider.fetch, Mapping) else {}


def open_rungs(fetcher: Fetcher, plan: RungPlan, lanes: Sequence[str]) -> dict[str, MissingServiceError]:
    """Open all ways that the plan names; why some cannot be used that a ladder can do without.

    Raises ``MissingServiceError`` before the first page for one that it cannot do without. Browsers that have
    a lane of their own are opened by the workers that need them.
    """
    if not isinstance(fetcher, RoutedFetcher):
        return {}
    elsewhere = {BROWSER_WAY} if BROWSER_LANE in lanes else set()
    named = {way_of(rung) for rung in plan.named_rungs} - elsewhere
    spare = {way_of(rung) for rung in plan.all_rungs} - elsewhere - named
    for way in sorted(named):
        fetcher.open_way(way)
    missing: dict[str, MissingServiceError] = {}
    for way in sorted(spare):
        try:
            fetcher.open_way(way)
        except MissingServiceError as error:
            missing[way] = error
    for ladder in (*([plan.rungs] if plan.climbs else []), *plan.host_ladders):
        if all(way_of(rung) in missing for rung in ladder):
            raise missing[way_of(ladder[0])]
    return missing


async def open_router(
    parts: RouteParts, plan: RungPlan, missing: Mapping[str, MissingServiceError]
) -> Router:
    """Open the router of a crawl: one that learns nothing if there is only one choice.

    Raises the errors of reading the lists of proxies.
    """
    if is_routed_simply(parts, plan):
        return FixedRouter(is_only=not touches_network(parts.settings))
    ladder = import_module("gossamer.wiring.ladder")  # plain crawls do not use it
    router: Router = await ladder.open_ladder_router(parts, plan, missing)
    return router


def is_routed_simply(parts: RouteParts, plan: RungPlan) -> bool:
    """Whether nothing is to be chosen or learnt: plain HTTP, straight from here, as one visitor."""
    settings = parts.settings
    is_plain = plan.is_plain and not settings.proxies.are_there and not has_identities(settings)
    return not touches_network(settings) or (is_plain and BROWSER_LANE not in parts.lanes)
