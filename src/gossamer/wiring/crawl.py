"""Puts a crawl together, for its first process and for the others, and takes it apart again."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from gossamer.config import Settings
from gossamer.discovery import Target
from gossamer.disk.committer import SameFileCommitter
from gossamer.disk.lock import JobLock
from gossamer.engine.clock import SystemClock
from gossamer.engine.commit import SplitCommitter
from gossamer.engine.visit import Parts, ShiftOptions
from gossamer.extractor import results
from gossamer.fetch.guard import Guard
from gossamer.fetch.robots_cache import RobotsCache
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.policy import urls
from gossamer.spider import Spider
from gossamer.store.shared_state import SqliteSharedState
from gossamer.wiring.desk import Desk
from gossamer.wiring.files import Databases, databases_folder
from gossamer.wiring.pages import SpiderPipelines, extractor_of, fetcher_of
from gossamer.wiring.rules import admission_of, rules_of, trusted_hosts
from gossamer.words.errors import OperatorError, StorageError, UsageError
from gossamer.words.events import Event
from gossamer.words.lifecycle import JobState
from gossamer.words.model import Job, Request
from gossamer.words.ports import Committer, Sink

ALONE_IDLE_S = 1.0
CREW_IDLE_S = 0.1
"""How often a worker without work asks the frontier when other processes may add some, in seconds."""


@dataclass(frozen=True)
class Wired:
    """The parts of one crawl, and what has to be closed after it."""

    parts: Parts
    shift: ShiftOptions
    pipeline: SpiderPipelines
    desk: Desk
    resumed: bool
    closing: ExitStack
    guard: Guard

    async def seeds(self, spider: Spider) -> AsyncIterator[Request]:
        """The spider's first requests; their hosts were named by the operator and may be private.

        Raises ``UsageError`` for what the spider's ``start()`` raises or gives.
        """
        try:
            async for request in results(spider.start()):
                if not isinstance(request, Request):
                    raise UsageError(
                        f"start() of the spider {spider.name!r} gave {request!r}, which is no Request"
                    )
                self.guard.trust(urls.hostname(request.url))
                yield request
        except (OperatorError, GeneratorExit):
            raise
        except (Exception, SystemExit) as error:
            raise UsageError(
                f"start() of the spider {spider.name!r} raised {type(error).__name__}: {error}"
                f"{_place(spider, error)}"
            ) from error

    async def close(self) -> None:
        """Let go of everything, in reverse order, whatever raises on the way."""
        try:
            await self.pipeline.close()
        finally:
            try:
                await self.parts.fetcher.close()
            finally:
                self.closing.close()


async def wire(settings: Settings, target: Target, *, fresh: bool, sinks: Sequence[Sink]) -> Wired:
    """Put a crawl together: its job (an unfinished one of this target, unless ``fresh``), and its parts."""
    closing = ExitStack()
    try:
        return await _wire(settings, target, fresh=fresh, sinks=sinks, closing=closing)
    except BaseException:
        closing.close()
        raise


async def wire_member(
    settings: Settings, target: Target, job_id: str, *, trusted: Iterable[str], sinks: Sequence[Sink]
) -> Wired:
    """Put together what another process of a crawl needs, which is under way and locked by the first."""
    closing = ExitStack()
    try:
        databases = Databases(settings, create=False)
        closing.callback(databases.close)
        desk = Desk(settings, databases, SystemClock())
        job = await desk.book.get(job_id)
        if job is None:
            raise StorageError(f"there is no job {job_id} any more")
        guard = Guard((*trusted_hosts(target.spider), *trusted))
        return await _parts(settings, target, desk, job, guard, sinks=sinks, closing=closing, resumed=True)
    except BaseException:
        closing.close()
        raise


async def _wire(
    settings: Settings, target: Target, *, fresh: bool, sinks: Sequence[Sink], closing: ExitStack
) -> Wired:
    clock = SystemClock()
    databases = Databases(settings, create=True)
    closing.callback(databases.close)
    desk = Desk(settings, databases, clock)
    closing.enter_context(JobLock(databases_folder(settings), target.text))
    job, resumed = await _job(desk, target, fresh=fresh)
    guard = Guard(trusted_hosts(target.spider))
    return await _parts(settings, target, desk, job, guard, sinks=sinks, closing=closing, resumed=resumed)


async def _parts(
    settings: Settings,
    target: Target,
    desk: Desk,
    job: Job,
    guard: Guard,
    *,
    sinks: Sequence[Sink],
    closing: ExitStack,
    resumed: bool,
) -> Wired:
    clock, databases, spider = desk.clock, desk.databases, target.spider
    fetcher = fetcher_of(settings, guard, clock)
    rules = rules_of(settings, touches_network=fetcher.touches_network)
    frontier = SqliteFrontier(databases.frontier, job.id, rules, clock)
    pipeline = SpiderPipelines(target.choose)
    await pipeline.open(spider)
    parts = Parts(
        job=job,
        rules=rules,
        frontier=frontier,
        committer=_committer(databases, frontier, desk, job),
        store=desk.store,
        fetcher=fetcher,
        robots=RobotsCache(
            fetcher,
            SqliteSharedState(databases.store, clock),
            clock,
            user_agent=settings.user_agent,
            obey=settings.robots,
        ),
        extractor=extractor_of(settings, target, closing),
        pipeline=pipeline,
        admission=admission_of(settings, spider, job.key),
        sink=Fan(sinks),
        clock=clock,
    )
    shift = ShiftOptions(
        worker=f"w{os.getpid()}",
        concurrency=-(-settings.concurrency // settings.processes),
        lease_ttl_s=settings.frontier.lease_ttl,
        idle_wait_s=ALONE_IDLE_S if settings.processes == 1 else CREW_IDLE_S,
        max_redirects=settings.http.max_redirects,
    )
    return Wired(parts, shift, pipeline, desk, resumed, closing, guard)


async def _job(desk: Desk, target: Target, *, fresh: bool) -> tuple[Job, bool]:
    """The latest job of this target, unless cancelled or a fresh start is wanted; and whether it is old."""
    same = [job for job in await desk.book.list() if (job.name, job.target) == (target.name, target.text)]
    if same and same[0].state is not JobState.CANCELLED and not fresh:
        return same[0], True
    return await desk.book.create(target.name, target.text), False


def _committer(databases: Databases, frontier: SqliteFrontier, desk: Desk, job: Job) -> Committer:
    if databases.frontier is databases.store:
        return SameFileCommitter(databases.store, frontier.settle_within, desk.store.write_within, job)
    return SplitCommitter(frontier, desk.store, job)


def _place(spider: Spider, error: BaseException) -> str:
    """The line of the spider's own file that an error comes from, as far as it has one."""
    file = getattr(sys.modules.get(type(spider).__module__), "__file__", None)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if file and frame.filename == file]
    return f" ({file}, line {lines[-1]})" if lines else ""


class Fan:
    """One sink that passes events on to many."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._emits = tuple(sink.emit for sink in sinks)

    def emit(self, event: Event) -> None:
        """Pass one event on."""
        for emit in self._emits:
            emit(event)
