"""Crawls whose requests are in Redis."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache

from gossamer.config.settings import Settings
from gossamer.core.dedup import DedupReport
from gossamer.core.errors import JobBusyError, StorageError
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import FrontierStats, Job, tag_of
from gossamer.core.text import format_count
from gossamer.drivers.redis.server import OLDEST, RedisClock, RedisServer
from gossamer.fetch.spaces import COOKIES, LOG_INS, SESSIONS, TRUSTED
from gossamer.fleet.marks import forget_marks
from gossamer.frontier.redis.frontier import RedisFrontier
from gossamer.frontier.redis.shard import RedisShard
from gossamer.frontier.redis.stats import read_many_stats
from gossamer.observe.sentences import formatter_at
from gossamer.policy.fitness import judge_redis
from gossamer.policy.sentences.fleet import judge_clock
from gossamer.ports.committer import Committer
from gossamer.roster.redis import RedisRoster
from gossamer.runtime.cancelling import end_tasks
from gossamer.runtime.process_name import this_process
from gossamer.shared.redis import RedisSharedState
from gossamer.targets.plan import plan_from, sections_under
from gossamer.wiring.schemes import BackendParts, ServerReport

log = logging.getLogger("gossamer.redis")

PACES = "paces"
"""The key under which all jobs of a server know the pace of hosts."""
LOCK_S = 15.0
"""Seconds after which a crawl whose process is gone may be taken up by another."""


class RedisFrontierBackend:
    """Requests in Redis; workers of any number of machines share them."""

    def __init__(self, settings: Settings, server: RedisServer, clock: RedisClock) -> None:
        self._settings = settings
        self.server = server
        self.clock = clock
        self.shared = RedisSharedState(server, clock)
        self.roster = RedisRoster(server, settings.cluster.fleet, clock)
        self._lost = ""  # who crawls a target that was ours alone

    @property
    def fleet(self) -> RedisFrontierBackend:
        """See :class:`~gossamer.ports.backends.FrontierBackend`."""
        return self

    def open_frontier(self, job: Job, rules: FrontierRules, *, owner: str = "") -> RedisFrontier:
        """See :class:`~gossamer.ports.backends.FrontierBackend`."""
        settings = self._settings
        if job.is_fleet:
            settings = sections_under(plan_from(job.plan), settings, "frontier")
        ours = settings.frontier
        return RedisFrontier(
            self.server,
            job.id,
            rules,
            self.clock,
            tag=tag_of(job),
            paces=PACES,
            owner=owner,
            shards=ours.shards,
            dedup=ours.dedup,
            seen_ttl_s=ours.seen_ttl,
            expected=ours.expected,
            fence=self._check_alone,
        )

    def open_for_worker(
        self, job: Job, rules: FrontierRules, *, owner: str
    ) -> tuple[RedisFrontier, Committer | None]:
        """See :class:`~gossamer.ports.backends.FrontierBackend`."""
        return self.open_frontier(job, rules, owner=owner), None

    async def create_frontier(self, job: Job, rules: FrontierRules) -> None:
        """See :class:`~gossamer.ports.backends.FrontierBackend`."""
        await self.open_frontier(job, rules).create_shards()

    async def dedup_report(self, job: Job) -> DedupReport | None:
        """See :class:`~gossamer.ports.backends.FrontierBackend`."""
        return await self.open_frontier(job, FrontierRules()).dedup_report()

    async def read_many_stats(self, jobs: Sequence[Job]) -> Mapping[str, FrontierStats]:
        """See :class:`~gossamer.ports.backends.FleetBackend`; in a cluster, all jobs are left out."""
        if self.server.is_cluster or not jobs:
            return {}
        return await read_many_stats(
            {
                job.id: RedisShard(self.server, job.id, 0, 1, None, tag=tag_of(job), paces=PACES)
                for job in jobs
            }
        )

    async def read_memory(self) -> tuple[int, int]:
        """See :class:`~gossamer.ports.backends.FleetBackend`; of a cluster, its fullest server."""
        return await self.server.read_memory()

    async def try_writing(self) -> None:
        """See :class:`~gossamer.ports.backends.FleetBackend`."""
        await self.server.run_command("SET", self.server.key_for("written"), "", "EX", 60)

    async def forget_job(self, job: Job) -> bool:
        """See :class:`~gossamer.ports.backends.FleetBackend`."""
        frontier = RedisFrontier(self.server, job.id, FrontierRules(), self.clock, tag=tag_of(job))
        if not await frontier.is_there():
            return False
        await forget_marks(self.shared, job)
        for space in (TRUSTED, COOKIES, SESSIONS, LOG_INS):
            named = self.server.key_for(f"shared:{space}:{tag_of(job)} ")  # and a host, or a site
            await self.server.delete_keys(f"{named.removesuffix('}')}*")
        await frontier.delete_requests()
        return True

    @asynccontextmanager
    async def lock_target(self, target: str) -> AsyncIterator[None]:
        """See :class:`~gossamer.ports.backends.FrontierBackend`."""
        lock = RedisRoster(self.server, f"crawl:{target}", self.clock)
        me = this_process()
        if await lock.claim_leadership(me, LOCK_S) is None:
            holder = (await lock.read_roster()).leader
            raise JobBusyError(
                f"{target} is being crawled by {holder}; wait for it, or stop it "
                f"(a process that was killed lets go of it after {LOCK_S:.0f} seconds)"
            )
        keeping = asyncio.create_task(self._renew_lock(lock, me, target))
        try:
            yield
        finally:
            await end_tasks(keeping)
            with contextlib.suppress(StorageError):
                await lock.claim_leadership(me, 0.0)

    async def _renew_lock(self, lock: RedisRoster, me: str, target: str) -> None:
        """Renew the lock while the crawl is under way; a Redis that is away is the crawl's to complain of."""
        while not self._lost:
            await asyncio.sleep(LOCK_S / 3)
            with contextlib.suppress(StorageError):
                if await lock.claim_leadership(me, LOCK_S) is None:
                    leader = (await lock.read_roster()).leader
                    self._lost = (
                        f"{target} is being crawled by another process now ({leader}): "
                        f"this one was not heard of for {LOCK_S:.0f} seconds, and ends. Nothing is lost"
                    )

    def _check_alone(self) -> None:
        """Raise ``JobBusyError`` if another process has taken up the job of this place."""
        if self._lost:
            raise JobBusyError(self._lost)

    async def at_work(self, job: Job) -> str | None:
        """See :class:`~gossamer.ports.backends.FrontierBackend`."""
        view = await self.roster.read_roster()
        workers = {shift.worker for shift in view.shifts if shift.job == job.id and shift.worker}
        if workers:
            return f"{format_count(len(workers), 'worker')} of the fleet"
        return (
            await RedisRoster(self.server, f"crawl:{job.target}", self.clock).read_roster()
        ).leader or None

    async def withdraw_claims(self, job: Job, at: float) -> None:
        """Nothing: a process that was not heard of for :data:`LOCK_S` may still be there, and be waiting."""

    def roster_of(self, job: Job) -> RedisRoster:
        """See :class:`~gossamer.ports.backends.FleetBackend`."""
        fleet = plan_from(job.plan).fleet if job.is_fleet else self._settings.cluster.fleet
        return RedisRoster(self.server, fleet, self.clock)

    def blocking_writers(self) -> set[int]:
        """See :class:`~gossamer.ports.backends.FrontierBackend`."""
        return set()

    async def close(self) -> None:
        """Let go of the connections."""
        await self.server.close()


async def open_frontier(url: str | None, parts: BackendParts) -> RedisFrontierBackend:
    """Connect and look whether this Redis is fit. Raises ``MissingServiceError`` and ``StorageError``."""
    settings = parts.settings
    server = _server_at(url or "", settings)
    try:
        if unknown := await server.check_server(require_durable=settings.redis.require_durable):
            _warn_once(unknown)
        clock = await RedisClock.from_server(server)
        if wrong := judge_clock(clock.ahead_s, formatter_at(clock.now())):
            _warn_of_clock(wrong.answer, wrong.reason)
        return RedisFrontierBackend(settings, server, clock)
    except BaseException:
        await server.close()
        raise


async def check_frontier(url: str, settings: Settings) -> ServerReport:
    """Check whether this Redis is fit, without changes; return the facts that could not be determined."""
    server = _server_at(url, settings)
    try:
        unknown = await server.check_server(require_durable=settings.redis.require_durable)
        await server.check_writes()
        if unknown:
            return ServerReport(advice=_describe_unknown(unknown))
        facts = await server.read_facts()
    finally:
        await server.close()
    found = judge_redis(facts, settings.alerts.redis_memory, formatter_at(time.time()))
    return ServerReport(found=found.found, advice=found.advice)


async def read_clock(url: str, settings: Settings) -> float:
    """By how many seconds this machine's clock is ahead of that of this Redis; negative: behind."""
    server = _server_at(url, settings)
    try:
        return (await RedisClock.from_server(server)).ahead_s
    finally:
        await server.close()


def _server_at(url: str, settings: Settings) -> RedisServer:
    return RedisServer(url, prefix=settings.redis.prefix)


@cache
def _warn_once(what: str) -> None:
    """Once in a process."""
    log.warning("%s", _describe_unknown(what))


def _describe_unknown(what: str) -> str:
    needed = ".".join(map(str, OLDEST))
    return f"{what}; it needs version {needed}, maxmemory-policy noeviction and appendonly yes"


@cache
def _warn_of_clock(off: str, advice: str) -> None:
    """Once in a process."""
    log.warning("this machine's clock is %s; %s", off, advice)
