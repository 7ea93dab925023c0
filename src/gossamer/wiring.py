"""The only place that names concrete classes: from settings and a target to the parts of a crawl."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from gossamer.config import Settings
from gossamer.discovery import Target
from gossamer.disk.committer import SameFileCommitter
from gossamer.disk.database import Database
from gossamer.disk.lock import JobLock, holder, is_locked
from gossamer.engine.admission import Admission
from gossamer.engine.clock import SystemClock
from gossamer.engine.commit import SplitCommitter
from gossamer.engine.visit import Parts, ShiftOptions
from gossamer.extractor import ExtractOptions, SpiderExtractor, results
from gossamer.fetch import robots_cache
from gossamer.fetch.guard import Guard
from gossamer.fetch.http import HttpFetcher
from gossamer.fetch.limits import HttpOptions
from gossamer.fetch.replay import ReplayFetcher
from gossamer.fetch.robots_cache import RobotsCache
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.frontier.sqlite_look import Place, look
from gossamer.observe.text import shown_url
from gossamer.parse.isolate import Isolation
from gossamer.parse.isolate_limits import ParseLimits
from gossamer.pipeline.pipeline import DefaultPipeline
from gossamer.policy import urls
from gossamer.policy.robots import RobotsRecord, RobotsRules
from gossamer.policy.scope import Scope, domain_of
from gossamer.policy.traps import TrapRules, Traps
from gossamer.policy.urls import UrlOptions
from gossamer.spider import Spider
from gossamer.store.jobs import SqliteJobBook
from gossamer.store.ledger import Ledger
from gossamer.store.memory import MemorySharedState
from gossamer.store.shared_state import SqliteSharedState
from gossamer.store.sqlite import SqliteStore
from gossamer.watchdog import Watchdog
from gossamer.words.clock import Clock
from gossamer.words.errors import OperatorError, SettingError, StorageError, UsageError
from gossamer.words.events import Event
from gossamer.words.lifecycle import JobState
from gossamer.words.model import ItemRecord, Job, Request, Rules
from gossamer.words.ports import Committer, Fetcher, RobotsGate, Sink

DATABASE = "gossamer.db"
ALONE_IDLE_S = 1.0
CREW_IDLE_S = 0.1
"""How often a worker without work asks the frontier when other processes may add some, in seconds."""


def rules_of(settings: Settings, *, touches_network: bool = True) -> Rules:
    """What the settings ask of the frontier. Without a network there is nobody to be polite to."""
    polite = touches_network or settings.delay is not None
    return Rules(
        delay_s=settings.delay if polite else 0.0,
        min_delay_s=settings.min_delay,
        max_delay_s=settings.max_delay,
        initial_delay_s=min(max(Rules().initial_delay_s, settings.min_delay), settings.max_delay),
        per_host=settings.per_host if touches_network else settings.concurrency,
        crawl_delay_cap_s=settings.crawl_delay_cap,
        retry_after_cap_s=settings.retry_after_cap,
        backoff_base_s=settings.retry_backoff,
        backoff_cap_s=settings.retry_backoff_cap,
        max_retries=settings.max_retries,
        max_pages=settings.max_pages,
        max_pages_per_host=settings.max_pages_per_host,
        max_depth=settings.max_depth,
    )


def admission_of(settings: Settings, spider: Spider, key: bytes) -> Admission:
    """The door of a job."""
    scope = Scope(
        spider.allowed_domains,
        include=settings.include,
        exclude=settings.exclude,
        deny_extensions=settings.deny_extensions,
    )
    sessions = urls.SESSION_PARAMETERS if settings.drop_session_ids else ()
    options = UrlOptions(
        drop_parameters=(*settings.tracking_params, *sessions),
        sort_query=settings.sort_query,
        unescape=settings.unescape,
    )
    traps = Traps(TrapRules(**settings.traps.model_dump()))
    return Admission(scope, options, key, max_depth=settings.max_depth, traps=traps)


def fetcher_of(settings: Settings, guard: Guard, clock: Clock) -> Fetcher:
    """The way to get pages."""
    if settings.replay.folder is not None:
        return ReplayFetcher(Path(settings.replay.folder), settings.replay.rules, clock=clock)
    http = settings.http
    options = HttpOptions(
        user_agent=settings.user_agent,
        headers=http.headers,
        connect_s=http.connect_timeout,
        headers_s=http.headers_timeout,
        idle_s=http.read_timeout,
        body_s=http.total_timeout,
        max_body_bytes=http.max_size_bytes,
        insecure_hosts=frozenset(http.insecure_hosts),
    )
    return HttpFetcher(options, clock=clock, guard=guard)


def extractor_of(settings: Settings, target: Target, closing: ExitStack) -> SpiderExtractor:
    """What runs the spiders, with a process for suspicious pages and a watch on the event loop."""
    parse = settings.parse
    isolation = Isolation(
        ParseLimits(
            timeout_s=parse.timeout,
            memory_bytes=parse.max_memory_mb * 1024 * 1024,
            max_depth=parse.max_depth,
            max_tags=parse.max_tags,
        )
    )
    closing.callback(isolation.close)
    closing.enter_context(Watchdog(asyncio.get_running_loop()))
    options = ExtractOptions(
        follow_nofollow=settings.follow_nofollow,
        max_links=parse.max_links,
        max_inline_bytes=parse.max_inline_bytes,
        callback_timeout_s=parse.callback_timeout,
    )
    return SpiderExtractor(target.choose, options, isolation=isolation)


# --------------------------------------------------------------------------- files


def database_path(settings: Settings, url: str | None) -> Path:
    """The file of ``sqlite:///FILE``, by default the one in the data directory."""
    if url is None:
        return Path(settings.data) / DATABASE
    if not url.startswith("sqlite:///"):
        raise SettingError(
            f"{shown_url(url)!r} is not a database that this version knows; write sqlite:///FILE"
        )
    return Path(url.removeprefix("sqlite:///"))


class Databases:
    """The SQLite files of one data directory, each opened once."""

    def __init__(self, settings: Settings, *, create: bool) -> None:
        self._settings = settings
        self._create = create
        self._open: dict[Path, Database] = {}

    @property
    def frontier(self) -> Database:
        """The file with the requests."""
        return self._get(self._settings.frontier.url)

    @property
    def store(self) -> Database:
        """The file with items, pages, ledger and jobs."""
        return self._get(self._settings.store.url)

    def _get(self, url: str | None) -> Database:
        path = database_path(self._settings, url).absolute()
        if path not in self._open:
            if not self._create and not path.exists():
                raise StorageError(
                    f"there is no crawl in {path.parent}: {path} does not exist; "
                    "name the data directory with --data, or start one with `gossamer crawl`"
                )
            self._open[path] = Database(path, synchronous=self._settings.sqlite.synchronous)
        return self._open[path]

    def close(self) -> None:
        """Close all; what was acknowledged is on disk."""
        for database in self._open.values():
            database.close()


# --------------------------------------------------------------------------- looking without crawling


class Desk:
    """A data directory opened to look into it and to manage its jobs, without crawling."""

    def __init__(self, settings: Settings, databases: Databases, clock: Clock) -> None:
        self._settings = settings
        self.databases = databases
        self.clock = clock
        self.book = SqliteJobBook(databases.store, clock)
        self.store = SqliteStore(databases.store)
        self.ledger = Ledger(databases.store)

    def frontier(self, job: Job) -> SqliteFrontier:
        """The requests of a job."""
        return SqliteFrontier(self.databases.frontier, job.id, rules_of(self._settings), self.clock)

    async def place(self, job: Job, fingerprint: int) -> tuple[Rules, Place]:
        """The rules in force for a job, and where one of its requests stands."""
        self.frontier(job)  # it may be in another file than the job, and not be there yet
        return await look(self.databases.frontier, job.id, fingerprint)

    async def robots_deny(self, url: str) -> bool:
        """Whether the robots.txt of a URL's site, where it is remembered, refuses it. Asks nobody."""
        if not self._settings.robots:
            return False
        shared = SqliteSharedState(self.databases.store, self.clock)
        stored = await shared.get(robots_cache.SPACE, urls.origin(url))
        try:
            record = msgspec.msgpack.decode(stored or b"", type=RobotsRecord)
        except msgspec.DecodeError:
            return False
        return record.text != "" and not RobotsRules(record).allowed(url, self._settings.user_agent)

    def is_at_work(self, job: Job) -> bool:
        """Whether a process crawls this job now; one that was killed leaves it running in name only."""
        return is_locked(databases_folder(self._settings), job.target)

    def process_at(self, job: Job) -> str:
        """The number of the process that crawls this job now; ``""`` when none does."""
        return holder(databases_folder(self._settings), job.target)

    async def close(self) -> None:
        """Let go of the files."""
        self.databases.close()


async def open_desk(settings: Settings, *, create: bool = False) -> Desk:
    """Open a data directory. Raises :class:`StorageError` when there is none (and not ``create``)."""
    return Desk(settings, Databases(settings, create=create), SystemClock())


# --------------------------------------------------------------------------- single pages


@dataclass(frozen=True)
class PageParts:
    """What fetches single pages as politely as a crawl does, without a data directory."""

    fetcher: Fetcher
    robots: RobotsGate
    clock: Clock


def page_parts(settings: Settings, host: str) -> PageParts:
    """The parts for pages of a host that the operator named."""
    clock = SystemClock()
    fetcher = fetcher_of(settings, Guard({host}), clock)
    shared = MemorySharedState(clock)
    robots = RobotsCache(fetcher, shared, clock, user_agent=settings.user_agent, obey=settings.robots)
    return PageParts(fetcher, robots, clock)


# --------------------------------------------------------------------------- one crawl


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
        concurrency=settings.concurrency,
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


def databases_folder(settings: Settings) -> Path:
    """Where the locks of a crawl are: beside the requests."""
    return database_path(settings, settings.frontier.url).absolute().parent


def trusted_hosts(spider: Spider) -> frozenset[str]:
    """The hosts that the operator named: they may have private addresses."""
    domains = {domain_of(entry)[0] for entry in spider.allowed_domains}
    return frozenset(domains | {urls.hostname(url) for url in spider.start_urls})


class SpiderPipelines:
    """Port ``Pipeline``: an item passes the pipeline of the spider that its page went to."""

    def __init__(self, choose: Callable[[Request], Spider]) -> None:
        self._choose = choose
        self._open: dict[int, DefaultPipeline] = {}
        self._opening = asyncio.Lock()

    async def process(self, item: Any, url: str) -> ItemRecord:
        """The record to store. Raises :class:`~gossamer.words.errors.DropItem` with the reason."""
        spider = self._choose(Request(url))
        return await (self._open.get(id(spider)) or await self.open(spider)).process(item, url)

    async def open(self, spider: Spider) -> DefaultPipeline:
        """A spider's pipeline, opened. Raises ``UsageError`` for what its steps raise: the crawl ends."""
        async with self._opening:  # nobody uses a pipeline that is still being opened
            if id(spider) not in self._open:
                try:
                    pipeline = DefaultPipeline(
                        require_fields=spider.require_fields, steps=spider.pipelines, spider=spider
                    )
                    await pipeline.open()
                except Exception as error:  # users' code
                    raise UsageError(
                        f"a pipeline of the spider {spider.name!r} does not open: "
                        f"{type(error).__name__}: {error}"
                    ) from error
                self._open[id(spider)] = pipeline
            return self._open[id(spider)]

    async def close(self) -> None:
        """Close the pipelines that were opened."""
        for pipeline in self._open.values():
            await pipeline.close()


class Fan:
    """One sink that passes events on to many."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._emits = tuple(sink.emit for sink in sinks)

    def emit(self, event: Event) -> None:
        """Pass one event on."""
        for emit in self._emits:
            emit(event)
