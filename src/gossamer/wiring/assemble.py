"""Puts a crawl together, for its first process and for the others, and takes it apart again."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack

from msgspec.structs import replace

from gossamer.callbacks.extractor import results_of
from gossamer.callbacks.pipelines import SpiderPipeline
from gossamer.config.live import with_changes
from gossamer.config.settings import Settings
from gossamer.core.errors import JobBusyError, OperatorError, StorageError, UsageError
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import Job, tag_of
from gossamer.core.lifecycle import JobState
from gossamer.core.record import Record
from gossamer.core.requests import Request
from gossamer.core.steering import SettingChange
from gossamer.engine.parts import EngineParts, ShiftOptions
from gossamer.engine.store_then_settle import SplitCommitter
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.robots_cache import RobotsCache
from gossamer.fetch.sessions.shared_cookies import SharedCookieStore
from gossamer.fetch.trusted_hosts import TrustedHosts
from gossamer.observe.multi_sink import MultiSink
from gossamer.policy import urls
from gossamer.policy.credentials import authorizations_for
from gossamer.ports.committer import Committer
from gossamer.ports.fetcher import Fetcher
from gossamer.ports.frontier import Frontier
from gossamer.ports.login_gate import LoginGate
from gossamer.ports.sink import Sink
from gossamer.ports.work_watcher import WorkWatcher
from gossamer.runtime.process_name import worker_name
from gossamer.spiders.spider import Spider
from gossamer.targets.discovery import CrawlTarget
from gossamer.targets.launch import launch_from, overridden_by
from gossamer.wiring.backends import Backends, open_backends
from gossamer.wiring.extractors import extractor_of
from gossamer.wiring.metrics import watched_committer
from gossamer.wiring.page_tasks import screenshots_of
from gossamer.wiring.routing import RouteParts, open_ways
from gossamer.wiring.rules import admission_of, block_rules_of, lanes_of, rules_of, trusted_hosts
from gossamer.wiring.sessions import SessionCommitter, login_gate_of
from gossamer.wiring.sinks import open_sinks
from gossamer.wiring.traces import traced_parts

ALONE_IDLE_S = 1.0
CREW_IDLE_S = 0.1
"""How often a worker without work asks the frontier when other processes may add some, in seconds."""


class CrawlParts(Record, frozen=True):
    """The parts of one crawl, and what has to be closed after it."""

    parts: EngineParts
    shift: ShiftOptions
    pipeline: SpiderPipeline
    backends: Backends
    resumed: bool
    closing: AsyncExitStack
    guard: AddressGuard
    authorizations: Mapping[str, str]  # for the origins of start URLs with user and password
    settings: Settings  # with what a person changed of the job
    changes: tuple[SettingChange, ...] = ()
    watchers: tuple[WorkWatcher, ...] = ()  # sinks that want to know how the worker does, too

    def __repr__(self) -> str:  # without the authorizations
        return f"<CrawlParts of {self.parts.job.id}>"

    async def seeds_of(self, spider: Spider) -> AsyncIterator[Request]:
        """The spider's first requests; their hosts were named by the operator and may be private.

        Raises ``UsageError`` for what the spider's ``start()`` raises or gives.
        """
        try:
            async for request in results_of(spider.start()):
                if not isinstance(request, Request):
                    raise UsageError(
                        f"start() of the spider {spider.name!r} gave {request!r}, which is not a Request"
                    )
                self._check_credentials(spider, request.url)
                self.guard.trust_host(urls.hostname_of(request.url))
                yield request
        except (OperatorError, GeneratorExit):
            raise
        except (Exception, SystemExit) as error:
            raise UsageError(
                f"start() of the spider {spider.name!r} raised {type(error).__name__}: {error}"
                f"{_line_of(spider, error)}"
            ) from error

    def _check_credentials(self, spider: Spider, url: str) -> None:
        """Raise ``UsageError`` for a user and a password that would be dropped in silence."""
        for origin in authorizations_for([url]):
            if origin not in self.authorizations:
                raise UsageError(
                    f"start() of the spider {spider.name!r} gave a URL with user and password at {origin}: "
                    "write it into start_urls, or give the Request headers with an Authorization"
                )

    async def close(self) -> None:
        """Let go of everything, in reverse order, whatever raises on the way."""
        await self.closing.aclose()


async def wire_crawl(
    settings: Settings, target: CrawlTarget, *, fresh: bool, sinks: Sequence[Sink], launch: bytes = b""
) -> CrawlParts:
    """Put a crawl together: its job (an unfinished one of this target, unless ``fresh``), and its parts.

    Events go to ``sinks`` and to those that the settings name. ``launch`` is how it is begun, for whoever
    lets it go on.
    """
    async with AsyncExitStack() as opening:
        backends = await open_backends(settings, create=True)
        opening.push_async_callback(backends.close)
        await opening.enter_async_context(backends.requests.lock_target(target.text))
        job, resumed = await _choose_job(backends, target, fresh=fresh)
        changes = await _take_up_changes(backends, job, launch)
        settings = with_changes(settings, {change.key: change.value for change in changes})
        more = opening.enter_context(open_sinks(settings))
        wired = await assemble_worker(settings, target, backends, job, sinks=(*sinks, *more), resumed=resumed)
        watchers = tuple(sink for sink in more if isinstance(sink, WorkWatcher))
        return replace(_closed_with(wired, opening), changes=changes, watchers=watchers)


async def _take_up_changes(backends: Backends, job: Job, launch: bytes) -> tuple[SettingChange, ...]:
    """What a person changed of a job, but for settings that whoever runs it now says in another way."""
    changes = await backends.book.read_changes(job)
    new = launch_from(launch)
    if new is None:
        return changes
    former = launch_from(await backends.book.read_launch(job))
    said = overridden_by(new, former)
    if stale := [change.key for change in changes if change.key in said]:
        await backends.book.save_changes(job, (), stale)
    await backends.book.save_launch(job, launch)
    return tuple(change for change in changes if change.key not in said)


async def wire_member(
    settings: Settings, target: CrawlTarget, job_id: str, *, trusted: Iterable[str], sinks: Sequence[Sink]
) -> CrawlParts:
    """Put together what another process of a crawl needs, which is under way and locked by the first."""
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
) -> CrawlParts:
    """The parts of a worker over back ends that stay open.

    ``trusted``: hosts that the operator named elsewhere. ``owner``: the fleet's shift that holds its leases.
    """
    async with AsyncExitStack() as opening:
        guard = _make_guard(settings, target, trusted)
        ways = _route_parts(settings, target, backends, job, guard=guard, sinks=sinks, owner=owner)
        fetcher, router = await open_ways(ways, opening)
        rules = rules_of(settings, touches_network=fetcher.touches_network)
        frontier, committer = await _open_frontier(backends, job, rules, ways.worker, is_new=not resumed)
        pipeline = await _open_pipeline(settings, target, opening)
        parts = EngineParts(
            job=job,
            rules=rules,
            frontier=frontier,
            committer=watched_committer(SessionCommitter(committer, ways.cookies), sinks),
            store=backends.store,
            series=backends.series,
            fetcher=fetcher,
            robots=_make_robots_gate(settings, fetcher, backends),
            extractor=extractor_of(settings, target, opening.enter_context(ExitStack())),
            pipeline=pipeline,
            admission=admission_of(settings, target.spider, job.key, ways.lanes, router),
            sink=ways.sink,
            clock=backends.clock,
            blocks=block_rules_of(settings),
            router=router,
            screenshots=screenshots_of(settings, job),
        )
        parts = traced_parts(settings.traces, replace(parts, login=_open_login(ways, parts)))
        shift, kept = _shift_options(settings, ways.worker, is_alone=ways.is_alone), opening.pop_all()
        return CrawlParts(
            parts, shift, pipeline, backends, resumed, kept, guard, target.authorizations, settings
        )


def _make_guard(settings: Settings, target: CrawlTarget, trusted: Iterable[str]) -> AddressGuard:
    """What keeps the crawl out of private networks, but for hosts that the operator named."""
    is_strict = settings.http.private_hosts == "none"
    return AddressGuard((*trusted_hosts(target.spider), *trusted), is_strict=is_strict)


def _route_parts(
    settings: Settings,
    target: CrawlTarget,
    backends: Backends,
    job: Job,
    *,
    guard: AddressGuard,
    sinks: Sequence[Sink],
    owner: str,
) -> RouteParts:
    is_alone = settings.processes == 1 and not owner
    shared = backends.requests.shared
    return RouteParts(
        settings=settings,
        target=target,
        shared=shared,
        clock=backends.clock,
        job=job,
        guard=guard,
        cookies=_open_cookies(backends, job, is_alone=is_alone),
        sink=MultiSink(sinks),
        worker=owner or worker_name(os.getpid()),
        authorizations=target.authorizations,
        trust=TrustedHosts(shared, job) if owner else None,
        lanes=lanes_of(settings, job),
        is_alone=is_alone,
    )


def _open_cookies(backends: Backends, job: Job, *, is_alone: bool) -> SharedCookieStore:
    """The cookies of a job, which its workers share; one that works alone need not look for others'."""
    return SharedCookieStore(
        backends.requests.shared,
        backends.clock,
        tag_of(job),
        max_jars=HttpOptions().max_cookie_jars,
        is_alone=is_alone,
    )


def _open_login(ways: RouteParts, parts: EngineParts) -> LoginGate | None:
    """What logs sessions in, with the cookies of the job; ``None`` where no spider logs in."""
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
) -> tuple[Frontier, Committer]:
    """A worker's frontier, and what commits the results of its visits to it and to the store."""
    if is_new:
        await backends.requests.create_frontier(job, rules)
    frontier, joint = backends.requests.open_for_worker(job, rules, owner=worker)
    return frontier, SplitCommitter(frontier, backends.store, job) if joint is None else joint


async def _open_pipeline(settings: Settings, target: CrawlTarget, opening: AsyncExitStack) -> SpiderPipeline:
    """The pipelines of the target's spiders; that of its own spider is open already."""
    pipeline = SpiderPipeline(target.choose, timeout_s=settings.parse.callback_timeout)
    opening.push_async_callback(pipeline.close)
    await pipeline.open_pipeline(target.spider)
    return pipeline


def _make_robots_gate(settings: Settings, fetcher: Fetcher, backends: Backends) -> RobotsCache:
    return RobotsCache(
        fetcher,
        backends.requests.shared,
        backends.clock,
        user_agent=settings.user_agent,
        obey=settings.robots,
    )


def _shift_options(settings: Settings, worker: str, *, is_alone: bool) -> ShiftOptions:
    return ShiftOptions(
        worker=worker,
        concurrency=-(-settings.concurrency // settings.processes),
        lease_ttl_s=settings.frontier.lease_ttl,
        idle_wait_s=ALONE_IDLE_S if is_alone else CREW_IDLE_S,
        max_redirects=settings.http.max_redirects,
    )


def _closed_with(wired: CrawlParts, outer: AsyncExitStack) -> CrawlParts:
    """The same, which lets go of what is in ``outer`` after its own."""
    outer.push_async_exit(wired.closing)
    return replace(wired, closing=outer.pop_all())


async def _choose_job(backends: Backends, target: CrawlTarget, *, fresh: bool) -> tuple[Job, bool]:
    """The latest job of this target, unless cancelled or a fresh start is wanted; and whether it is old.

    Those of the fleet are the fleet's. Raises ``JobBusyError`` while it is at one of this target.
    """
    same = [
        job for job in await backends.book.list_jobs() if (job.name, job.target) == (target.name, target.text)
    ]
    for job in same:
        if job.is_fleet and job.is_unfinished:
            raise JobBusyError(
                f"{job.id} is a job of the fleet: `gossamer wait {job.id}` follows it, "
                f"`gossamer cancel {job.id}` ends it"
            )
    own = [job for job in same if not job.is_fleet]
    if own and own[0].state is not JobState.CANCELLED and not fresh:
        return own[0], True
    return await backends.book.create(target.name, target.text), False


def _line_of(spider: Spider, error: BaseException) -> str:
    """The line of the spider's own file that an error comes from, as far as it has one."""
    file = getattr(sys.modules.get(type(spider).__module__), "__file__", None)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if file and frame.filename == file]
    return f" ({file}, line {lines[-1]})" if lines else ""
