"""Puts a crawl together, for its first process and for the others, and takes it apart again."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, ExitStack
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from gossamer.callbacks.pipelines import SpiderPipeline
from gossamer.config.live import with_changes
from gossamer.config.settings import Settings
from gossamer.core.errors import OperatorError, StorageError, UsageError
from gossamer.core.foreign import ForeignItem
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import Job, tag_of
from gossamer.core.record import Record
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.shifts import EXTRACT_LANE, PAGE_LANE
from gossamer.core.steering import SettingChange
from gossamer.core.text import describe_error
from gossamer.engine.admission import Admission
from gossamer.engine.job_stop import JobStop, begin_next_run
from gossamer.engine.parts import EngineParts, ShiftOptions
from gossamer.engine.store_then_settle import SplitCommitter
from gossamer.engine.trap_meter import TrapMeter
from gossamer.fetch.guard import AddressGuard, place_of
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.sessions.shared_cookies import SharedCookieStore
from gossamer.fetch.trusted_hosts import TrustedHosts
from gossamer.observe.multi_sink import MultiSink
from gossamer.ports.committer import Committer
from gossamer.ports.fetcher import Fetcher
from gossamer.ports.job_frontier import AdminFrontier
from gossamer.ports.login_gate import LoginGate
from gossamer.ports.router import Router
from gossamer.ports.sink import Sink
from gossamer.ports.work_watcher import WorkWatcher
from gossamer.runtime.callback_results import results_of
from gossamer.runtime.process_name import worker_name
from gossamer.runtime.user_code import describe_line
from gossamer.spiders.spider import Spider
from gossamer.targets.discovery import CrawlTarget
from gossamer.targets.start_url import describe_seed
from gossamer.wiring.backends import Backends, open_backends
from gossamer.wiring.budgets import open_meter
from gossamer.wiring.committers import wrap_committer
from gossamer.wiring.extractors import extractor_of
from gossamer.wiring.fetchers import touches_network
from gossamer.wiring.hooks import open_hooks
from gossamer.wiring.job_choice import choose_job, recorded_failure, take_up_changes
from gossamer.wiring.metrics import watched_committer
from gossamer.wiring.page_tasks import add_keepers, due_requests, screenshots_of
from gossamer.wiring.pipelines import pipeline_of
from gossamer.wiring.routing import RouteParts, begin_spending, open_ways, robots_gate_of
from gossamer.wiring.rules import block_rules_of, check_deferral, is_deferred, page_lanes_of, rules_of
from gossamer.wiring.scope import admission_of, trusted_places
from gossamer.wiring.sessions import login_gate_of
from gossamer.wiring.sinks import open_sinks, sinks_of
from gossamer.wiring.start_items import store_start_item
from gossamer.wiring.traces import traced_parts
from gossamer.wiring.traps import open_traps

if TYPE_CHECKING:
    from gossamer.callbacks.hooks import SpiderHooks
    from gossamer.wiring.archives import JobArchive

ALONE_IDLE_S = 1.0
CREW_IDLE_S = 0.1
"""How often a worker without work asks the frontier when other processes may add some, in seconds."""


class CrawlParts(Record, frozen=True):
    """The parts of one crawl, and the resources to close after it."""

    parts: EngineParts
    shift: ShiftOptions
    pipeline: SpiderPipeline
    backends: Backends
    resumed: bool
    closing: AsyncExitStack
    guard: AddressGuard
    settings: Settings  # with the changes that a person made to the job
    stop: JobStop  # ends the job's run
    archive: JobArchive | None = None  # of this process
    hooks: SpiderHooks | None = None  # hooks of requests and responses
    changes: tuple[SettingChange, ...] = ()
    watchers: tuple[WorkWatcher, ...] = ()  # sinks that also watch the worker

    def __repr__(self) -> str:  # without the authorizations
        return f"<CrawlParts of {self.parts.job.id}>"

    async def seeds_of(self, spider: Spider, method: str = "start") -> AsyncIterator[Request]:
        """Yield the requests of a spider's method, and trust their hosts: the operator named them.

        Items of other frameworks are stored. Raises ``UsageError`` if the method raises, or yields anything
        else.
        """
        try:
            given: AsyncIterator[Any] = results_of(getattr(spider, method)())
            if self.hooks is not None and method == "start":
                given = self.hooks.pass_start(spider, given)
            async for request in given:
                if isinstance(request, ForeignItem):
                    pipeline = await self.pipeline.open_pipeline(spider)
                    await store_start_item(request, self.parts, pipeline)
                    continue
                if not isinstance(request, Request):
                    older = method == "start" and hasattr(spider, "start_requests")
                    name = "start_requests" if older else method
                    raise UsageError(describe_seed(spider.name, name, request))
                self.guard.trust_place(place_of(request.url))
                yield request
        except UsageError as error:
            if not (where := describe_line(spider, error)):
                raise
            raise UsageError(f"{method}() of the spider {spider.name!r}: {error}{where}") from error
        except (OperatorError, GeneratorExit):
            raise
        except (Exception, SystemExit) as error:
            raise UsageError(
                f"{method}() of the spider {spider.name!r} raised {describe_error(error)}"
                f"{describe_line(spider, error)}"
            ) from error

    def due_requests(self) -> AsyncIterator[Request]:
        """Yield the requests of known pages that are due in a re-crawl. Their hosts are not trusted."""
        return due_requests(self.settings, self.backends, self.parts)

    async def close_steps(self) -> list[str]:
        """Close pipelines and hooks; tracebacks of those that fail. Idempotent."""
        await self.pipeline.close()
        if self.hooks is None:
            return self.pipeline.failures
        await self.hooks.close()
        return [*self.pipeline.failures, *self.hooks.failures]

    async def close(self) -> None:
        """Let go of everything, in reverse order, whatever raises on the way."""
        await self.closing.aclose()


async def wire_crawl(
    settings: Settings,
    target: CrawlTarget,
    *,
    fresh: bool,
    sinks: Sequence[Sink],
    launch: bytes = b"",
    key: bytes = b"",
    before: Callable[[Backends], Awaitable[None]] | None = None,
) -> CrawlParts:
    """Assemble a crawl: its job and its parts.

    The job is that of ``key``, or an unfinished one of this target unless ``fresh``, or a new one. Events are
    sent to ``sinks`` and to the sinks of the settings. ``launch`` describes the start, so that another
    process can resume the job. ``before`` runs before the job is chosen.
    """
    check_deferral(settings, is_fleet=False)
    async with AsyncExitStack() as opening:
        backends = await open_backends(settings, create=True)
        opening.push_async_callback(backends.close)
        if before is not None:
            await before(backends)
        await opening.enter_async_context(backends.requests.lock_target(target.text))
        goes_back = settings.freshness.recrawl != "off"
        job, resumed = await choose_job(backends, target, fresh=fresh, goes_back=goes_back, key=key)
        await begin_next_run(backends.requests.shared, job)
        async with recorded_failure(backends, job, resumed=resumed, is_watched=not key):
            changes = await take_up_changes(backends, job, launch)
            settings = with_changes(settings, {change.key: change.value for change in changes})
            more = opening.enter_context(open_sinks(settings))
            wired = await assemble_worker(
                settings, target, backends, job, sinks=(*sinks, *more), resumed=resumed
            )
        watchers = tuple(sink for sink in more if isinstance(sink, WorkWatcher))
        return replace(_closed_with(wired, opening), changes=changes, watchers=watchers)


async def wire_member(
    settings: Settings, target: CrawlTarget, job_id: str, *, trusted: Iterable[str], sinks: Sequence[Sink]
) -> CrawlParts:
    """Assemble a further process of a crawl that the first process has started and locked."""
    async with AsyncExitStack() as opening:
        backends = await open_backends(settings)
        opening.push_async_callback(backends.close)
        job = await backends.book.get(job_id)
        if job is None:
            raise StorageError(f"there is no longer a job {job_id}")
        wired = await assemble_worker(
            settings, target, backends, job, trusted=trusted, sinks=sinks, resumed=True
        )
        return _closed_with(wired, opening)


async def assemble_worker(
    settings: Settings,
    target: CrawlTarget,
    backends: Backends,
    job: Job,
    *,
    sinks: Sequence[Sink],
    resumed: bool,
    trusted: Iterable[str] = (),
    owner: str = "",
    lane: str = PAGE_LANE,
) -> CrawlParts:
    """Assemble a worker of a lane over back ends that stay open; ``owner`` is the fleet's shift."""
    is_extracting = lane == EXTRACT_LANE
    async with AsyncExitStack() as opening:
        ways = _route_parts(settings, target, backends, job, trusted=trusted, sinks=sinks, owner=owner)
        ways, fetcher, router = await _open_ways(ways, job, opening, is_extracting=is_extracting)
        rules = rules_of(settings, touches_network=touches_network(settings))
        frontier, committer = await _open_frontier(backends, job, rules, ways.worker, is_new=not resumed)
        meter = await open_traps(ways, backends, opening)
        pipeline = await _open_pipeline(settings, target, opening)
        parts = EngineParts(
            job=job,
            rules=rules,
            frontier=frontier,
            committer=watched_committer(wrap_committer(committer, ways, meter), sinks),
            store=backends.store,
            series=backends.series,
            fetcher=fetcher,
            robots=robots_gate_of(settings, fetcher, backends.requests.shared, backends.clock),
            extractor=extractor_of(settings, target, opening.enter_context(ExitStack()), ways.hooks),
            pipeline=pipeline,
            admission=_make_admission(ways, router, meter),
            sink=ways.sink,
            clock=backends.clock,
            blocks=block_rules_of(settings),
            router=router,
            screenshots=screenshots_of(settings, job),
            defers_page=None if is_extracting else _page_deferral(settings, target, job),
            is_extracting=is_extracting,
        )
        parts = traced_parts(settings.traces, replace(parts, login=_open_login(ways, parts)))
        parts = await add_keepers(settings, target, backends, parts)
        rest = (resumed, opening.pop_all(), ways.guard, settings, ways.stop)
        return CrawlParts(parts, _shift_options(ways), pipeline, backends, *rest, ways.archive, ways.hooks)


async def _open_ways(
    ways: RouteParts, job: Job, opening: AsyncExitStack, *, is_extracting: bool
) -> tuple[RouteParts, Fetcher, Router]:
    await ways.stop.begin()
    await begin_spending(ways, opening)
    ways = replace(ways, hooks=await open_hooks(ways.settings, ways.target, ways.clock, opening))
    if is_extracting:
        return ways, *await _deferral().open_archived_ways(ways, opening)
    ways = replace(ways, archive=await _open_archive(ways.settings, job, opening))
    return ways, *await open_ways(ways, opening)


def _page_deferral(
    settings: Settings, target: CrawlTarget, job: Job
) -> Callable[[Request, FetchResult], bool] | None:
    """Return the test for pages that other workers parse; ``None``: the fetching worker parses them all."""
    return _deferral().page_deferral_of(target) if is_deferred(settings, job) else None


def _deferral() -> ModuleType:
    """Import deferred extraction, which few crawls use."""
    return import_module("gossamer.wiring.deferred")


async def _open_archive(settings: Settings, job: Job, opening: AsyncExitStack) -> JobArchive | None:
    """Open the archive of the job's responses, if the settings ask for it."""
    if not settings.archive.is_on:
        return None
    archive: JobArchive = await import_module("gossamer.wiring.archives").open_archive(settings, job)
    opening.push_async_callback(archive.close)
    return archive


def _make_guard(settings: Settings, target: CrawlTarget, trusted: Iterable[str]) -> AddressGuard:
    """Return the guard that blocks private networks, except for the hosts that the operator named."""
    is_strict = settings.http.private_hosts == "none"
    return AddressGuard((*trusted_places(target.spider), *trusted), is_strict=is_strict)


def _route_parts(
    settings: Settings,
    target: CrawlTarget,
    backends: Backends,
    job: Job,
    *,
    trusted: Iterable[str],
    sinks: Sequence[Sink],
    owner: str,
) -> RouteParts:
    is_alone = settings.processes == 1 and not owner
    if not is_alone:
        target.spider.share_work()
    if settings.replay.job:
        target.spider.keep_no_state()
    shared, worker = backends.requests.shared, owner or worker_name(os.getpid())
    return RouteParts(
        settings=settings,
        target=target,
        shared=shared,
        clock=backends.clock,
        job=job,
        guard=_make_guard(settings, target, trusted),
        cookies=_open_cookies(backends, job, is_alone=is_alone),
        sink=MultiSink((*sinks, *sinks_of(target.spider))),
        worker=worker,
        stop=JobStop(shared, tag_of(job)),
        authorizations=target.authorizations,
        trust=TrustedHosts(shared, job),
        lanes=page_lanes_of(settings, job),
        is_alone=is_alone,
        spending=open_meter(settings, shared, backends.clock, job, worker),
    )


def _open_cookies(backends: Backends, job: Job, *, is_alone: bool) -> SharedCookieStore:
    """Open the cookies of a job, which its workers share; a single worker does not look for others'."""
    return SharedCookieStore(
        backends.requests.shared,
        backends.clock,
        tag_of(job),
        max_jars=HttpOptions().max_cookie_jars,
        is_alone=is_alone,
    )


def _open_login(ways: RouteParts, parts: EngineParts) -> LoginGate | None:
    """Return the gate that logs sessions in; ``None`` if no spider logs in."""
    return login_gate_of(
        ways.settings,
        ways.target,
        parts,
        ways.shared,
        tag_of(parts.job),
        save_cookies=ways.cookies.save_cookies,
        is_alone=ways.is_alone,
        is_fleet=parts.job.is_fleet,
    )


async def _open_frontier(
    backends: Backends, job: Job, rules: FrontierRules, worker: str, *, is_new: bool
) -> tuple[AdminFrontier, Committer]:
    """Open a worker's frontier, and the committer of its results to the frontier and the store."""
    if is_new:
        await backends.requests.create_frontier(job, rules)
    frontier, joint = backends.requests.open_for_worker(job, rules, owner=worker)
    return frontier, SplitCommitter(frontier, backends.store, job) if joint is None else joint


async def _open_pipeline(settings: Settings, target: CrawlTarget, opening: AsyncExitStack) -> SpiderPipeline:
    """Open the pipelines of the target's spiders; that of its own spider at once."""
    pipeline = pipeline_of(settings, target)
    opening.push_async_callback(pipeline.close)
    await pipeline.open_pipeline(target.spider)
    return pipeline


def _make_admission(ways: RouteParts, router: Router, meter: TrapMeter | None) -> Admission:
    return admission_of(
        ways.settings,
        ways.target.spider,
        ways.job.key,
        ways.lanes,
        router,
        meter=meter,
        spending=ways.spending,
        clock=ways.clock,
        authorized=ways.authorizations.keys(),
    )


def _shift_options(ways: RouteParts) -> ShiftOptions:
    settings = ways.settings
    return ShiftOptions(
        worker=ways.worker,
        concurrency=-(-settings.concurrency // settings.processes),
        lease_ttl_s=settings.frontier.lease_ttl,
        idle_wait_s=ALONE_IDLE_S if ways.is_alone else CREW_IDLE_S,
        max_redirects=settings.http.max_redirects,
        follows_loops=ways.target.spider.follows_loops,
    )


def _closed_with(wired: CrawlParts, outer: AsyncExitStack) -> CrawlParts:
    """Return the parts, which then also close the resources of ``outer``."""
    outer.push_async_exit(wired.closing)
    return replace(wired, closing=outer.pop_all())
