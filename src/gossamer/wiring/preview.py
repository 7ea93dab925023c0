"""Assembles previews of single pages: a crawl without a place for its results.

The frontier and the contents of robots.txt are in memory, and end with the command.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack, ExitStack

from msgspec.structs import replace

from gossamer.config.settings import Settings
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import Job
from gossamer.core.record import Record
from gossamer.core.requests import Entry, Request
from gossamer.engine.admission import Admission
from gossamer.engine.job_stop import JobStop
from gossamer.engine.parts import ShiftOptions, VisitParts
from gossamer.fetch.guard import AddressGuard, place_of
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.sessions.shared_cookies import SharedCookieStore
from gossamer.frontier.memory.frontier import MemoryFrontier
from gossamer.observe.log import LogSink
from gossamer.policy.scope import Scope
from gossamer.policy.traps import TrapCounter, TrapRules
from gossamer.policy.urls import UrlOptions
from gossamer.ports.clock import Clock
from gossamer.ports.extractor import Extractor
from gossamer.ports.frontier import Frontier
from gossamer.runtime.clock import SystemClock
from gossamer.shared.memory import MemorySharedState
from gossamer.targets.discovery import CrawlTarget
from gossamer.wiring.extractors import extractor_of
from gossamer.wiring.hooks import open_hooks
from gossamer.wiring.page_tasks import give_fetcher
from gossamer.wiring.pipelines import pipeline_of
from gossamer.wiring.routing import RouteParts, open_ways, robots_gate_of
from gossamer.wiring.rules import block_rules_of, rules_of
from gossamer.wiring.scope import scope_of, trusted_places, url_options_of
from gossamer.wiring.sessions import login_gate_of
from gossamer.wiring.trap_rules import trap_rules_of

WORKER = "preview"
LEASE_S = 86_400.0
"""No other worker takes a page over, however long a person's code keeps it."""


class PreviewAdmission(Admission):
    """A spider's admission that also accepts every page that a person asks for, whatever its scope is.

    The redirects of such a page are judged by the scope only where the page itself is in it.
    """

    def __init__(self, scope: Scope, options: UrlOptions, *, max_depth: int | None, traps: TrapRules) -> None:
        super().__init__(scope, options, b"", max_depth=max_depth, traps=TrapCounter(traps))
        self._open = _open_admission(options)

    def admit_request(self, request: Request) -> Entry | str:
        """Return the entry of a requested page, or of a redirect; or the reason (a short word) why not."""
        if request.redirects:
            asked_for = request.replace(url=request.redirects[0])
            if isinstance(super().admit_request(asked_for), Entry):
                return super().admit_request(request)
        return self._open.admit_request(request)


def _open_admission(options: UrlOptions) -> Admission:
    """Return an admission that accepts every URL that can be fetched."""
    unbounded = TrapRules(max_segments=None, max_repeats=None, max_same_body=None)
    return Admission(Scope(()), options, b"", traps=TrapCounter(unbounded))


class PreviewParts(Record, frozen=True):
    """The parts for visits of single pages, and the resources to close after them."""

    visit: VisitParts
    shift: ShiftOptions
    frontier: Frontier
    closing: AsyncExitStack


async def wire_preview(
    settings: Settings,
    target: CrawlTarget,
    url: str,
    authorizations: Mapping[str, str],
    *,
    extractor: Extractor | None = None,
) -> PreviewParts:
    """Assemble the parts for pages of a URL that the operator named, with values of Authorization by origin.

    ``extractor`` replaces the target's spiders, whose scope does not apply then.
    """
    async with AsyncExitStack() as opening:
        clock = SystemClock()
        guard = AddressGuard((*trusted_places(target.spider), place_of(url)))
        shared = MemorySharedState(clock)
        ways = _route_parts(settings, target, shared, clock, guard=guard, authorizations=authorizations)
        ways = replace(ways, hooks=await open_hooks(settings, target, clock, opening))
        fetcher, router = await open_ways(ways, opening)
        rules = _without_budgets(rules_of(settings, touches_network=fetcher.touches_network))
        pipeline = pipeline_of(settings, target)
        opening.push_async_callback(pipeline.close)
        admission = _open_admission(url_options_of(settings))
        if extractor is None:
            admission = _admission_of(settings, target)
            await pipeline.open_pipeline(target.spider)
            extractor = extractor_of(settings, target, opening.enter_context(ExitStack()), ways.hooks)
        parts = VisitParts(
            rules=rules,
            fetcher=fetcher,
            robots=robots_gate_of(settings, fetcher, shared, clock),
            extractor=extractor,
            pipeline=pipeline,
            admission=admission,
            clock=clock,
            blocks=block_rules_of(settings),
            router=router,
        )
        login = login_gate_of(settings, target, parts, shared, WORKER, is_alone=True)
        parts = replace(parts, login=login)
        give_fetcher(settings, target, parts)
        shift = ShiftOptions(
            worker=WORKER, concurrency=1, lease_ttl_s=LEASE_S, max_redirects=settings.http.max_redirects
        )
        return PreviewParts(parts, shift, MemoryFrontier(rules, clock), opening.pop_all())


def _route_parts(
    settings: Settings,
    target: CrawlTarget,
    shared: MemorySharedState,
    clock: Clock,
    *,
    guard: AddressGuard,
    authorizations: Mapping[str, str],
) -> RouteParts:
    """Return the parts of a crawl that begins; all that it learns ends with the command."""
    cookies = SharedCookieStore(shared, clock, WORKER, max_jars=HttpOptions().max_cookie_jars, is_alone=True)
    return RouteParts(
        settings=settings,
        target=target,
        shared=shared,
        clock=clock,
        job=Job(id=WORKER, name=WORKER, target=WORKER, created_at=clock.now()),
        guard=guard,
        cookies=cookies,
        sink=LogSink(),
        worker=WORKER,
        stop=JobStop(shared, WORKER),
        authorizations=authorizations,
    )


def _admission_of(settings: Settings, target: CrawlTarget) -> Admission:
    traps = trap_rules_of(settings)
    scope, options = scope_of(settings, target.spider), url_options_of(settings)
    return PreviewAdmission(scope, options, max_depth=settings.max_depth, traps=traps)


def _without_budgets(rules: FrontierRules) -> FrontierRules:
    """Return the rules without budgets, which do not apply to a person's pages."""
    return replace(rules, max_pages=None, max_pages_per_host=None, max_depth=None)
